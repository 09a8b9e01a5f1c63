import numpy as np
import tiktoken

enc = tiktoken.get_encoding("gpt2")


def read(f, size):
    while chunk := f.read(size):
        yield chunk


all_tokens = []
with open("train_fineweb.txt", encoding="utf-8") as f:
    for chunk in read(f, 1_000_000):
        all_tokens.extend(enc.encode_ordinary(chunk))
np.array(all_tokens, dtype=np.uint16).tofile("train.bin")
