"""The outlook: what a job would make and take on this machine, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum

from memwatch.core.cells import Range
from memwatch.core.units import MIB, format_size
from memwatch.core.ways import Fit, Room

# How much text the samples of FineWeb hold, and how far a copy of one may be off.
KNOWN_TEXTS = {"FineWeb's 10BT sample": 46e9, "FineWeb's 100BT sample": 460e9}
KNOWN_WITHIN = 0.1
# --max-memory is advised in steps a person would choose.
MEMORY_STEP_BYTES = 16 * MIB


class Verdict(StrEnum):
    SAFE = "safe"
    TIGHT = "tight"  # it can be done, and leaves less than one would like
    DISK = "disk too small"
    MEMORY = "memory too small"


class DiskFit(StrEnum):
    FITS = "fits"
    TIGHT = "tight"  # the estimate fits, the upper end of it does not
    TOO_SMALL = "does not fit"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Disk:
    """Where the output goes. `partial_bytes` lie there already, from a run that the same command would continue."""

    folder: str
    free_bytes: int | None
    partial_bytes: int = 0

    def fit(self, output_bytes: Range) -> DiskFit:
        if self.free_bytes is None:
            return DiskFit.UNKNOWN
        room = self.free_bytes + self.partial_bytes
        if output_bytes.high <= room:
            return DiskFit.FITS
        return DiskFit.TIGHT if output_bytes.estimate <= room else DiskFit.TOO_SMALL


@dataclass(frozen=True, slots=True)
class Budget:
    """What this tool's own way takes: as a rule, and at the very least, which costs speed."""

    usual_bytes: int
    least_bytes: int


@dataclass(frozen=True, slots=True)
class Conclusion:
    verdict: Verdict
    max_memory_bytes: int | None = None  # to be asked for, where the usual is too much
    reason: str = ""  # why nothing fits, and what would help


def output_size(tokens: Range, token_bytes: int, header_bytes: int, shard_tokens: int | None) -> Range:
    """The train file or files, and one for validation, each with its header."""

    def size(count: float) -> float:
        shards = 1 if shard_tokens is None else max(-(-count // shard_tokens), 1)
        return count * token_bytes + header_bytes * (shards + 1)

    return Range(size(tokens.estimate), size(tokens.low), size(tokens.high))


def conclude(output_bytes: Range, disk: Disk, budget: Budget, room: Room) -> Conclusion:
    if disk.fit(output_bytes) == DiskFit.TOO_SMALL:
        missing = output_bytes.high - (disk.free_bytes or 0) - disk.partial_bytes
        return Conclusion(
            Verdict.DISK, reason=f"make {format_size(missing)} of room in {disk.folder}, or choose another --out"
        )
    verdict = Verdict.TIGHT if disk.fit(output_bytes) == DiskFit.TIGHT else Verdict.SAFE
    if room.available_bytes is None or room.fit(budget.usual_bytes) == Fit.SAFE:
        return Conclusion(verdict)
    if budget.least_bytes <= room.available_bytes:
        least = -(-budget.least_bytes // MEMORY_STEP_BYTES) * MEMORY_STEP_BYTES
        free = (room.available_bytes - room.reserve_bytes) // MEMORY_STEP_BYTES * MEMORY_STEP_BYTES
        if free < least:
            verdict = Verdict.TIGHT
        return Conclusion(verdict, max_memory_bytes=max(least, free))
    missing = budget.least_bytes - room.available_bytes
    return Conclusion(
        Verdict.MEMORY, reason=f"end other programs first: {format_size(missing)} more memory is needed at the least"
    )


def known_text(text_bytes: float) -> str | None:
    """What a text of this size may be: a hint to the user, and nothing to calculate with."""
    for name, size in KNOWN_TEXTS.items():
        if abs(text_bytes - size) <= KNOWN_WITHIN * size:
            return f"about the size of {name} ({size / 1e9:.0f} GB of text)"
    return None
