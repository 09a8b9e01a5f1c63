"""llmc, for llm.c and modded-nanogpt: a header of 256 int32 before the tokens."""

import struct

from memwatch.tokenize.formats.output_format import LoaderNeeds, NumberedNames

HEADER_BYTES = 1024
# llm.c seeks with an int.
LARGEST_FILE_BYTES = 2**31 - 1
# As llm.c's data_common.py writes them: magic and version for 16-bit and for 32-bit tokens.
_MAGIC_AND_VERSION = {2: (20240520, 1), 4: (20240801, 7)}


class LlmcFormat(NumberedNames):
    name = "llmc"
    reader = "llm.c"
    suffix = "bin"
    default_mode = "shard"
    default_shard_tokens = 100_000_000
    # dataloader.h refuses a shard that does not hold a batch of every process.
    needs = LoaderNeeds("llm.c", 64 * 1024 + 1, "for each GPU with a batch of 64 x 1024")
    header_bytes = HEADER_BYTES
    begins_documents = True

    def header(self, tokens: int, token_bytes: int) -> bytes:
        magic, version = _MAGIC_AND_VERSION[token_bytes]
        return struct.pack("<3i", magic, version, tokens).ljust(HEADER_BYTES, b"\0")

    def most_tokens(self, token_bytes: int) -> int | None:
        return (LARGEST_FILE_BYTES - HEADER_BYTES) // token_bytes
