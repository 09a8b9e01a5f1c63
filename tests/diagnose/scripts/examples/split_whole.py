"""Reads the whole file, splits it into documents, and gathers all tokens."""

import numpy as np
import tiktoken

enc = tiktoken.get_encoding("gpt2")
eot = enc._special_tokens["<|endoftext|>"]


def encode(text):
    return enc.encode_ordinary(text)


text = open("input.txt").read()  # noqa: SIM115
sections = text.split("\n\n")
tokens = []
for i, section in enumerate(sections):
    tokens.append(eot)
    padded = section + "\n\n" if i != len(sections) - 1 else section
    tokens.extend(encode(padded))
tokens_np = np.array(tokens, dtype=np.uint16)
tokens_np[32768:].tofile("train.bin")
