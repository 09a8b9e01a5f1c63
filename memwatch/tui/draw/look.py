"""Look: what the user has chosen to see, and how."""

from dataclasses import dataclass
from enum import StrEnum

from memwatch.tui.draw.glyphs import UNICODE, Glyphs
from memwatch.tui.model.process_rows import SortOrder

# Seconds across a chart's past. The first that holds the whole run so far is taken, unless the user wants another.
SPANS_S = (60, 120, 300, 600, 1800, 3600)
LONGEST_BY_ITSELF_S = 600


class Frame(StrEnum):
    """What is around a panel: a box, a rule above it, nothing."""

    BOX = "box"
    RULE = "rule"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Look:
    glyphs: Glyphs = UNICODE
    has_colours: bool = True
    frame: Frame = Frame.BOX
    order: SortOrder = SortOrder.MEMORY
    as_tree: bool = True
    wanted: str = ""
    span_s: int | None = None

    def chart_span_s(self, elapsed_s: float | None) -> int:
        if self.span_s is not None:
            return self.span_s
        shortest = min(elapsed_s or 0, LONGEST_BY_ITSELF_S)
        return next(span for span in SPANS_S if span >= shortest)

    def other_span_s(self, elapsed_s: float | None, step: int) -> int:
        """The next longer or shorter one."""
        index = SPANS_S.index(self.chart_span_s(elapsed_s)) + step
        return SPANS_S[min(max(index, 0), len(SPANS_S) - 1)]
