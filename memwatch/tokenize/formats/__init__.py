"""Output formats: a module for each, which says how its files are called and what they hold beside the tokens.

`format_registry.py` lists them. The command line, `doctor`, `estimate` and the tokenizer read that list and know no
format by name.
"""
