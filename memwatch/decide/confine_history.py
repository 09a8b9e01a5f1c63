"""What readings of a confined job's scope and of the other cgroups say, over the last minute. Pure.

guard/scope/confinement.py makes a `ConfineReading` at every sample; confine.py decides from the `Confined` that comes
out.
"""

from collections import deque
from dataclasses import dataclass

from memwatch.model.sample import Pressure
from memwatch.model.units import MIB

WINDOW_S = 60.0
STEP_S = 0.5
SMALLEST_STEP_BYTES = 8 * MIB
# From a sample to a paused job, with the pages that go out meanwhile.
SWAP_MARGIN_S = 2.0
SWAP_MARGIN_BYTES = 32 * MIB
GROWTH_S = (3.0, 10.0)
STUCK_STALL_FRACTION = 0.8
# A job that reads its list back from a disk of 40 MB/s computes 3 % of the time, one that faults at random far less.
STUCK_CPU_FRACTION = 0.005
STUCK_GROWTH_SHARE = 0.01
SUFFERS_S = 5.0
SUFFERS_MEMORY_FRACTION = 0.25
SUFFERS_IO_FRACTION = 0.6
SETTLED_S = 10.0
FITS_SHARE = 1 / 32


@dataclass(frozen=True, slots=True)
class ConfineReading:
    """The job's scope and the rest of the machine at one instant. Counters run on; unknown is None.

    `swap_bytes` is in swap only; `swap_left_bytes` is what the job may still put there; `rest` is the time that other
    cgroups were stalled, at each moment that of the one that suffers most. `done` and `total` are the job's progress,
    in `unit`.
    """

    clock_s: float
    limit_bytes: int
    held_bytes: int
    swap_bytes: int
    swap_left_bytes: int
    user_cpu_s: float | None = None
    stall_full_us: int | None = None
    rest: Pressure | None = None
    done: float | None = None
    total: float | None = None
    unit: str | None = None

    @property
    def size_bytes(self) -> int:
        return self.held_bytes + self.swap_bytes


@dataclass(frozen=True, slots=True)
class Confined:
    """What the readings say. `rest_suffers` is in words; `rate_before` is the job's progress before it was confined."""

    limit_bytes: int
    held_bytes: int
    swap_bytes: int
    swap_left_bytes: int
    swap_growth_bytes_s: float = 0.0
    is_stuck: bool = False
    rest_suffers: str | None = None
    has_settled: bool = False
    since_s: float = 0.0  # when the limit was first in force
    rate: float | None = None
    rate_before: float | None = None
    left: float | None = None  # of the job's progress, in its unit
    unit: str | None = None

    @property
    def swap_full_in_s(self) -> float | None:
        return self.swap_left_bytes / self.swap_growth_bytes_s if self.swap_growth_bytes_s > 0 else None

    @property
    def is_swap_out(self) -> bool:
        """Whether nothing more may go to swap: at its limit, the kernel would kill the job."""
        margin = max(self.swap_growth_bytes_s * SWAP_MARGIN_S, SWAP_MARGIN_BYTES)
        return self.swap_left_bytes <= margin

    @property
    def left_s(self) -> float | None:
        return self.left / self.rate if self.left is not None and self.rate else None


class ConfineHistory:
    """Readings of the last minute, in bounded space. One for each confinement."""

    def __init__(self, rate_before: float | None = None) -> None:
        self._rate_before = rate_before
        self._readings: deque[ConfineReading] = deque()
        self._since_s: float | None = None

    def add(self, reading: ConfineReading) -> Confined:
        """At every sample of a confined job: what the readings say, with this one."""
        kept = self._readings
        self._since_s = reading.clock_s if self._since_s is None else self._since_s
        if len(kept) >= 2 and kept[-1].clock_s - kept[-2].clock_s < STEP_S:
            kept.pop()
        kept.append(reading)
        while kept[-1].clock_s - kept[0].clock_s > WINDOW_S + STEP_S:
            kept.popleft()
        return Confined(
            reading.limit_bytes,
            reading.held_bytes,
            reading.swap_bytes,
            reading.swap_left_bytes,
            swap_growth_bytes_s=max((self._growth(span_s) for span_s in GROWTH_S), default=0.0),
            is_stuck=self._is_stuck(),
            rest_suffers=self._rest_suffers(),
            has_settled=self._has_settled(),
            since_s=self._since_s,
            rate=self._progress_rate(),
            rate_before=self._rate_before,
            left=None if reading.done is None or reading.total is None else max(reading.total - reading.done, 0),
            unit=reading.unit,
        )

    def _before(self, span_s: float) -> ConfineReading | None:
        """The newest reading at least so old."""
        last_s = self._readings[-1].clock_s
        return next((r for r in reversed(self._readings) if last_s - r.clock_s >= span_s), None)

    def _growth(self, span_s: float) -> float:
        earlier, latest = self._before(span_s), self._readings[-1]
        if earlier is None:
            return 0.0
        return max(latest.swap_bytes - earlier.swap_bytes, 0) / (latest.clock_s - earlier.clock_s)

    def _is_stuck(self) -> bool:
        """For a minute it has waited for its pages, computed next to nothing, and neither grown nor reported."""
        earlier, latest = self._before(WINDOW_S), self._readings[-1]
        if earlier is None or latest.user_cpu_s is None or earlier.user_cpu_s is None:
            return False
        if latest.stall_full_us is None or earlier.stall_full_us is None:
            return False
        span_s = latest.clock_s - earlier.clock_s
        grown_bytes = abs(latest.size_bytes - earlier.size_bytes)
        return (
            (latest.stall_full_us - earlier.stall_full_us) / 1e6 / span_s >= STUCK_STALL_FRACTION
            and (latest.user_cpu_s - earlier.user_cpu_s) / span_s <= STUCK_CPU_FRACTION
            and grown_bytes <= latest.size_bytes * STUCK_GROWTH_SHARE
            and latest.done == earlier.done
        )

    def _rest_suffers(self) -> str | None:
        earlier, latest = self._before(SUFFERS_S), self._readings[-1]
        if earlier is None or earlier.rest is None or latest.rest is None:
            return None
        span_us = (latest.clock_s - earlier.clock_s) * 1e6
        memory = (latest.rest.memory_some_us - earlier.rest.memory_some_us) / span_us
        io = ((latest.rest.io_full_us or 0) - (earlier.rest.io_full_us or 0)) / span_us
        if memory >= SUFFERS_MEMORY_FRACTION:
            return f"other programs stalled on memory {min(memory, 1):.0%} of the last 5 s".replace("%", " %")
        if io >= SUFFERS_IO_FRACTION:
            return f"other programs waited for the disk {min(io, 1):.0%} of the last 5 s".replace("%", " %")
        return None

    def _has_settled(self) -> bool:
        """It has held less than it may for a while, and hardly anything of it is in swap."""
        earlier = self._before(SETTLED_S)
        if earlier is None:
            return False
        recent = [r for r in self._readings if r.clock_s >= earlier.clock_s]
        return all(r.swap_bytes <= max(r.size_bytes * FITS_SHARE, SMALLEST_STEP_BYTES) for r in recent)

    def _progress_rate(self) -> float | None:
        known = [r for r in self._readings if r.done is not None]
        if not known or known[-1].clock_s - known[0].clock_s < SUFFERS_S:
            return None
        return ((known[-1].done or 0) - (known[0].done or 0)) / (known[-1].clock_s - known[0].clock_s)
