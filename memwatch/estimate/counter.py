"""Counts the tokens of pieces with the engine that would do the job, and measures what that takes.

Time is CPU time: in these few milliseconds, waiting for other programs says nothing about the minutes to come.
"""

import time

import numpy as np

from memwatch.errors import MemwatchError
from memwatch.model.python_list import LARGEST_SHARED_INT
from memwatch.model.units import KIB
from memwatch.tokenize.blocks import BlockLayout
from memwatch.tokenize.encoding import BadBytes, BadRecord, BlockEncoder
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

# The list script is slow, and measured on little.
SCRIPT_PIECES = 32
SCRIPT_PIECE_BYTES = 32 * KIB
SCRIPT_S = 0.12


class Counter:
    def __init__(self, encoder: BlockEncoder, settings: TokenizeSettings, encoding: Encoding) -> None:
        self.settings = settings
        self.encoding = encoding
        self.reading_s = 0.0  # to unpack or decode `reading_bytes`
        self.reading_bytes = 0
        self._encoder = encoder
        self._encoded: list[tuple[int, float]] = []  # (bytes, seconds) of each piece, in order
        self._tokens = self._shared_tokens = 0
        self._texts: list[bytes] = []

    def count(self, data: bytes, layout: BlockLayout, name: str, offset: int) -> int:
        """Tokens of a piece at about this offset of the input with this name."""
        started_s = time.thread_time()
        try:
            tokens, _ = self._encoder.encode(data, layout)
        except (BadRecord, BadBytes) as error:
            what = "a record of " if isinstance(error, BadRecord) else ""
            raise MemwatchError(f"{what}{name} near byte {offset} {error}") from error
        self._encoded.append((len(data), time.thread_time() - started_s))
        self._tokens += len(tokens)
        self._shared_tokens += int(np.count_nonzero(tokens <= LARGEST_SHARED_INT))
        if len(self._texts) < SCRIPT_PIECES:
            self._texts.append(data[:SCRIPT_PIECE_BYTES])
        return len(tokens)

    @property
    def encode_s(self) -> float:
        """CPU seconds of a worker for a byte of text."""
        return 1 / warm_speed(self._encoded)

    @property
    def unpack_s(self) -> float:
        """CPU seconds to unpack or decode a byte of text."""
        return self.reading_s / max(self.reading_bytes, 1)

    @property
    def shared_fraction(self) -> float:
        """The share of tokens that cost a Python list only a pointer."""
        return self._shared_tokens / max(self._tokens, 1)

    def list_script_speed(self) -> float:
        """Tokens a second of a script that appends tiktoken's tokens to a list, measured on a little of the text."""
        encode = self._encoder.engine.reference_engine().encode_list
        measured: list[tuple[int, float]] = []
        until_s = time.monotonic() + SCRIPT_S
        for text in self._texts:
            started_s = time.thread_time()
            tokens = encode(text.decode("utf-8", "replace"))
            measured.append((len(tokens), time.thread_time() - started_s))
            if time.monotonic() > until_s:
                break
        return warm_speed(measured)


def warm_speed(measured: list[tuple[int, float]]) -> float:
    """Units a second from (units, seconds) of pieces in order; the first half warms caches up and does not count."""
    warm = measured[len(measured) // 2 :]
    return max(sum(units for units, _ in warm), 1) / max(sum(took_s for _, took_s in warm), 1e-6)
