"""Which panels are shown, and how high each is, for a terminal of a given size."""

from dataclasses import dataclass
from enum import StrEnum

from memwatch.tui.draw.look import Frame


class Mode(StrEnum):
    FULL = "full"
    NARROW = "narrow"
    TINY = "tiny"


@dataclass(frozen=True, slots=True)
class ScreenLayout:
    """Panels that are not named in `heights` are not shown."""

    mode: Mode
    frame: Frame
    heights: dict[str, int]


@dataclass(frozen=True, slots=True)
class ShownPanels:
    """Which panels exist: a watched machine has no job; a replay has a time line; some have no swap, or no GPU."""

    has_job: bool = True
    has_output: bool = True
    has_progress: bool = True
    has_swap: bool = True
    has_gpu: bool = True
    has_timeline: bool = False
    has_nodes: bool = False
    has_machine: bool = True  # False: other machines are shown, and nothing of this one


_NODES_ALONE = {"nodes": 8, "events": 3}


def output_columns(width: int) -> int:
    """What the job's terminal is said to have: the inside of the output panel, in a box. A wider bar would wrap."""
    return max(width - 4, 20)


def layout_for(
    width: int, height: int, is_compact: bool, shown: ShownPanels, zoomed: str | None = None
) -> ScreenLayout:
    if width < 60 or height < 12:
        return ScreenLayout(Mode.TINY, Frame.NONE, {"tiny": height})
    if zoomed is not None:
        return ScreenLayout(Mode.FULL, Frame.BOX, {"header": 1, "banner": 1, zoomed: height - 3, "footer": 1})
    if width < 100 or height < 30 or is_compact:
        return _narrow(height, shown)
    return _full(height, shown)


def _full(height: int, shown: ShownPanels) -> ScreenLayout:
    heights = {"header": 1, "banner": 1, "footer": 1}
    if not shown.has_machine:
        heights["progress"] = 4
        return ScreenLayout(Mode.FULL, Frame.BOX, heights | shared_out(height - sum(heights.values()), _NODES_ALONE))
    if shown.has_timeline:
        heights["timeline"] = 1
    if shown.has_job:
        heights["progress"] = 4 if shown.has_progress else 3
    left = height - sum(heights.values())
    beside = {"swap": shown.has_swap, "gpu": shown.has_gpu}
    if any(beside.values()):
        left -= 4
        heights |= {name: 4 for name, is_there in beside.items() if is_there}
    shares = {"memory": 7, "nodes": 7, "processes": 5} if shown.has_nodes else {"memory": 9, "processes": 7}
    if shown.has_output:
        shares["output"] = 5
    if shown.has_job:
        shares["events"] = 4
    heights |= shared_out(left, shares)
    heights["pressure"] = heights["memory"]
    if shown.has_job:
        heights["others"] = heights["processes"]
    return ScreenLayout(Mode.FULL, Frame.BOX, heights)


def _narrow(height: int, shown: ShownPanels) -> ScreenLayout:
    """From 24 rows on, rules with titles; below that, every row is needed for what is in it."""
    frame = Frame.RULE if height >= 20 else Frame.NONE
    rule = 1 if frame == Frame.RULE else 0
    heights = {"header": 1, "banner": 1, "footer": 1}
    if shown.has_timeline:
        heights["timeline"] = 1
    if shown.has_job:
        heights["progress"] = (2 if shown.has_progress else 1) + rule
    left = height - sum(heights.values())
    if not shown.has_machine:
        return ScreenLayout(Mode.NARROW, frame, heights | shared_out(left, _NODES_ALONE))
    shares = {"vitals": 8, "processes": 6} if rule else {"vitals": 4, "processes": 4}
    if shown.has_nodes:
        shares = {"vitals": 5, "nodes": 5, "processes": 3}
    if shown.has_output:
        shares["output"] = 1 + rule
    if shown.has_job:
        shares["events"] = 1 + rule
    return ScreenLayout(Mode.NARROW, frame, heights | shared_out(left, shares))


def shared_out(rows: int, shares: dict[str, int]) -> dict[str, int]:
    """`rows` in whole numbers, in proportion to the shares, at least one each; the first ones get what is left over."""
    left, wanted = rows - len(shares), sum(shares.values()) - len(shares)
    given = {name: 1 + left * (share - 1) // max(wanted, 1) for name, share in shares.items()}
    names = list(shares)
    for number in range(rows - sum(given.values())):
        given[names[number % len(names)]] += 1
    return given
