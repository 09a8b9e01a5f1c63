import numpy as np
import tiktoken

enc = tiktoken.get_encoding("gpt2")
with open("train_fineweb.txt", encoding="utf-8") as f, open("train.bin.tmp", "wb") as out:
    while chunk := f.read(1 << 20):
        np.array(enc.encode_ordinary(chunk), dtype=np.uint16).tofile(out)
