"""Lines of a system log, in the forms in which people have them.

1794813543.026736 host kernel: text                     journalctl -o short-unix
[11709.026736] text                                     dmesg; with <4> before it, or [ T123] after it
[Mon Nov 16 07:19:03 2026] text                         dmesg -T
2026-11-16T07:19:03.026736+00:00 host kernel: text      rsyslog; dmesg --time-format iso has no host
Nov 16 07:19:03 host kernel: [11709.026736] text        rsyslog before Debian 12
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

KERNEL = "kernel"
# The longest line that is looked at: an OOM report's are under 300, a cgroup's path may have 4096.
MOST_CHARACTERS = 8192

_TAGGED = r"(?P<host>\S+) (?P<who>[^\s:\[\]]+)(?:\[\d+\])?: (?P<text>.*)"
_UNIX = re.compile(rf"(?P<t>\d{{9,11}}\.\d+) {_TAGGED}")
_ISO = re.compile(r"(?P<t>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)) (?P<rest>.*)")
_SYSLOG = re.compile(rf"(?P<t>[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d) {_TAGGED}")
_UPTIME = re.compile(r"(?:<\d+>)?\[ *(?P<t>\d+\.\d+)\](?:\[ *[TC]\d+\])? ?(?P<text>.*)")
_NAMED_DAY = re.compile(r"\[(?P<t>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] ?(?P<text>.*)")
_REST = re.compile(_TAGGED)


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


def parse_line(line: str, dates: Dates) -> LogLine | None:
    line = line[:MOST_CHARACTERS].rstrip()
    for form, parse in _FORMS:
        if (match := form.match(line)) is not None:
            try:
                return parse(match, dates)
            except (ValueError, OverflowError, OSError):
                return None  # 31 February, or a year nobody's clock shows
    return None


def _from_unix(match: re.Match[str], dates: Dates) -> LogLine:
    return _tagged(float(match["t"]), match)


def _from_uptime(match: re.Match[str], dates: Dates) -> LogLine:
    t = None if dates.booted_t is None else dates.booted_t + float(match["t"])
    return LogLine(t, KERNEL, match["text"])


def _from_named_day(match: re.Match[str], dates: Dates) -> LogLine:
    return LogLine(datetime.strptime(match["t"], "%a %b %d %H:%M:%S %Y").timestamp(), KERNEL, match["text"])


def _from_iso(match: re.Match[str], dates: Dates) -> LogLine:
    t = datetime.fromisoformat(match["t"].replace(",", ".")).timestamp()
    tagged = _REST.match(match["rest"])
    return LogLine(t, KERNEL, match["rest"]) if tagged is None else _tagged(t, tagged)


def _from_syslog(match: re.Match[str], dates: Dates) -> LogLine:
    now = datetime.fromtimestamp(dates.now_t)
    when = datetime.strptime(f"{now.year} {match['t']}", "%Y %b %d %H:%M:%S")
    if when > now + timedelta(days=1):
        when = when.replace(year=now.year - 1)  # A line of December, read in January.
    return _tagged(when.timestamp(), match)


def _tagged(t: float, match: re.Match[str]) -> LogLine:
    text = match["text"]
    if match["who"] == KERNEL and (uptime := _UPTIME.match(text)) is not None:
        text = uptime["text"]
    return LogLine(t, match["who"], text)


_Parse = Callable[[re.Match[str], Dates], LogLine]
_FORMS: tuple[tuple[re.Pattern[str], _Parse], ...] = (
    (_UNIX, _from_unix),
    (_UPTIME, _from_uptime),
    (_NAMED_DAY, _from_named_day),
    (_ISO, _from_iso),
    (_SYSLOG, _from_syslog),
)
