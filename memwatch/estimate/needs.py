"""The memory, disk space and time of each way to tokenize, and what of it fits on this machine."""

from dataclasses import dataclass
from enum import StrEnum

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.model.python_list import ListScript
from memwatch.model.ranges import Range
from memwatch.model.sample import Sample
from memwatch.model.units import MIB, format_size

# Speed differs from one minute to the next, even on a machine without other work; found by comparing with whole runs.
FASTER, SLOWER = 0.7, 1.6
# --max-memory is advised in steps that a person would choose.
MEMORY_STEP_BYTES = 16 * MIB


class Fit(StrEnum):
    SAFE = "safe"
    TIGHT = "tight"  # in memory, it leaves less than the reserve; on disk, the upper end of the estimate does not fit
    SWAPS = "freezes"
    DIES = "dies"
    TOO_LARGE = "does not fit"  # on disk
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class JobMemory:
    """The memory that this machine has for a job. None is unknown."""

    total_bytes: int | None
    available_bytes: int | None  # the least that the host and any cgroup limit leave
    swap_total_bytes: int | None
    swap_free_bytes: int
    limit_bytes: int | None  # the tightest cgroup limit

    @classmethod
    def of(cls, sample: Sample, own_bytes: int = 0) -> "JobMemory":
        """`own_bytes` are used by the calling process, which ends before the job starts."""
        memory, available = sample.memory, sample.available_bytes
        known = [limit.limit_bytes for limit in sample.limits] + ([] if memory is None else [memory.total_bytes])
        return cls(
            total_bytes=None if memory is None else memory.total_bytes,
            available_bytes=None if available is None else min(available + own_bytes, *known),
            swap_total_bytes=None if memory is None else memory.swap_total_bytes,
            swap_free_bytes=0 if memory is None else memory.swap_free_bytes,
            limit_bytes=min((limit.limit_bytes for limit in sample.limits), default=None),
        )

    @property
    def reserve_bytes(self) -> int:
        known = [size for size in (self.total_bytes, self.limit_bytes) if size is not None]
        return default_reserve_bytes(min(known)) if known else 0

    def fit(self, peak_bytes: float) -> Fit:
        if self.available_bytes is None:
            return Fit.UNKNOWN
        if peak_bytes <= self.available_bytes:
            return Fit.SAFE if peak_bytes <= self.available_bytes - self.reserve_bytes else Fit.TIGHT
        return Fit.SWAPS if self.swap_free_bytes else Fit.DIES

    def list_ends(self, script: ListScript, tokens: float) -> tuple[float | None, float | None]:
        """The tokens at which the list script fills RAM, so that it swaps and the machine freezes, and at which it is
        killed because swap is full, too. None if it does not come to that."""
        if self.available_bytes is None:
            return None, None
        swaps = script.full_at(tokens, self.available_bytes) if self.swap_free_bytes else None
        return swaps, script.full_at(tokens, self.available_bytes + self.swap_free_bytes)


@dataclass(frozen=True, slots=True)
class OutputDisk:
    """The disk of the output folder. `partial_bytes` are there already, from a run that the same command resumes."""

    folder: str
    free_bytes: int | None
    partial_bytes: int = 0

    @property
    def name(self) -> str:
        return "this folder" if self.folder == "." else self.folder

    def fit(self, output_bytes: Range) -> Fit:
        if self.free_bytes is None:
            return Fit.UNKNOWN
        if output_bytes.high <= self.free_bytes + self.partial_bytes:
            return Fit.SAFE
        return Fit.TIGHT if output_bytes.estimate <= self.free_bytes + self.partial_bytes else Fit.TOO_LARGE


def output_size(tokens: float, token_bytes: int, header_bytes: int, shard_tokens: int | None) -> float:
    """The train file or its shards, and one file for validation, each with its header."""
    shards = 1 if shard_tokens is None else max(-(-tokens // shard_tokens), 1)
    return tokens * token_bytes + header_bytes * (shards + 1)


@dataclass(frozen=True, slots=True)
class Conclusion:
    verdict: str  # safe, tight, disk too small, memory too small
    max_memory_bytes: int | None = None  # to be given with --max-memory, where the default is too much
    remedy: str = ""  # what to do where the job does not fit; empty where it does


def conclude(
    output_bytes: Range, disk: OutputDisk, usual_bytes: int, least_bytes: int, memory: JobMemory
) -> Conclusion:
    """`usual_bytes` is the peak memory of `run tokenize`; with `least_bytes` it is slower."""
    disk_fit = disk.fit(output_bytes)
    if disk_fit == Fit.TOO_LARGE:
        missing = format_size(output_bytes.high - (disk.free_bytes or 0) - disk.partial_bytes)
        return Conclusion(
            "disk too small", remedy=f"free {missing} in {disk.name}, or choose another folder with --out"
        )
    verdict = "tight" if disk_fit == Fit.TIGHT else "safe"
    if memory.available_bytes is None or memory.fit(usual_bytes) == Fit.SAFE:
        return Conclusion(verdict)
    if least_bytes > memory.available_bytes:
        missing = format_size(least_bytes - memory.available_bytes)
        return Conclusion("memory too small", remedy=f"close other programs: at least {missing} more memory is needed")
    least = -(-least_bytes // MEMORY_STEP_BYTES) * MEMORY_STEP_BYTES
    spare = (memory.available_bytes - memory.reserve_bytes) // MEMORY_STEP_BYTES * MEMORY_STEP_BYTES
    return Conclusion("tight" if spare < least else verdict, max_memory_bytes=max(least, spare))


@dataclass(frozen=True, slots=True)
class JobSpeed:
    """The speed of `run tokenize`, from measured CPU seconds for a byte of text and from who shares the work."""

    encode_s: float  # the workers
    unpack_s: float  # the one process that unpacks; plain text needs none
    start_s: float  # until the first block is encoded
    workers: int
    cores: int
    busy_others: float  # other processes that want a core; they may end soon, so they count for the upper end only

    @property
    def bytes_per_s(self) -> float:
        """After the start. The slowest of all cores, the workers and the one that unpacks sets the pace."""
        shared_s = (self.encode_s + self.unpack_s) / min(self.cores, self.workers + 1)
        return 1 / max(shared_s, self.encode_s / self.workers, self.unpack_s)

    def seconds(self, text_bytes: Range) -> Range:
        estimate, low, high = (self.start_s + size / self.bytes_per_s for size in text_bytes)
        return Range(estimate, FASTER * low, SLOWER * (1 + self.busy_others / self.cores) * high)
