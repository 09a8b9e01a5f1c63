"""The streaming tokenizer: the job that `memwatch run tokenize` runs.

segments.py says which ranges the inputs have; a worker (worker.py) reads one (blocks.py, cuts.py, split.py), encodes it
(encoding.py, engines.py) and writes it where the coordinator (pipeline.py, outputs.py) says that it belongs. hasher.py
follows; checkpoint.py remembers where a run stands; manifest.py says what was made from what.
"""
