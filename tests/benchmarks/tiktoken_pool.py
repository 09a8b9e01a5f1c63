"""tiktoken in a pool of processes, the way llm.c prepares FineWeb: documents out, tokens back, shards of a fixed size.

python tiktoken_pool.py RANKS INPUT FOLDER

No document is marked with <|endoftext|>, for the text is one and its tokens are compared with the whole's.
"""

import multiprocessing
import sys
from pathlib import Path

import numpy as np
from documents import documents

from memwatch.tokenize.vocabulary import encoding_named, reference

SHARD_TOKENS = 100_000_000
DOCUMENTS_AT_A_TIME = 16


def tokens_of(document: str) -> np.ndarray:
    return np.array(enc.encode_ordinary(document), dtype=np.uint16)


def write_shard(folder: Path, index: int, tokens: np.ndarray) -> None:
    tokens.tofile(folder / f"train_shard_{index:04d}.bin")


def write_shards(source: str, folder: Path) -> None:
    shard = np.empty(SHARD_TOKENS, dtype=np.uint16)
    index = filled = 0
    with multiprocessing.Pool() as pool:
        for tokens in pool.imap(tokens_of, documents(source), chunksize=DOCUMENTS_AT_A_TIME):
            while filled + len(tokens) > SHARD_TOKENS:
                room = SHARD_TOKENS - filled
                shard[filled:] = tokens[:room]
                write_shard(folder, index, shard)
                index, filled, tokens = index + 1, 0, tokens[room:]
            shard[filled : filled + len(tokens)] = tokens
            filled += len(tokens)
    write_shard(folder, index, shard[:filled])


if __name__ == "__main__":
    enc = reference(encoding_named("gpt2"), Path(sys.argv[1]))
    write_shards(sys.argv[2], Path(sys.argv[3]))
