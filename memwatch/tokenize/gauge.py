"""Counts the tokens of pieces with the engine that would do the job, and notes what that takes.

Time is that of the processor: in these few milliseconds, to wait for another program's turn to end would tell nothing
of the minutes to come."""

import hashlib
import time
from dataclasses import dataclass, field

import numpy as np

from memwatch.core.units import KIB, MIB
from memwatch.tokenize.blocks import Layout
from memwatch.tokenize.encoding import BlockEncoder

# For the script's way, which is measured on a piece or two: it is slow.
KEPT_TEXT_BYTES = 1 * MIB
KEPT_PIECE_BYTES = 32 * KIB
# CPython keeps one int object each for the numbers up to this one; all others are made anew, one for every token.
LARGEST_SHARED_INT = 256


@dataclass(slots=True)
class Gauge:
    encoder: BlockEncoder
    token_bytes: int
    tokens: int = 0
    shared_tokens: int = 0  # those that cost a list nothing but the pointer
    text_bytes: int = 0
    speeds: list[tuple[int, float]] = field(default_factory=list)  # (bytes, seconds) of each piece, in order
    handling_s: float = 0.0  # what the coordinator would do: copy the text, hash the tokens
    reading_s: float = 0.0  # to unpack, or to decode, `reading_bytes`
    reading_bytes: int = 0
    kept: list[bytes] = field(default_factory=list)

    @property
    def coordinator_s(self) -> float:
        """What the coordinator has to do for a byte of text."""
        return self.handling_s / max(self.text_bytes, 1) + self.reading_s / max(self.reading_bytes, 1)

    def count(self, data: bytes, layout: Layout) -> int:
        started_s = time.thread_time()
        tokens, _ = self.encoder.encode(data, layout)
        encoded_s = time.thread_time()
        hashlib.sha256(tokens.astype(f"<u{self.token_bytes}").data)
        bytearray(data)
        self.handling_s += time.thread_time() - encoded_s
        self.speeds.append((len(data), encoded_s - started_s))
        self.tokens += len(tokens)
        self.shared_tokens += int(np.count_nonzero(tokens <= LARGEST_SHARED_INT))
        self.text_bytes += len(data)
        if len(self.kept) * KEPT_PIECE_BYTES < KEPT_TEXT_BYTES:
            self.kept.append(data[:KEPT_PIECE_BYTES])
        return len(tokens)
