"""The words of findings for times, shares and lists."""

from collections.abc import Iterable, Sequence

from memwatch.diagnose.evidence import Run
from memwatch.model.units import format_duration, format_size
from memwatch.model.wording import clock_time

# No log is older than Linux's journals; a smaller time counts from the start of a machine that nobody knows.
SINCE_BOOT_S = 631_152_000.0  # 1990


def clock(t: float | None, now_t: float) -> str:
    """'14:27:10', with the date before it unless it is today's; in local time. '2 h 01 min after boot' of a pasted log
    that counts from there."""
    if t is None:
        return "at an unknown time"
    if 0 <= t < SINCE_BOOT_S:
        return f"{format_duration(t)} after boot"
    day, _, at = clock_time(t, with_date=True).partition(" ")
    return at if clock_time(now_t, with_date=True).startswith(day) else f"{day} {at}".strip()


def moment(t: float | None, now_t: float) -> str:
    """' at 14:27:10', ' 2 h 01 min after boot', or nothing where no time is known: to follow a word."""
    if t is None:
        return ""
    return f" {clock(t, now_t)}" if 0 <= t < SINCE_BOOT_S else f" at {clock(t, now_t)}"


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


def sentence(parts: Iterable[str | None], starts_with_name: bool = False) -> str:
    """'A; b.' of the parts that are there. The name of a program keeps its first letter: python is not Python."""
    text = "; ".join(part for part in parts if part)
    if not text:
        return ""
    return f"{text}." if starts_with_name else f"{text[:1].upper()}{text[1:]}."


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def took(start_t: float | None, end_t: float | None) -> str | None:
    return None if start_t is None or end_t is None or end_t - start_t < 1 else format_duration(end_t - start_t)


def forecast_of(run: Run, now_t: float) -> list[str]:
    """What the guard forecast for the whole run, as evidence; empty if it warned of nothing."""
    if run.forecast is None:
        return []
    t, words = run.forecast
    return [f"forecast at {clock(t, now_t)}: {words}"]
