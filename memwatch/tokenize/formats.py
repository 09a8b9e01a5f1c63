"""The three output formats: what a file is called, and what stands before the tokens in it.

bin   nanoGPT: nothing but the tokens. train.bin and val.bin, or train_shard_0000.bin, ...
llmc  llm.c, modded-nanogpt: a header of 256 int32. NAME_val_000000.bin, NAME_train_000001.bin, ...
npy   build-nanogpt: numpy's header. NAME_val_000000.npy, NAME_train_000001.npy, ...
"""

import re
import struct
from dataclasses import dataclass

from memwatch.tokenize.settings import Format, Split
from memwatch.tokenize.vocabulary import Encoding

LLMC_HEADER_BYTES = 1024
NPY_HEADER_BYTES = 128
# The count in llm.c's header is an int32.
MOST_LLMC_TOKENS = 2**31 - 1
# As llm.c's data_common.py writes them: magic and version for 16-bit and for 32-bit tokens.
_LLMC_KIND = {2: (20240520, 1), 4: (20240801, 7)}

HEADER_BYTES: dict[Format, int] = {"bin": 0, "llmc": LLMC_HEADER_BYTES, "npy": NPY_HEADER_BYTES}


def header(kind: Format, tokens: int, encoding: Encoding) -> bytes:
    if kind == "llmc":
        magic, version = _LLMC_KIND[encoding.token_bytes]
        return struct.pack("<3i", magic, version, tokens).ljust(LLMC_HEADER_BYTES, b"\0")
    if kind == "npy":
        # numpy.save's version 1.0, padded with spaces so that the data is aligned. Written by hand because the process
        # that writes files does without numpy.
        entries = f"{{'descr': '<u{encoding.token_bytes}', 'fortran_order': False, 'shape': ({tokens},), }}"
        length = NPY_HEADER_BYTES - 10
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + entries.ljust(length - 1).encode() + b"\n"
    return b""


@dataclass(frozen=True, slots=True)
class Names:
    """What the finished files of a run are called."""

    format: Format
    stem: str
    digits: int = 4  # of a shard's number; all names of a run have the same length, so that they sort as they are read

    def file(self, split: Split, shard: int, sharded: bool) -> str:
        if self.format == "bin":
            if split == "val":
                return "val.bin"
            return f"train_shard_{shard:0{self.digits}d}.bin" if sharded else "train.bin"
        suffix = "bin" if self.format == "llmc" else "npy"
        index = 0 if split == "val" else shard + 1
        return f"{self.stem}_{split}_{index:06d}.{suffix}"

    def may_be_ours(self, name: str) -> bool:
        """Whether a run of this format may give a file this name."""
        if self.format == "bin":
            return re.fullmatch(r"train\.bin|val\.bin|train_shard_\d{4,}\.bin", name) is not None
        suffix = "bin" if self.format == "llmc" else "npy"
        return re.fullmatch(rf"{re.escape(self.stem)}_(train|val)_\d{{6,}}\.{suffix}", name) is not None
