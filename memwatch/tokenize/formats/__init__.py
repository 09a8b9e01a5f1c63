"""Output formats: a class for each, which defines how its files are named and what they hold beside the tokens.

`format_registry.py` lists them. The command line, `doctor`, `estimate` and the tokenizer read that list and know no
format by name.
"""
