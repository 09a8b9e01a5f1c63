"""As nanoGPT prepares Shakespeare."""

import os

import numpy as np
import requests
import tiktoken

here = os.path.dirname(__file__)
input_path = os.path.join(here, "input.txt")
if not os.path.exists(input_path):
    with open(input_path, "w", encoding="utf-8") as f:
        f.write(requests.get("https://example.org/tinyshakespeare/input.txt", timeout=60).text)

with open(input_path, encoding="utf-8") as f:
    data = f.read()
n = len(data)
train_data = data[: int(n * 0.9)]
val_data = data[int(n * 0.9) :]

enc = tiktoken.get_encoding("gpt2")
train_ids = enc.encode_ordinary(train_data)
val_ids = enc.encode_ordinary(val_data)
print(f"train has {len(train_ids):,} tokens")

train_ids = np.array(train_ids, dtype=np.uint16)
val_ids = np.array(val_ids, dtype=np.uint16)
train_ids.tofile(os.path.join(here, "train.bin"))
val_ids.tofile(os.path.join(here, "val.bin"))
