"""Panels: the charts of a story, each with its scale, its lines and what they are called.

Sizes are drawn against what the machine has, never against their own peak: 3 of 64 GiB is little, and looks it. The
limit that counted is RAM or the job's cgroup, whichever had less room left; less the reserve if memwatch acted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from memwatch.model.sample import Gpu, Limit
from memwatch.model.units import MIB, format_size
from memwatch.report.axes import Tick, nice_step, short_size, size_ticks
from memwatch.report.columns import Columns
from memwatch.report.run_story import RunStory

NEAR_SHARE = 0.10  # of the limit: with more room than that it was only the nearest one


@dataclass(frozen=True, slots=True)
class CountedLimit:
    """`level_bytes` is where it is drawn: below the limit by the reserve where memwatch stopped the job for that."""

    in_cgroup: bool
    limit_bytes: int
    level_bytes: int
    left_bytes: int

    @property
    def was_near(self) -> bool:
        return self.left_bytes <= NEAR_SHARE * self.limit_bytes or self.level_bytes < self.limit_bytes

    @property
    def words(self) -> str:
        whole = "memory limit of the job's cgroup" if self.in_cgroup else "all of RAM"
        reserve = self.limit_bytes - self.level_bytes
        return f"{whole}, less the reserve of {format_size(reserve)}" if reserve else whole


def counted_limit(story: RunStory) -> CountedLimit | None:
    """The limit that came closest to its end in this run: the machine's RAM, or the job's cgroup. None where none was
    recorded."""
    found = []
    if story.total_bytes and story.least_available_bytes is not None:
        found.append((story.least_available_bytes, story.total_bytes, False))
    used = story.levels.highest("limit")
    if story.limit is not None and used is not None:
        found.append((int(story.limit.limit_bytes - used), story.limit.limit_bytes, True))
    if not found:
        return None
    left_bytes, limit_bytes, in_cgroup = min(found)
    reserve = reserve_bytes(story) if _is_stopped(story) else 0
    level_bytes = limit_bytes - reserve if 0 < reserve < limit_bytes else limit_bytes
    return CountedLimit(in_cgroup, limit_bytes, level_bytes, left_bytes)


def reserve_bytes(story: RunStory) -> int:
    limits = (story.start or {}).get("limits")
    reserve = limits.get("reserve_bytes") if isinstance(limits, dict) else None
    return reserve if isinstance(reserve, int) and reserve > 0 else 0


def _is_stopped(story: RunStory) -> bool:
    return story.exit is not None and story.exit.get("by") == "guard"


SMALLEST_RATE_BYTES_S = MIB  # less than that is a flat line
PRESSURE_TOPS = (0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Line:
    """`colour` names a colour of the page; values are drawn times `factor`: -1 for what goes downwards."""

    columns: Columns
    name: str
    label: str
    colour: str
    is_area: bool = False
    is_dashed: bool = False
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Rule:
    """A level across the whole chart."""

    value: float
    label: str
    is_counted: bool = False  # the limit that counted


@dataclass(frozen=True, slots=True)
class ChartPanel:
    name: str
    title: str
    of: str
    top: float
    ticks: list[Tick]
    lines: list[Line]
    bottom: float = 0.0
    rules: tuple[Rule, ...] = ()
    is_low: bool = False  # in height


def panels_of(story: RunStory) -> list[ChartPanel]:
    """The chart of the limit that counted comes first."""
    counted = counted_limit(story)
    first = [_memory(story, counted), _limit(story, counted)]
    if counted is not None and counted.in_cgroup:
        first.reverse()
    panels = (*first, _swap(story), _swapping(story), _pressure(story), *_gpus(story))
    return [panel for panel in panels if panel is not None]


def absent(story: RunStory) -> list[str]:
    """Which charts are missing, and why."""
    remarks = []
    if story.samples and story.total_bytes is None:
        remarks.append("Memory: unknown; this machine does not report available memory.")
    if story.swap_total_bytes == 0:
        remarks.append("Swap: none.")
    if story.samples and not story.rates.knows("some"):
        remarks.append("Pressure: unknown; the kernel has no PSI, or there are too few samples.")
    if story.knows_gpus and not story.gpus:
        remarks.append("GPU: none.")
    elif story.samples and not story.knows_gpus:
        remarks.append("GPU: unknown.")
    return remarks


def _memory(story: RunStory, counted: CountedLimit | None) -> ChartPanel | None:
    if not story.total_bytes:
        return None
    lines = [_sized(story, "used", "machine", "machine", is_area=True)]
    if story.is_of_a_job:
        lines.append(_sized(story, "job", "job", "job", is_area=True))
    size = short_size(story.total_bytes)
    # Where the limit of a cgroup counted, the reserve is kept below that, not below the machine's RAM.
    is_in_cgroup = counted is not None and counted.in_cgroup
    rules = () if is_in_cgroup else tuple(_rules(story, story.total_bytes, counted))
    return ChartPanel(
        "memory", "Memory", f"in use, of {size}", story.total_bytes, size_ticks(story.total_bytes), lines, rules=rules
    )


def _rules(story: RunStory, total_bytes: int, counted: CountedLimit | None) -> Iterator[Rule]:
    reserve = reserve_bytes(story)
    is_reserve = counted is not None and counted.level_bytes < counted.limit_bytes
    if 0 < reserve < total_bytes:
        yield Rule(total_bytes - reserve, f"reserve of {short_size(reserve)} starts", is_counted=is_reserve)
    if counted is not None and not is_reserve:
        yield Rule(counted.limit_bytes, f"limit: {counted.words}, {format_size(counted.limit_bytes)}", is_counted=True)


def _limit(story: RunStory, counted: CountedLimit | None) -> ChartPanel | None:
    limit: Limit | None = story.limit
    if limit is None or not limit.limit_bytes:
        return None
    lines = [_sized(story, "limit", "used, without page cache", "job", is_area=True)]
    ticks = size_ticks(limit.limit_bytes, most=3)
    is_counted = counted is not None and counted.in_cgroup
    rules = tuple(_rules(story, limit.limit_bytes, counted)) if is_counted else ()
    of = f"of {limit.path}" if limit.path else "of the job's cgroup"
    return ChartPanel("limit", "Memory limit", of, limit.limit_bytes, ticks, lines, rules=rules, is_low=not is_counted)


def _swap(story: RunStory) -> ChartPanel | None:
    top = story.swap_total_bytes
    if not top:
        return None
    lines = [_sized(story, "swap", "machine", "swap", is_area=True)]
    if story.levels.highest("job_swap"):
        lines.append(_sized(story, "job_swap", "job", "job"))
    return ChartPanel("swap", "Swap", f"in use, of {short_size(top)}", top, size_ticks(top, most=2), lines, is_low=True)


def _swapping(story: RunStory) -> ChartPanel | None:
    """In upwards, out downwards: both at once is what thrashing looks like."""
    highest = max((story.rates.highest(name) or 0.0 for name in ("in", "out")), default=0.0)
    if not story.swap_total_bytes or not story.rates.knows("in"):
        return None
    step = nice_step(max(highest, SMALLEST_RATE_BYTES_S) / MIB) * MIB
    label = f"{short_size(step)}/s"
    ticks = [Tick(step, label), Tick(0, "0"), Tick(-step, label)]
    lines = [
        Line(story.rates, "in", _peak("in", story.rates.highest("in"), "/s"), "swap-in", is_area=True),
        Line(story.rates, "out", _peak("out", story.rates.highest("out"), "/s"), "swap-out", is_area=True, factor=-1),
    ]
    note = "swap-in above, swap-out below"
    return ChartPanel("swapping", "Swapping", note, step, ticks, lines, bottom=-step, is_low=True)


def _pressure(story: RunStory) -> ChartPanel | None:
    highest = max((story.rates.highest(name) or 0.0 for name in ("some", "full", "io")), default=0.0)
    if not story.rates.knows("some"):
        return None
    top = next(top for top in PRESSURE_TOPS if highest <= top)
    ticks = [Tick(top * part, f"{100 * top * part:g} %") for part in (0, 0.5, 1)]
    lines = [
        Line(story.rates, "io", _share("stalled for the disk", story, "io"), "disk", is_dashed=True),
        Line(story.rates, "some", _share("some programs stalled for memory", story, "some"), "some", is_area=True),
        Line(story.rates, "full", _share("all programs stalled for memory", story, "full"), "full", is_area=True),
    ]
    known = [line for line in lines if story.rates.knows(line.name)]
    return ChartPanel("pressure", "Pressure", "share of the time stalled", top, ticks, known, is_low=True)


def _gpus(story: RunStory) -> Iterator[ChartPanel]:
    ticks = [Tick(0, "0"), Tick(0.5, "50 %"), Tick(1, "100 %")]
    for index, gpu in sorted(story.gpus.items()):
        lines = [_gpu_use(story, index)]
        if gpu.memory_total_bytes and story.levels.knows(f"gpu{index}_memory"):
            lines.append(_gpu_memory(story, gpu, gpu.memory_total_bytes))
        known = [line for line in lines if line.columns.knows(line.name)]
        if known:
            yield ChartPanel(f"gpu{index}", f"GPU {index}", gpu.name, 1.0, ticks, known, is_low=True)


def _gpu_use(story: RunStory, index: int) -> Line:
    name = f"gpu{index}_use"
    highest = story.levels.highest(name)
    label = "busy" if highest is None else f"busy; peak {100 * highest:.0f} %"
    return Line(story.levels, name, label, "gpu", is_area=True)


def _gpu_memory(story: RunStory, gpu: Gpu, total_bytes: int) -> Line:
    name = f"gpu{gpu.index}_memory"
    highest = story.levels.highest(name) or 0
    label = f"memory; peak {short_size(highest)} of {short_size(total_bytes)}"
    return Line(story.levels, name, label, "gpu-memory", is_dashed=True, factor=1 / total_bytes)


def _sized(story: RunStory, name: str, label: str, colour: str, is_area: bool = False) -> Line:
    return Line(story.levels, name, _peak(label, story.levels.highest(name)), colour, is_area)


def _peak(label: str, highest: float | None, per: str = "") -> str:
    return label if highest is None else f"{label}; peak {format_size(highest)}{per}"


def _share(label: str, story: RunStory, name: str) -> str:
    highest = story.rates.highest(name)
    return label if highest is None else f"{label}; peak {100 * highest:.0f} %"
