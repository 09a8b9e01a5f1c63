"""RunNeed: the memory that a whole run will need, as the guard forecasts it and every view shows it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from memwatch.model.units import GIB, MIB, roughly

_MOST = 1e18


@dataclass(frozen=True, slots=True)
class RunNeed:
    """What the job will need at its end, and where what is there will not do.

    `fraction`     of progress, when this was forecast
    `there_bytes`  what the job can have: what it has in RAM, and the headroom; None: not known
    `full_at`      the fraction of progress at which that is used up; None: it will do, or the place is not known
    `full_in_s`    until then
    `is_sure`      even the low end of the range does not fit; a warning follows if this lasts
    `runs`         how many earlier runs of the same command it was learnt from
    """

    fraction: float
    need_bytes: int
    low_bytes: int
    high_bytes: int
    there_bytes: int | None = None
    full_at: float | None = None
    full_in_s: float | None = None
    is_sure: bool = False
    runs: int = 0

    @property
    def summary(self) -> str:
        """'needs 31 GiB (29-34), full at 68 %': short, for the frame of a panel."""
        if self.full_at is None:
            return _amounts(self)
        return f"{_amounts(self, '')}, full at {100 * self.full_at:.0f} %"

    def warning(self, command: Sequence[str]) -> str:
        """One sentence with the numbers first, and what explains them."""
        words = _amounts(self)
        if self.there_bytes is not None:
            words += f", {_size(self.there_bytes)} are there"
        if self.full_at is not None:
            words += f": full at {100 * self.full_at:.0f} %"
            words += "" if self.full_in_s is None else f", in {roughly(self.full_in_s)}"
        if self.runs:
            words += f" (as in {'an earlier run' if self.runs == 1 else f'{self.runs} earlier runs'})"
        script = next((word for word in command if word.endswith(".py") and not word.startswith("-")), None)
        return words + ("" if script is None else f"; `memwatch diagnose --script {script}` shows why")

    def as_json(self) -> dict[str, object]:
        facts = {name: value for name, value in asdict(self).items() if value not in (None, 0, False)}
        rounded = {"fraction": 4, "full_at": 3, "full_in_s": 0}
        return {name: round(value, rounded[name]) if name in rounded else value for name, value in facts.items()}

    @classmethod
    def from_json(cls, event: Mapping[str, object]) -> "RunNeed | None":
        """The forecast in a `need` event; None where the event takes back an earlier one, or is forged."""
        fraction, there = _number(event.get("fraction")), _number(event.get("there_bytes"))
        need, low, high = (_number(event.get(name)) for name in ("need_bytes", "low_bytes", "high_bytes"))
        if need is None or low is None or high is None:
            return None
        return cls(
            fraction or 0.0,
            int(need),
            int(low),
            int(high),
            None if there is None else int(there),
            _number(event.get("full_at")),
            _number(event.get("full_in_s")),
            event.get("is_sure") is True,
            int(_number(event.get("runs")) or 0),
        )


def _amounts(need: RunNeed, when: str = " at the end") -> str:
    unit = GIB if need.need_bytes >= GIB else MIB
    low, high = _digits(need.low_bytes / unit), _digits(need.high_bytes / unit)
    spread = "" if low == high else f" ({low}-{high})"
    return f"needs {_size(need.need_bytes)}{when}{spread}"


def _size(size_bytes: float) -> str:
    unit, name = (GIB, "GiB") if size_bytes >= GIB else (MIB, "MiB")
    return f"{_digits(size_bytes / unit)} {name}"


def _digits(value: float) -> str:
    """A number with no more digits than a forecast can know."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _number(value: object) -> float | None:
    """The value if it is a plausible number, else None: a journal may be forged."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 0 <= value < _MOST and math.isfinite(value) else None
