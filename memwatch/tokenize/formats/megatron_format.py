"""megatron, for Megatron-LM: the tokens in train.bin, and train.idx with the length and the place of each document.

train.idx, little-endian:
    9 bytes    "MMIDIDX" and two zero bytes
    uint64     1, the version
    uint8      the type of a token: 8 is uint16, 4 is int32
    uint64     number of sequences: here a document is a sequence
    uint64     number of documents + 1
    int32      the length of each sequence in tokens
    int64      the offset of each sequence in train.bin, in bytes
    int64      the first sequence of each document, and the number of sequences
"""

import struct
from typing import TYPE_CHECKING, Any

from memwatch.errors import MemwatchError
from memwatch.tokenize.formats.document_index import CHUNK_STARTS, IndexBytes, Starts
from memwatch.tokenize.formats.output_format import FileKey, LoaderNeeds, OutputFormat

if TYPE_CHECKING:
    import numpy.typing as npt

_MAGIC = b"MMIDIDX\0\0"
_VERSION = 1
_TOKEN_TYPES = {2: 8, 4: 4}
LONGEST_SEQUENCE_TOKENS = 2**31 - 1


class MegatronFormat(OutputFormat):
    """Documents are sequences, so a shard holds whole documents only."""

    name = "megatron"
    reader = "Megatron-LM"
    default_mode = "stream"
    default_shard_tokens = 500_000_000
    # A sample is a sequence and the token after it.
    needs = LoaderNeeds("Megatron-LM", 1024 + 1, "with a sequence length of 1024")
    has_own_index = True
    keeps_documents_whole = True

    def index_name(self, key: FileKey, stem: str, digits: int) -> str:
        return self.file_name(key, stem, digits).removesuffix("bin") + "idx"

    def name_pattern(self, stem: str) -> str:
        return r"(train|train_shard_\d{4,}|val)\.(bin|idx)"

    def index(self, starts: Starts, tokens: int, token_bytes: int) -> IndexBytes:
        yield struct.pack("<9sQBQQ", _MAGIC, _VERSION, _TOKEN_TYPES[token_bytes], starts.count, starts.count + 1)
        yield from _lengths(starts, tokens)
        for chunk in starts.chunks():
            yield (chunk * token_bytes).tobytes()
        yield from _numbers(starts.count + 1)


def _lengths(starts: Starts, tokens: int) -> IndexBytes:
    import numpy as np

    last = None
    for chunk in starts.chunks():
        # The length of a document shows where the next one begins.
        bounds = chunk if last is None else np.concatenate([[last], chunk])
        yield _as_lengths(bounds)
        last = chunk[-1]
    if last is not None:
        yield _as_lengths(np.array([last, tokens]))


def _as_lengths(bounds: "npt.NDArray[Any]") -> bytes:
    import numpy as np

    lengths = np.diff(bounds)
    if len(lengths) and lengths.max() > LONGEST_SEQUENCE_TOKENS:
        raise MemwatchError(
            f"a document has {lengths.max():,} tokens, and Megatron-LM reads at most {LONGEST_SEQUENCE_TOKENS:,}; "
            "divide it, for example with --documents blank"
        )
    return lengths.astype("<i4").tobytes()


def _numbers(count: int) -> IndexBytes:
    import numpy as np

    for first in range(0, count, CHUNK_STARTS):
        yield np.arange(first, min(first + CHUNK_STARTS, count), dtype="<i8").tobytes()
