"""The inputs of a run: which files, what is in them, and how each is read once, in order, in little memory.

finding.py        names and patterns to a list of `Input`, each recognised by its content
input_formats.py  the registry of formats: text, jsonl, parquet, arrow
packings.py       the registry of packings: gzip, zstd, bz2, xz
archives.py       the members of tar and zip files
"""
