"""Sizes, counts and durations, as people write and read them."""

import re
from collections.abc import Callable

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB

_BINARY = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": TIB}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
_SIZE = re.compile(r"([0-9]*\.?[0-9]+)\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_COUNT = re.compile(r"([0-9]*\.?[0-9]+)\s*([kmgbt]?)", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes: '512M', '2GiB', '1.5G', '4096'. Units are binary, as free and systemd read them."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a size; write it as 512M, 2GiB or 1.5G")
    return _times(match[1], _BINARY[match[2].lower()])


def parse_count(text: str) -> int:
    """A number of things: '500M', '1.5G', '100_000'. Units are decimal, as people count tokens."""
    match = _COUNT.fullmatch(text.strip().replace("_", ""))
    if not match:
        raise ValueError(f"{text!r} is not a count; write it as 500M, 1.5G or 100_000")
    return _times(match[1], _DECIMAL[match[2].lower()])


def _times(number: str, unit: int) -> int:
    """Exactly, rounded down: '1.1' of something has no exact float."""
    whole, _, part = number.partition(".")
    scale: int = 10 ** len(part)
    return (int(whole or 0) * scale + int(part or 0)) * unit // scale


def format_size(size_bytes: float) -> str:
    """'312 B', '4.0 KiB', '10.4 GiB'."""
    for unit, factor in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes:.0f} B"


def format_count(count: float) -> str:
    """'950', '12.3 k', '1.07 G', '140 M'."""
    for unit, factor in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= factor:
            value = count / factor
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    return f"{count:.0f}"


def format_range(low: float, high: float, show: Callable[[float], str]) -> str:
    """'2.0 GiB to 2.3 GiB', or '2.1 GiB' where both look the same."""
    return show(low) if show(low) == show(high) else f"{show(low)} to {show(high)}"


def format_number(count: int, thing: str) -> str:
    """'1 line', '2 lines'."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def format_duration(seconds: float) -> str:
    """'0.4 s', '38 s', '6 min 12 s', '3 h 05 min'."""
    if seconds < 9.95:  # Above that, a tenth would make 10.0 of it.
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def roughly(seconds: float) -> str:
    """'8 s', '38 min', '3 h 05 min': rounded as far as an estimate deserves."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes / 1440:.1f} d"


def soon(seconds: float) -> str:
    """As `roughly`, with tenths of a second where they matter."""
    return f"{seconds:.1f} s" if seconds < 3 else roughly(seconds)
