"""Change: what the machine's counters say of the time between two samples."""

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


def change_between(earlier: Sample, later: Sample, page_bytes: int) -> Change:
    """Nothing is known across a restart of the machine: its clock and its counters start again."""
    span_s = later.clock_s - earlier.clock_s
    if span_s <= 0:
        return UNKNOWN_CHANGE

    def grown(part: str, name: str) -> int | None:
        before, after = (getattr(getattr(sample, part), name, None) for sample in (earlier, later))
        # A counter that has gone back is another counter.
        return None if before is None or after is None or after < before else after - before

    def share(name: str) -> float | None:
        stalled_us = grown("pressure", name)
        return None if stalled_us is None else min(stalled_us / 1e6 / span_s, 1.0)

    def rate(name: str, factor: int = 1) -> float | None:
        count = grown("paging", name)
        return None if count is None else count * factor / span_s

    return Change(
        stall_some_fraction=share("memory_some_us"),
        stall_full_fraction=share("memory_full_us"),
        io_stall_some_fraction=share("io_some_us"),
        io_stall_full_fraction=share("io_full_us"),
        swap_in_bytes_s=rate("swapped_in_pages", page_bytes),
        swap_out_bytes_s=rate("swapped_out_pages", page_bytes),
        major_faults_s=rate("major_faults"),
        refaults_s=rate("refaults"),
    )
