"""The script that memwatch replaces: every token an int object in one list. Its files are given on the command line.

python script.py RANKS INPUT OUTPUT
"""

import sys
from pathlib import Path

import numpy as np

from memwatch.tokenize.vocabulary import encoding_named, reference

enc = reference(encoding_named("gpt2"), Path(sys.argv[1]))
all_tokens: list[int] = []
with open(sys.argv[2], encoding="utf-8", errors="ignore", newline="") as f:
    while chunk := f.read(1_000_000):
        all_tokens.extend(enc.encode_ordinary(chunk))
np.array(all_tokens, dtype=np.uint16).tofile(sys.argv[3])
