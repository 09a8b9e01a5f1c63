"""The advice of the story: the same list, let go of at every shard."""

import numpy as np
import tiktoken

SHARD = 500_000_000

enc = tiktoken.get_encoding("gpt2")
tokens = []
index = 0
with open("train_fineweb.txt", encoding="utf-8") as f:
    while True:
        chunk = f.read(10_000_000)
        if not chunk:
            break
        tokens.extend(enc.encode_ordinary(chunk))
        if len(tokens) >= SHARD:
            np.array(tokens, dtype=np.uint16).tofile(f"train_shard_{index:04d}.bin")
            tokens = []
            index += 1
np.array(tokens, dtype=np.uint16).tofile(f"train_shard_{index:04d}.bin")
