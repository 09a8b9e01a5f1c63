"""System logs: the journal of this boot and the one before; where it is empty, the files of syslog, and dmesg."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from memwatch.diagnose.collect.capture import Captured, command_lines, file_lines
from memwatch.diagnose.findings import Source
from memwatch.diagnose.logs.log_events import LogEvents, read_log
from memwatch.diagnose.logs.log_lines import Dates, LogLine
from memwatch.diagnose.logs.pasted import parse_line
from memwatch.model.units import format_number

DAEMONS = ("systemd-oomd", "earlyoom", "nohang", "nohang-desktop", "smartd")
# systemd itself says a great deal; of it only this message is wanted: "killed by the OOM killer" (sd-messages.h).
UNIT_OOM_MESSAGE = "MESSAGE_ID=fe6faa94e7774663a0da52717891d8ef"
FILES = ("kern.log", "syslog", "messages")
MOST_LINES = 200_000  # of each boot, the newest
ASLEEP_S = 60.0

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class LogPlaces:
    """Where logs are, so that tests can have others."""

    journalctl: str = "journalctl"
    dmesg: str = "dmesg"
    folder: str = "/var/log"


USUAL_PLACES = LogPlaces()


def read_logs(now_t: float, since_t: float, places: LogPlaces = USUAL_PLACES) -> tuple[LogEvents | None, list[Source]]:
    """The events, None if no log could be read; and what was read, and what was not and why."""
    booted_t = now_t - time.clock_gettime(time.CLOCK_MONOTONIC)
    reader = _Reader(Dates(now_t, booted_t), since_t)
    events = read_log(reader.lines(places), _PAGE_BYTES)
    return (events if reader.answered else None), reader.sources


def read_boot(
    boot: int, now_t: float, booted_t: float, places: LogPlaces = USUAL_PLACES
) -> tuple[LogEvents | None, Source]:
    """The journal of one boot, all of it; None if there is none, and then the source says why."""
    reader = _Reader(Dates(now_t, booted_t if boot == 0 else None), float("-inf"))
    events = read_log(reader.of_boot(places, boot), _PAGE_BYTES)
    return (events if reader.answered else None), reader.sources[0]


_Open = Callable[[Captured], Iterator[str]]


class _Reader:
    def __init__(self, dates: Dates, since_t: float) -> None:
        self._dates = dates
        self._since_t = since_t
        self.sources: list[Source] = []
        self.answered = False

    def lines(self, places: LogPlaces) -> Iterator[LogLine]:
        """Of the first source that has any: all of them hold the same lines."""
        for boot, name in ((-1, "journal of the previous boot"), (0, "journal of this boot")):
            yield from self._taken(name, self._journal(places.journalctl, boot))
        if self.answered:
            return
        for file in FILES:
            path = os.path.join(places.folder, file)
            yield from self._taken(path, lambda captured, path=path: file_lines(path, captured))  # type: ignore[misc]
        if not self.answered:
            yield from self._taken("dmesg", lambda captured: command_lines([places.dmesg], captured))
            self._mind_sleep()

    def of_boot(self, places: LogPlaces, boot: int) -> Iterator[LogLine]:
        yield from self._taken(f"journal of boot {boot}", self._journal(places.journalctl, boot))

    def _journal(self, journalctl: str, boot: int) -> _Open:
        wanted = ["_TRANSPORT=kernel"]
        for daemon in DAEMONS:
            wanted += ["+", f"SYSLOG_IDENTIFIER={daemon}"]
        wanted += ["+", UNIT_OOM_MESSAGE]
        options = ["--no-pager", "-o", "short-unix", "-b", str(boot), "-n", str(MOST_LINES)]
        return lambda captured: command_lines([journalctl, *options, *wanted], captured)

    def _taken(self, name: str, opened: _Open) -> Iterator[LogLine]:
        captured = Captured()
        count, first_t, last_t = 0, None, None
        for line in self._recent(opened(captured)):
            count += 1
            if line.t is not None:
                first_t = line.t if first_t is None else first_t
                last_t = line.t
            yield line
        if count:
            self.answered = True
            cut = f"; {captured.cut_short}" if captured.cut_short else ""
            self.sources.append(Source(name, found=format_number(count, "line") + cut, start_t=first_t, end_t=last_t))
        else:
            self.sources.append(Source(name, missing=_why_nothing(captured)))

    def _recent(self, texts: Iterable[str]) -> Iterator[LogLine]:
        for text in texts:
            line = parse_line(text, self._dates)
            if line is not None and (line.t is None or line.t >= self._since_t):
                yield line

    def _mind_sleep(self) -> None:
        asleep_s = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) - time.clock_gettime(
            time.CLOCK_MONOTONIC
        )
        if self.answered and asleep_s > ASLEEP_S:
            note = f"its times may be late by up to {asleep_s / 60:.0f} min, for which the machine was suspended"
            self.sources.append(Source("dmesg's clock", found=note))


def _why_nothing(captured: Captured) -> str:
    if captured.permission_denied:
        return "permission denied; only root and the groups adm and systemd-journal can read it"
    if captured.missing:
        return "not on this machine"
    if captured.cut_short:
        return captured.cut_short
    return f"empty ({captured.trouble})" if captured.trouble else "empty"
