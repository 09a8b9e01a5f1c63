"""The streaming tokenizer: the job that `memwatch run tokenize` runs.

A byte's way: inputs.py (files, any format) -> blocks.py (cut at safe places, split, documents) -> crew.py (shared
memory, one process a core) -> worker.py (encoding.py, engines.py) -> outputs.py (train.bin, val.bin, shards).
pipeline.py drives it; checkpoint.py remembers where it stands; manifest.py says what was made from what.
"""
