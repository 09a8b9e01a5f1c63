"""Change: rates between two samples, from the machine's counters."""

from dataclasses import dataclass

from memwatch.model.sample import Sample


@dataclass(frozen=True, slots=True)
class Change:
    """Shares of the time in which some program, or all of them, waited; and rates. Unknown is None."""

    stall_some_fraction: float | None = None
    stall_full_fraction: float | None = None
    io_stall_some_fraction: float | None = None
    io_stall_full_fraction: float | None = None
    swap_in_bytes_s: float | None = None
    swap_out_bytes_s: float | None = None
    major_faults_s: float | None = None
    refaults_s: float | None = None


UNKNOWN_CHANGE = Change()


def change_between(earlier: Sample, later: Sample) -> Change:
    """The rates between two samples. All are unknown across a restart: clock and counters start again."""
    span_s = later.clock_s - earlier.clock_s
    if span_s <= 0:
        return UNKNOWN_CHANGE

    def counts(part: str, name: str) -> tuple[int | None, int | None]:
        before, after = (getattr(getattr(sample, part), name, None) for sample in (earlier, later))
        return before, after

    return Change(
        stall_some_fraction=stalled_fraction(*counts("pressure", "memory_some_us"), span_s),
        stall_full_fraction=stalled_fraction(*counts("pressure", "memory_full_us"), span_s),
        io_stall_some_fraction=stalled_fraction(*counts("pressure", "io_some_us"), span_s),
        io_stall_full_fraction=stalled_fraction(*counts("pressure", "io_full_us"), span_s),
        swap_in_bytes_s=counter_rate(*counts("paging", "swapped_in_bytes"), span_s),
        swap_out_bytes_s=counter_rate(*counts("paging", "swapped_out_bytes"), span_s),
        major_faults_s=counter_rate(*counts("paging", "major_faults"), span_s),
        refaults_s=counter_rate(*counts("paging", "refaults"), span_s),
    )


def counter_rate(before: int | None, after: int | None, span_s: float) -> float | None:
    """Per second. A counter that has gone back is another counter, and nothing is known."""
    return None if before is None or after is None or after < before else (after - before) / span_s


def stalled_fraction(before_us: int | None, after_us: int | None, span_s: float) -> float | None:
    """The share of the time, from two counts of stalled microseconds."""
    stalled_us_s = counter_rate(before_us, after_us, span_s)
    return None if stalled_us_s is None else min(stalled_us_s / 1e6, 1.0)
