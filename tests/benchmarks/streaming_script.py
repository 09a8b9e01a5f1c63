"""The script people are advised to use instead: one chunk in memory, tokens appended to files, renamed at the end.

python streaming_script.py RANKS INPUT FOLDER VAL_RATIO

Its validation split is mended: a chunk goes there whenever its share of the tokens so far is too small. What remains is
what fixed chunks do: they cut words, and so change tokens.
"""

import sys
from pathlib import Path

import numpy as np

from memwatch.tokenize.vocabulary import encoding_named, reference

ranks, source, folder, val_ratio = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])
enc = reference(encoding_named("gpt2"), ranks)
train_tokens = val_tokens = 0
with (
    open(source, encoding="utf-8", errors="ignore", newline="") as f,
    open(folder / "train.bin.tmp", "wb") as train,
    open(folder / "val.bin.tmp", "wb") as val,
):
    while chunk := f.read(1_000_000):
        tokens = np.array(enc.encode_ordinary(chunk), dtype=np.uint16)
        if val_tokens < (train_tokens + val_tokens) * val_ratio:
            tokens.tofile(val)
            val_tokens += len(tokens)
        else:
            tokens.tofile(train)
            train_tokens += len(tokens)
for name in ("train.bin", "val.bin"):
    (folder / f"{name}.tmp").rename(folder / name)
