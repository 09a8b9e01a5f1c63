"""The ways of turning a text into tokens: what memory each takes, and what that means on this machine."""

import math
from dataclasses import dataclass
from enum import StrEnum

from memwatch.core.cells import Range
from memwatch.core.reserve import default_reserve_bytes
from memwatch.core.sample import Sample

# What an int object takes: 28 bytes, which Python's allocator rounds up to 32, in pools of 16 KiB with a head of 48.
INT_BYTES = 32 * 16384 / (16384 - 64)
# The spare eighth by which a full list grows is not touched, so it takes no memory: 3220 MiB were measured for 105.6 M
# tokens, and 3199 MiB is what these figures give.
POINTER_BYTES = 8
# Moments differ, even on a machine that has nothing else to do; found by comparing with whole runs.
FASTER, SLOWER = 0.7, 1.6


class Fit(StrEnum):
    SAFE = "safe"
    TIGHT = "tight"  # it fits, but not beside what is to be left to other programs
    SWAPS = "freezes"
    DIES = "dies"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Room:
    """What this machine has for a job. None is unknown."""

    total_bytes: int | None
    available_bytes: int | None  # the tightest of the host and every limit
    swap_total_bytes: int | None
    swap_free_bytes: int
    limit_bytes: int | None

    @classmethod
    def of(cls, sample: Sample, ours_bytes: int = 0) -> "Room":
        """`ours_bytes` are taken by whoever asks, and given back before the job starts."""
        memory, available = sample.memory, sample.available_bytes
        known = [limit.limit_bytes for limit in sample.limits] + ([] if memory is None else [memory.total_bytes])
        tightest = min((limit.limit_bytes for limit in sample.limits), default=None)
        return cls(
            total_bytes=None if memory is None else memory.total_bytes,
            available_bytes=None if available is None else min(available + ours_bytes, *known),
            swap_total_bytes=None if memory is None else memory.swap_total_bytes,
            swap_free_bytes=0 if memory is None else memory.swap_free_bytes,
            limit_bytes=tightest,
        )

    @property
    def in_force_bytes(self) -> int | None:
        return min((size for size in (self.total_bytes, self.limit_bytes) if size is not None), default=None)

    @property
    def reserve_bytes(self) -> int:
        return 0 if self.in_force_bytes is None else default_reserve_bytes(self.in_force_bytes)

    def fit(self, peak_bytes: float) -> Fit:
        if self.available_bytes is None:
            return Fit.UNKNOWN
        if peak_bytes <= self.available_bytes - self.reserve_bytes:
            return Fit.SAFE
        if peak_bytes <= self.available_bytes:
            return Fit.TIGHT
        return Fit.SWAPS if self.swap_free_bytes else Fit.DIES


def list_bytes_per_token(tokens: int, shared_tokens: int) -> float:
    """A token is a pointer in the list and, but for the smallest numbers, an int object of its own."""
    return POINTER_BYTES + INT_BYTES * (tokens - shared_tokens) / tokens if tokens else 0.0


@dataclass(frozen=True, slots=True)
class ListScript:
    """The script that keeps every token in a list and makes an array of it at the end."""

    bytes_per_token: float
    base_bytes: int  # Python, numpy and tiktoken
    token_bytes: int
    tokens_a_second: Range

    def peak_bytes(self, tokens: float) -> float:
        """With the array that the list is turned into."""
        return self.base_bytes + tokens * (self.bytes_per_token + self.token_bytes)

    def seconds(self, tokens: float) -> Range:
        speed = self.tokens_a_second
        return Range(tokens / speed.estimate, FASTER * tokens / speed.high, SLOWER * tokens / speed.low)

    def reaches(self, bound_bytes: float | None, tokens: float) -> float | None:
        """At which token it takes as much memory as this; None if the end comes first. Past the list, the array."""
        if bound_bytes is None or self.peak_bytes(tokens) <= bound_bytes:
            return None
        return min(max((bound_bytes - self.base_bytes) / self.bytes_per_token, 0.0), tokens)


@dataclass(frozen=True, slots=True)
class ListFate:
    """What becomes of the list script on this machine. At no token at all is None."""

    peak_bytes: float
    fit: Fit
    swaps_at_tokens: float | None
    dies_at_tokens: float | None


def fate(script: ListScript, tokens: float, room: Room) -> ListFate:
    peak = script.peak_bytes(tokens)
    swaps = script.reaches(room.available_bytes, tokens) if room.swap_free_bytes else None
    everything = None if room.available_bytes is None else room.available_bytes + room.swap_free_bytes
    return ListFate(peak, room.fit(peak), swaps, script.reaches(everything, tokens))


@dataclass(frozen=True, slots=True)
class Costs:
    """What it takes to encode a byte of text, measured, in seconds."""

    encode_s: Range  # one worker
    handle_s: float  # the coordinator: read or unpack, copy, hash, write
    start_s: float  # until the first block is encoded


SHORTEST_S = 1e-6


def seconds_a_byte(encode_s: float, handle_s: float, workers: int, cores: int) -> float:
    """As many workers as planned, beside the coordinator, on so many cores: the slowest part counts."""
    return max((encode_s + handle_s) / min(cores, workers + 1), encode_s / workers, handle_s)


def job_seconds(text_bytes: Range, costs: Costs, workers: int, cores: int, others: float) -> Range:
    """How long `run tokenize` takes. As many `others` want a core too; whether they go on is not known, so they count
    for the upper end only."""

    def seconds(size: float, encode_s: float) -> float:
        return costs.start_s + size * seconds_a_byte(encode_s, costs.handle_s, workers, cores)

    return Range(
        seconds(text_bytes.estimate, costs.encode_s.estimate),
        seconds(text_bytes.low, costs.encode_s.low) * FASTER,
        seconds(text_bytes.high, costs.encode_s.high) * SLOWER * (1 + others / cores),
    )


def speed_range(measured: list[tuple[int, float]]) -> Range:
    """Bytes a second from (bytes, seconds) of pieces in order; the first half warms caches up and does not count."""
    warm = measured[len(measured) // 2 :]
    size, seconds = sum(length for length, _ in warm), sum(took_s for _, took_s in warm)
    speed = max(size, 1) / max(seconds, SHORTEST_S)
    off_by = 0.0
    if len(warm) > 1:
        # Residuals of the ratio: large pieces weigh more.
        squares = sum((took_s - length / speed) ** 2 for length, took_s in warm)
        off_by = 2 * math.sqrt(squares * len(warm) / (len(warm) - 1)) / max(seconds, SHORTEST_S)
    return Range(speed, speed / (1 + off_by), speed * (1 + off_by))
