"""Kills that others than the kernel report: daemons that act before it does (systemd-oomd, earlyoom, nohang, Talos,
Android's), and whoever runs the job (systemd, Kubernetes, Docker, Slurm and other batch systems)."""

import re
from dataclasses import dataclass
from enum import StrEnum

from memwatch.diagnose.logs.fault_values import ManagedKill, Manager
from memwatch.diagnose.logs.log_lines import LogLine
from memwatch.model.units import KIB, MIB, format_size

# Searched for anywhere in a line: people quote these in a sentence.
_KILLS = tuple(
    (manager, re.compile(pattern))
    for manager, pattern in (
        (
            Manager.SYSTEMD,
            r"(?P<what>[\w.@:\\-]+\.(?:service|scope|slice|mount)): (?:A process of this unit has been killed by"
            r" the OOM killer|The kernel OOM killer killed some processes|Failed with result 'oom-kill')",
        ),
        (Manager.SLURM, r"Detected \d+ oom[-_]kill events?(?:\(s\))? in (?:StepId=|step )(?P<what>[\w.+]+?)\.?(?: |$)"),
        (Manager.SLURM, r"slurm\w*: error: .*?(?:(?P<what>\d[\d.]*\w*) )?exceeded (?:job |step )?memory limit"),
        (Manager.SLURM, r"Exceeded (?:job|step) memory limit"),
        (Manager.SLURM, r"\bState: OUT_OF_MEMORY\b|^\s*(?P<what>\d[\w.+]*) .*\bOUT_OF_ME(?:M\w*|\+)"),
        (Manager.KUBERNETES, r"System ?OOM encountered, victim process: (?P<victim>[^,]+), pid: \d+"),
        (Manager.KUBERNETES, r"Cgroup ?OOM encountered, victim process: (?P<what>[^,]+), pid: \d+"),
        (Manager.KUBERNETES, r"^\s*\"?[Rr]eason\"?:\s+\"?OOM ?Killed\"?,?$"),
        (Manager.KUBERNETES, r"^(?:\S+ +)?(?P<what>[a-z\d][\w.-]+) +\d+/\d+ +OOMKilled +\d"),
        (Manager.DOCKER, r"^\s*\"?OOMKilled\"?: ?true"),
        (Manager.CONTAINERD, r"TaskOOM event"),
        (Manager.KUBELET, r"Created an OOM event in container"),
        (Manager.FLUX, r"flux-shell\[\d+\]: .*Memory cgroup out of memory: killed \d+ task"),
        (Manager.PBS, r"=>> PBS: job killed: (?:v?mem|pmem) (?P<size>\d+[kmgt]?b) exceeded limit"),
        (Manager.LSF, r"TERM_MEMLIMIT: job killed"),
        (Manager.SHELL, r"^(?:\S+: )?line \d+: +\d+ Killed\b|^zsh: killed\b|^\[\d+\] *[+-]? +\d+ killed\b|^Killed$"),
        (Manager.SHELL, r"Killed signal terminated program (?P<victim>\S+)|\(signal: 9, SIGKILL: kill\)"),
        (Manager.SHELL, r"DataLoader worker \(pid(?:\(s\))? \d+\) is killed by signal: Killed|exitcode *: -9 \(pid"),
        (Manager.SHELL, r"was sent SIGKILL! Perhaps out of memory|Command terminated by signal 9\b"),
        (
            Manager.YARN,
            r"Container killed by YARN for exceeding (?:physical |virtual )?memory limits\. (?P<size>[\d.]+ ?[KMGT]B)?",
        ),
        (Manager.YARN, r"is running (?:\d+B )?beyond the '?(?:PHYSICAL|VIRTUAL|physical|virtual)'? memory limits?"),
        (Manager.ECS, r"OutOfMemoryError: Container killed due to memory usage"),
        (Manager.TALOS, r"\[talos\] OOM controller triggered"),
        (Manager.CONDOR, r"Job has gone over (?:cgroup )?memory limit of (?P<size>\d+ \w+)"),
    )
)
_EVICTED = re.compile(r"The node was low on resource: memory")
_PEAK = re.compile(r"oom: memory\.peak = (?P<size>\S+)")  # of Flux, after the line of the kill

MANAGED_HINT = (
    r"OOM|oom|memory limit|OUT_OF_ME|job killed|low on resource|memory\.peak|Killed|killed|SIGKILL|signal 9|"
    r"exitcode|memory usage"
)


def read_managed_line(t: float | None, text: str) -> ManagedKill | None:
    for manager, pattern in _KILLS:
        if (match := pattern.search(text)) is not None:
            found = match.groupdict()
            return ManagedKill(t, manager, found.get("what") or "", found.get("victim"), found.get("size"))
    if _EVICTED.search(text) is not None:
        return ManagedKill(t, Manager.KUBERNETES, "", is_eviction=True)
    if (peak := _PEAK.search(text)) is not None:
        return ManagedKill(t, Manager.FLUX, "", size=peak["size"])
    return None


_OOMD = re.compile(r"(?:Killed|Marked) (?P<cgroup>/.*?) (?:for killing )?due to (?P<reason>.*)")
# Of systemd 247 and 248, which kill a cgroup below the one they name, and do not say which.
_OOMD_OLD = re.compile(
    r"(?P<reason>Memory pressure for (?P<cgroup>/\S*) is greater than \d+ for more than \d+ seconds and there was"
    r" reclaim activity|Swap used \(\d+\) / total \(\d+\) is more than \d+%)"
)
_OOMD_UNIT = re.compile(r"(?P<unit>\S+): systemd-oomd killed (?:\d+ process|some process)")
_EARLYOOM = re.compile(
    r"(?:sending SIG\w+ to|killing) process (?P<pid>\d+)(?: uid \d+)? \"(?P<name>.*)\"(?: with signal \d+)?: "
    r"(?:badness|oom_score) \d+, VmRSS (?P<mib>\d+) MiB"
)
# Of earlyoom 1.0 and 1.1, and before.
_EARLYOOM_1 = re.compile(
    r"Killing process:? '?(?P<name>[^',]+)'?(?: with signal \d+)?,? (?:pid: )?\(?(?P<pid>\d+).*?VmRSS: (?P<mib>\d+) MiB"
)
# What earlyoom says before it acts: how much was left, and from which shares on it acts.
_AVAILABLE = re.compile(
    r"mem avail: +(?P<mem>\d+) of +(?P<total>\d+) MiB \( *[\d.]+ ?%\), swap free: +(?P<swap>\d+) of +(?P<swaps>\d+) MiB"
)
_AT_LIMITS = re.compile(
    r"(?i)low memory! at or below sig(?:term|kill) limits:? \(?mem:? (?P<mem>[\d.]+) ?%, swap:?"
    r" (?P<swap>[\d.]+) ?%"
)
# What systemd-oomd says of each candidate, before it acts.
_CANDIDATE = re.compile(r"Path: (?P<path>/.*)")
_CANDIDATE_USE = re.compile(r"(?P<what>Swap Usage|Current Memory Usage|Pressure): (?P<size>.*)")
_NOHANG_VICTIM = re.compile(r"\s*PID: +(?P<pid>\d+), [Nn]ame: (?P<name>.*), badness: \d+")
_NOHANG_RSS = re.compile(r"\s*VmRSS: +(?P<mib>\d+) MiB")
_NOHANG_SENT = re.compile(r"\s*Send(?:ing)? (?P<signal>SIG\w+) to the victim")
_TALOS = re.compile(r"\[talos\] Sending SIGKILL to cgroup .*\"cgroup\": \"(?P<cgroup>[^\"]*)\"")
_LMKD = re.compile(r".*lowmemorykiller: Kill(?:ing)? '(?P<name>[^']+)' \((?P<pid>\d+)\).* to free (?P<kib>\d+)kB")

HINT = r"mem avail:|ow [Mm]emory!|systemd-oomd|\[talos\]|lowmemorykiller|VmRSS"


MOST_CANDIDATES = 64  # that are remembered; systemd-oomd names ten at a time


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
    """Of nohang, which describes the state before it reports the action."""

    pid: int | None = None
    name: str = "?"
    rss_bytes: int | None = None


class DaemonReader:
    """Takes lines one by one, of the daemons themselves and of those that repeat their words."""

    def __init__(self) -> None:
        self._victim = _Victim()
        self._left: str | None = None  # how much there was before earlyoom acts
        self._shares: str | None = None
        self._candidate = ""
        self._uses: dict[str, str] = {}  # of systemd-oomd's candidates, by unit
        self._units: set[str] = set()  # that systemd-oomd has named itself

    def read(self, line: LogLine) -> DaemonKill | None:
        t, text = line.t, line.text.strip()
        if line.who.startswith(Killer.NOHANG):
            return self._nohang(line)
        self._note_figures(text)
        if (match := _OOMD.match(text)) is not None and (line.who == Killer.OOMD or "memory" in match["reason"]):
            self._units.add(match["cgroup"].rpartition("/")[2])
            return DaemonKill(t, Killer.OOMD, match["cgroup"], reason=match["reason"])
        if line.who == Killer.OOMD and (match := _OOMD_OLD.match(text)) is not None:
            below = match["cgroup"] or "/"
            return DaemonKill(t, Killer.OOMD, f"a cgroup below {below}", reason=match["reason"])
        if (match := _OOMD_UNIT.match(text)) is not None and match["unit"] not in self._units:
            self._units.add(match["unit"])
            use = self._uses.get(match["unit"])
            reason = None if use is None else f"a limit of memory pressure, or of swap, was reached: {use}"
            return DaemonKill(t, Killer.OOMD, match["unit"], reason=reason)
        if (match := _EARLYOOM.match(text) or _EARLYOOM_1.match(text)) is not None:
            reason = "; ".join(each for each in (self._left, self._shares) if each) or None
            return DaemonKill(t, Killer.EARLYOOM, match["name"], int(match["pid"]), int(match["mib"]) * MIB, reason)
        if (match := _TALOS.match(text)) is not None:
            return DaemonKill(t, Killer.TALOS, match["cgroup"].removeprefix("/sys/fs/cgroup"))
        if (match := _LMKD.match(text)) is not None:
            return DaemonKill(t, Killer.LMKD, match["name"], int(match["pid"]), int(match["kib"]) * KIB)
        return None

    def _note_figures(self, text: str) -> None:
        if (left := _AVAILABLE.match(text)) is not None:
            memory, total, swap, swaps = (int(left[key]) * MIB for key in ("mem", "total", "swap", "swaps"))
            of_swap = f" and {format_size(swap)} of {format_size(swaps)} of swap" if swaps else ", and there is no swap"
            self._left = f"{format_size(memory)} of {format_size(total)} of memory was available{of_swap}"
        elif (shares := _AT_LIMITS.match(text)) is not None:
            memory_share, swap_share = float(shares["mem"]), float(shares["swap"])
            self._shares = f"earlyoom acts at {memory_share:g} % of memory and {swap_share:g} % of swap"
        elif (candidate := _CANDIDATE.match(text)) is not None:
            self._candidate = candidate["path"].rpartition("/")[2]
        elif self._candidate and (use := _CANDIDATE_USE.match(text)) is not None:
            before = self._uses.get(self._candidate)
            said = f"{use['what'].lower()} {use['size']}"
            self._uses = {**dict(list(self._uses.items())[-MOST_CANDIDATES:]),
                          self._candidate: said if before is None else f"{before}, {said}"}  # fmt: skip

    def _nohang(self, line: LogLine) -> DaemonKill | None:
        if (match := _NOHANG_VICTIM.match(line.text)) is not None:
            self._victim = _Victim(int(match["pid"]), match["name"])
        elif (match := _NOHANG_RSS.match(line.text)) is not None:
            self._victim.rss_bytes = int(match["mib"]) * MIB
        elif _NOHANG_SENT.match(line.text) is not None:
            victim, self._victim = self._victim, _Victim()
            return DaemonKill(line.t, Killer.NOHANG, victim.name, victim.pid, victim.rss_bytes)
        return None
