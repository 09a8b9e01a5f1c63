"""As llm.c prepares FineWeb: a pool of workers, one preallocated array for each shard."""

import argparse
import multiprocessing as mp
import os

import numpy as np
import tiktoken
from datasets import load_dataset
from tqdm import tqdm

parser = argparse.ArgumentParser(description="FineWeb dataset preprocessing")
parser.add_argument("-s", "--shard_size", type=int, default=10**8)
args = parser.parse_args()

fw = load_dataset("HuggingFaceFW/fineweb", name="sample-10BT", split="train")
enc = tiktoken.get_encoding("gpt2")
eot = enc._special_tokens["<|endoftext|>"]


def tokenize(doc):
    tokens = [eot]
    tokens.extend(enc.encode_ordinary(doc["text"]))
    tokens_np = np.array(tokens)
    assert ((tokens_np >= 0) & (tokens_np < 2**16)).all()
    return tokens_np.astype(np.uint16)


def write_datafile(filename, tokens):
    with open(filename, "wb") as f:
        f.write(np.zeros(256, dtype=np.int32).tobytes())
        f.write(tokens.tobytes())


nprocs = max(1, os.cpu_count() - 2)
with mp.Pool(nprocs) as pool:
    shard_index = 0
    all_tokens_np = np.empty((args.shard_size,), dtype=np.uint16)
    token_count = 0
    progress_bar = None
    for tokens in pool.imap(tokenize, fw, chunksize=16):
        if token_count + len(tokens) < args.shard_size:
            all_tokens_np[token_count : token_count + len(tokens)] = tokens
            token_count += len(tokens)
            if progress_bar is None:
                progress_bar = tqdm(total=args.shard_size, unit="tokens")
            progress_bar.update(len(tokens))
        else:
            remainder = args.shard_size - token_count
            all_tokens_np[token_count : token_count + remainder] = tokens[:remainder]
            write_datafile(f"fineweb_{shard_index:06d}.bin", all_tokens_np)
            shard_index += 1
            progress_bar = None
            all_tokens_np[0 : len(tokens) - remainder] = tokens[remainder:]
            token_count = len(tokens) - remainder
    if token_count != 0:
        write_datafile(f"fineweb_{shard_index:06d}.bin", all_tokens_np[:token_count])
