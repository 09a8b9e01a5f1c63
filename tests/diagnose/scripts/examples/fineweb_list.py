"""An older way to make shards: a list that is cut at every shard."""

import multiprocessing as mp

import tiktoken
from data_common import write_datafile
from datasets import load_dataset

SHARD = 10**8
fw = load_dataset("HuggingFaceFW/fineweb", name="sample-10BT", split="train")
enc = tiktoken.get_encoding("gpt2")
eot = enc._special_tokens["<|endoftext|>"]


def tokenize(doc):
    return enc.encode_ordinary(doc["text"])


shard_index = 0
all_tokens = []
for tokens in mp.Pool().imap(tokenize, fw):
    all_tokens.append(eot)
    all_tokens.extend(tokens)
    if len(all_tokens) >= SHARD:
        rest_tokens = all_tokens[SHARD:]
        write_datafile(f"fineweb_{shard_index:06d}.bin", all_tokens[:SHARD])
        shard_index += 1
        all_tokens = list(rest_tokens)
