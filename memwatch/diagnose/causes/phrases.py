"""How findings speak of times, shares and lists."""

import time
from collections.abc import Iterable, Sequence

from memwatch.model.units import format_duration, format_size


def clock(t: float | None, now_t: float) -> str:
    """'14:27:10', with the date before it unless it is today's; in local time."""
    if t is None:
        return "at an unknown time"
    try:
        when, now = time.localtime(t), time.localtime(now_t)
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"  # Nobody's clock shows that.
    today = when[:3] == now[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", when)


def share(fraction: float) -> str:
    return f"{fraction * 100:.0f} %"


def growth(from_bytes: int, to_bytes: int) -> str:
    """'2.7 -> 58.0 GiB': the unit once where it is the same."""
    before, after = format_size(from_bytes), format_size(to_bytes)
    number, _, unit = before.partition(" ")
    return f"{number if after.endswith(f' {unit}') else before} -> {after}"


def listed(words: Sequence[str], most: int = 3) -> str:
    """'a, b and c'; 'a, b, c and 5 more'."""
    shown = list(words[:most])
    if len(words) > most:
        shown.append(f"{len(words) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def sentence(parts: Iterable[str | None]) -> str:
    """'A; b.' of the parts that are there."""
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def took(start_t: float | None, end_t: float | None) -> str | None:
    return None if start_t is None or end_t is None or end_t - start_t < 1 else format_duration(end_t - start_t)
