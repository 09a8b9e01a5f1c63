"""Output formats whose files hold a header, if any, and the tokens: bin, llmc and npy.

`format_registry.py` lists them; outputs.py, hasher.py and cluster/ call their methods.
"""

import struct

from memwatch.tokenize.formats.document_index import NPY_HEADER_BYTES, npy_header
from memwatch.tokenize.formats.output_format import LoaderNeeds, NumberedNames, OutputFormat

LLMC_HEADER_BYTES = 1024
# llm.c seeks with an int.
LARGEST_LLMC_FILE_BYTES = 2**31 - 1
# As llm.c's data_common.py writes them: magic and version for 16-bit and for 32-bit tokens.
_LLMC_MAGIC_AND_VERSION = {2: (20240520, 1), 4: (20240801, 7)}


class BinFormat(OutputFormat):
    """For nanoGPT: nothing but the tokens. train.bin and val.bin, or train_shard_0000.bin, ..."""

    name = "bin"
    reader = "nanoGPT"
    default_mode = "stream"
    default_shard_tokens = 500_000_000
    # train.py draws positions up to len(data) - block_size.
    needs = LoaderNeeds("nanoGPT", 1024 + 1, "with a block size of 1024", token_bytes=(2,))


class LlmcFormat(NumberedNames):
    """For llm.c and modded-nanogpt: a header of 256 int32 before the tokens."""

    name = "llmc"
    reader = "llm.c"
    suffix = "bin"
    default_mode = "shard"
    default_shard_tokens = 100_000_000
    # dataloader.h refuses a shard that does not hold a batch of every process.
    needs = LoaderNeeds("llm.c", 64 * 1024 + 1, "for each GPU with a batch of 64 x 1024")
    header_bytes = LLMC_HEADER_BYTES
    begins_documents = True

    def header(self, tokens: int, token_bytes: int) -> bytes:
        magic, version = _LLMC_MAGIC_AND_VERSION[token_bytes]
        return struct.pack("<3i", magic, version, tokens).ljust(LLMC_HEADER_BYTES, b"\0")

    def most_tokens(self, token_bytes: int) -> int | None:
        return (LARGEST_LLMC_FILE_BYTES - LLMC_HEADER_BYTES) // token_bytes


class NpyFormat(NumberedNames):
    """For build-nanogpt: the tokens as numpy.save writes them."""

    name = "npy"
    reader = "build-nanogpt"
    suffix = "npy"
    default_mode = "shard"
    default_shard_tokens = 100_000_000
    # A shard that is shorter than the first batch of each process ends in an error of shapes.
    needs = LoaderNeeds("build-nanogpt", 64 * 1024 + 1, "for each GPU with a batch of 64 x 1024")
    header_bytes = NPY_HEADER_BYTES
    begins_documents = True

    def header(self, tokens: int, token_bytes: int) -> bytes:
        return npy_header(f"<u{token_bytes}", tokens)
