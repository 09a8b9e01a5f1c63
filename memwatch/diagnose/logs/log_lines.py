"""A line of a log as a value, and the times that stand before it: in any language, with or without a year."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

# The first letters of months, as date(1) abbreviates them; a name that is not here leaves the time unknown.
_MONTHS: dict[str, int] = {}
for _number, _names in enumerate(
    (
        "jan janv ene gen янв sty led",
        "feb févr fév fev фев lut úno",
        "mar mär märz mars mrz мар marzo bře",
        "apr avr avril abr апр kwi dub",
        "may mai mayo mag мая май maj mei kvě",
        "jun juin giu июн cze čen",
        "jul juil lug июл lip čec",
        "aug août aout ago авг sie srp",
        "sep sept set сен wrz zář",
        "oct okt ott out окт paź říj",
        "nov ноя lis",
        "dec dez déc dic дек gru pro",
    ),
    1,
):
    _MONTHS |= dict.fromkeys(_names.split(), _number)

MONTH = r"(?:[^\W\d_]{3,10}\.?|\d{1,2}[月월])"
TIME = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"


def time_of(found: dict[str, str | None], now_t: float) -> float | None:
    """Unix seconds; None where the month is in a language that is not known."""
    try:
        if (stamp := found.get("t")) is not None:
            return _stamp(stamp)
        if (inner := found.get("inner")) is not None:
            match = re.search(
                rf"(?P<month>{MONTH})\s+(?P<day>\d{{1,2}})\D.*?(?P<time>{TIME})\D*(?P<year>\d{{4}})", inner
            )
            found = {} if match is None else match.groupdict()
        month = _month(found.get("month") or "")
        if month is None:
            return None
        now = datetime.fromtimestamp(now_t)
        year = int(found.get("year") or now.year)
        hour, minute, second = (int(part) for part in (found.get("time") or "")[:8].split(":"))
        when = datetime(year, month, int(found.get("day") or 0), hour, minute, second)
        if found.get("year") is None and when > now + timedelta(days=1):
            when = when.replace(year=year - 1)  # A line of December, read in January.
        return when.timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _stamp(stamp: str) -> float:
    if re.fullmatch(r"\d{9,11}\.\d+", stamp):
        return float(stamp)
    # Python reads microseconds; Talos writes nanoseconds.
    trimmed = re.sub(r"([.,]\d{6})\d+", r"\1", stamp.strip().replace(",", "."))
    return datetime.fromisoformat(trimmed.replace(" UTC", "Z")).timestamp()


def _month(name: str) -> int | None:
    if name.endswith(("月", "월")):
        return int(name[:-1])
    lowered = name.lower().rstrip(".")
    return _MONTHS.get(lowered) or _MONTHS.get(lowered[:3])


KERNEL = "kernel"
# The longest line that is looked at: an OOM report's are under 300, a cgroup's path may have 4096.
MOST_CHARACTERS = 8192


@dataclass(frozen=True, slots=True)
class LogLine:
    t: float | None
    who: str  # kernel, systemd-oomd, ...
    text: str


@dataclass(frozen=True, slots=True)
class Dates:
    """What a line may leave unsaid: when the machine started, and what year it is."""

    now_t: float
    booted_t: float | None = None
