"""Kills by daemons that act before the kernel does: systemd-oomd, earlyoom, nohang, Talos, and Android's."""

import re
from dataclasses import dataclass
from enum import StrEnum

from memwatch.diagnose.logs.log_lines import LogLine
from memwatch.model.units import KIB, MIB

_OOMD = re.compile(r"(?:Killed|Marked) (?P<cgroup>/.*?) (?:for killing )?due to (?P<reason>.*)")
_OOMD_UNIT = re.compile(r"(?P<unit>\S+): systemd-oomd killed (?:\d+ process|some process)")
_EARLYOOM = re.compile(
    r"(?:sending SIG\w+ to|killing) process (?P<pid>\d+)(?: uid \d+)? \"(?P<name>.*)\"(?: with signal \d+)?: "
    r"(?:badness|oom_score) \d+, VmRSS (?P<mib>\d+) MiB"
)
# Of earlyoom 1.0 and 1.1, and before.
_EARLYOOM_1 = re.compile(
    r"Killing process '?(?P<name>[^',]+)'?(?: with signal \d+)?,? (?:pid: )?\(?(?P<pid>\d+).*?VmRSS: (?P<mib>\d+) MiB"
)
_NOHANG_VICTIM = re.compile(r"\s*PID: +(?P<pid>\d+), [Nn]ame: (?P<name>.*), badness: \d+")
_NOHANG_RSS = re.compile(r"\s*VmRSS: +(?P<mib>\d+) MiB")
_NOHANG_SENT = re.compile(r"\s*Send(?:ing)? (?P<signal>SIG\w+) to the victim")
_TALOS = re.compile(r"\[talos\] Sending SIGKILL to cgroup .*\"cgroup\": \"(?P<cgroup>[^\"]*)\"")
_LMKD = re.compile(r".*lowmemorykiller: Kill(?:ing)? '(?P<name>[^']+)' \((?P<pid>\d+)\).* to free (?P<kib>\d+)kB")

HINT = r"systemd-oomd|\[talos\]|lowmemorykiller|VmRSS"


class Killer(StrEnum):
    OOMD = "systemd-oomd"
    EARLYOOM = "earlyoom"
    NOHANG = "nohang"
    TALOS = "Talos"
    LMKD = "lowmemorykiller"  # of Android


@dataclass(frozen=True, slots=True)
class DaemonKill:
    """systemd-oomd and Talos kill a cgroup; earlyoom and nohang a process."""

    t: float | None
    killer: Killer
    name: str
    pid: int | None = None
    rss_bytes: int | None = None
    reason: str | None = None


@dataclass(slots=True)
class _Victim:
    """Of nohang, which tells about it before it tells what it did."""

    pid: int | None = None
    name: str = "?"
    rss_bytes: int | None = None


class DaemonReader:
    """Takes lines one by one, of the daemons themselves and of those that repeat their words."""

    def __init__(self) -> None:
        self._victim = _Victim()
        self._units: set[str] = set()  # that systemd-oomd has named itself

    def read(self, line: LogLine) -> DaemonKill | None:
        t, text = line.t, line.text.strip()
        if line.who.startswith(Killer.NOHANG):
            return self._nohang(line)
        if (match := _OOMD.match(text)) is not None and (line.who == Killer.OOMD or "memory" in match["reason"]):
            self._units.add(match["cgroup"].rpartition("/")[2])
            return DaemonKill(t, Killer.OOMD, match["cgroup"], reason=match["reason"])
        if (match := _OOMD_UNIT.match(text)) is not None and match["unit"] not in self._units:
            self._units.add(match["unit"])
            return DaemonKill(t, Killer.OOMD, match["unit"])
        if (match := _EARLYOOM.match(text) or _EARLYOOM_1.match(text)) is not None:
            return DaemonKill(t, Killer.EARLYOOM, match["name"], int(match["pid"]), int(match["mib"]) * MIB)
        if (match := _TALOS.match(text)) is not None:
            return DaemonKill(t, Killer.TALOS, match["cgroup"].removeprefix("/sys/fs/cgroup"))
        if (match := _LMKD.match(text)) is not None:
            return DaemonKill(t, Killer.LMKD, match["name"], int(match["pid"]), int(match["kib"]) * KIB)
        return None

    def _nohang(self, line: LogLine) -> DaemonKill | None:
        if (match := _NOHANG_VICTIM.match(line.text)) is not None:
            self._victim = _Victim(int(match["pid"]), match["name"])
        elif (match := _NOHANG_RSS.match(line.text)) is not None:
            self._victim.rss_bytes = int(match["mib"]) * MIB
        elif _NOHANG_SENT.match(line.text) is not None:
            victim, self._victim = self._victim, _Victim()
            return DaemonKill(line.t, Killer.NOHANG, victim.name, victim.pid, victim.rss_bytes)
        return None
