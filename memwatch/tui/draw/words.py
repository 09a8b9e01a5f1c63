"""Numbers as people read them on a screen: short, with a unit, of the same width from one second to the next."""

from memwatch.model.units import format_count, format_size, roughly

UNKNOWN = "n/a"


def size(size_bytes: float | None) -> str:
    return UNKNOWN if size_bytes is None else format_size(size_bytes)


def rate(bytes_s: float | None) -> str:
    return UNKNOWN if bytes_s is None else f"{format_size(bytes_s)}/s"


def percent(fraction: float | None, digits: int = 0) -> str:
    return UNKNOWN if fraction is None else f"{100 * fraction:.{digits}f} %"


def amount(value: float, unit: str | None) -> str:
    return format_size(value) if unit == "bytes" else format_count(value)


def stopwatch(seconds: float | None) -> str:
    """'00:41:07', and days where there are some."""
    if seconds is None:
        return "--:--:--"
    whole = int(seconds)
    days, rest = divmod(whole, 86400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days} d {clock}" if days else clock


def between(low_s: float, high_s: float, dash: str) -> str:
    """'34–47 min': one unit if both have the same."""
    low, high = roughly(low_s), roughly(high_s)
    if low == high:
        return low
    if low.split()[1:] == high.split()[1:] and len(low.split()) == 2:
        low = low.split()[0]
    return f"{low}{dash}{high}"
