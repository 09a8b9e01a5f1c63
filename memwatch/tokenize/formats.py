"""The three output formats: what a file is called, and what stands before the tokens in it.

bin   nanoGPT: nothing but the tokens. train.bin and val.bin, or train_shard_0000.bin, ...
llmc  llm.c, modded-nanogpt: a header of 256 int32. NAME_val_000000.bin, NAME_train_000001.bin, ...
npy   build-nanogpt: numpy's header. NAME_val_000000.npy, NAME_train_000001.npy, ...
"""

import os
import re
import struct
from dataclasses import dataclass

from memwatch.command_line import LONGEST_NAME_BYTES
from memwatch.tokenize.settings import Format, Split, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

LLMC_HEADER_BYTES = 1024
NPY_HEADER_BYTES = 128
# llm.c seeks with an int.
LARGEST_LLMC_BYTES = 2**31 - 1
# As llm.c's data_common.py writes them: magic and version for 16-bit and for 32-bit tokens.
_LLMC_KIND = {2: (20240520, 1), 4: (20240801, 7)}

HEADER_BYTES: dict[Format, int] = {"bin": 0, "llmc": LLMC_HEADER_BYTES, "npy": NPY_HEADER_BYTES}


def most_llmc_tokens(encoding: Encoding) -> int:
    return (LARGEST_LLMC_BYTES - LLMC_HEADER_BYTES) // encoding.token_bytes


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


def names_a_split(text: str) -> bool:
    return re.search("train|val", text, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Names:
    """What the finished files of a run are called."""

    format: Format
    stem: str
    digits: int = 4  # of a shard's number; all names of a run have the same length, so that they sort as they are read

    @classmethod
    def of_run(cls, settings: TokenizeSettings, input_name: str, digits: int = 4) -> "Names":
        """What --name says, or names made from an input's.

        Loaders choose files by `"train" in name` and `"val" in name`, so nothing of the input's name that contains one
        of these words is kept: train_fineweb.jsonl becomes fineweb_val_000000.npy.
        """
        if settings.name is not None:
            return cls(settings.format, settings.name, digits)
        stem = input_name.split(".")[0]
        if names_a_split(stem):
            stem = "_".join(part for part in re.split(r"[_\- ]+", stem) if part and not names_a_split(part))
        return cls(settings.format, os.fsdecode(os.fsencode(stem)[:LONGEST_NAME_BYTES]) or "tokens", digits)

    def file(self, split: Split, shard: int, sharded: bool) -> str:
        if self.format == "bin":
            if split == "val":
                return "val.bin"
            return f"train_shard_{shard:0{self.digits}d}.bin" if sharded else "train.bin"
        suffix = "bin" if self.format == "llmc" else "npy"
        index = shard if split == "val" else shard + 1
        return f"{self.stem}_{split}_{index:06d}.{suffix}"

    def may_be_ours(self, name: str) -> bool:
        """Whether a run of this format may give a file this name."""
        if self.format == "bin":
            return re.fullmatch(r"train\.bin|val\.bin|train_shard_\d{4,}\.bin", name) is not None
        suffix = "bin" if self.format == "llmc" else "npy"
        return re.fullmatch(rf"{re.escape(self.stem)}_(train|val)_\d{{6,}}\.{suffix}", name) is not None
