"""Kills: by the kernel for the whole machine or for a cgroup, by systemd-oomd, earlyoom or nohang, and by memwatch."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from memwatch.diagnose.causes.memory_shortage import main_grower
from memwatch.diagnose.causes.phrases import clock, listed, sentence
from memwatch.diagnose.evidence import Evidence, Run
from memwatch.diagnose.findings import Cause, Confidence, Finding
from memwatch.diagnose.logs.log_events import DaemonKill, Killer
from memwatch.diagnose.logs.oom import OomKill
from memwatch.diagnose.timeline.growth import Growth
from memwatch.model.units import format_size

ONE_INCIDENT_S = 120.0  # kills that follow one another so closely are one story
SCRIPT_ADVICE = "If it is a Python script: `memwatch diagnose --script FILE` points at the lines that hold everything."

_SESSION = re.compile(r"/(?:user@\d+\.service|session-[\w-]+\.scope|user-\d+\.slice|session\.slice(?:/[^/]*)?)$")
_TERMINAL = re.compile(r"(?i)(?:terminal|konsole|vte-spawn|tmux|kitty|alacritty)")

_T = TypeVar("_T", OomKill, DaemonKill)


def oom_findings(evidence: Evidence, told: Iterable[int]) -> list[Finding]:
    """`told`: victims that another finding has named already, as the ones that grew."""
    known = set(told)
    kills = [kill for kill in _events(evidence, OomKill) if kill.pid not in known and _is_relevant(kill, evidence)]
    found = [_global_finding(group, evidence) for group in _incidents([kill for kill in kills if not kill.in_cgroup])]
    groups = _incidents([kill for kill in kills if kill.in_cgroup], key=lambda kill: kill.cgroup)
    return found + [_cgroup_finding(group, evidence) for group in groups]


def daemon_findings(evidence: Evidence) -> list[Finding]:
    kills = _events(evidence, DaemonKill)
    groups = _incidents([kill for kill in kills if kill.killer == Killer.OOMD])
    found = [_oomd_finding(group, evidence) for group in groups]
    for killer in (Killer.EARLYOOM, Killer.NOHANG):
        groups = _incidents([kill for kill in kills if kill.killer == killer])
        found += [_process_finding(group, evidence) for group in groups]
    return found


def memwatch_findings(evidence: Evidence) -> list[Finding]:
    return [_stopped_finding(run, evidence) for run in evidence.runs if run.stopped_by_memwatch]


def _is_relevant(kill: OomKill, evidence: Evidence) -> bool:
    """Of another cgroup than the run's, a kill has nothing to do with it."""
    return not evidence.is_of_run or not kill.in_cgroup or evidence.run_of(kill.pid) is not None


def _events(evidence: Evidence, kind: type[_T]) -> list[_T]:
    return [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, kind)]


def _incidents(kills: Sequence[_T], key: Callable[[_T], object] = lambda kill: None) -> list[list[_T]]:
    """Kills in a row, of the same key, each soon after the one before."""
    groups: list[list[_T]] = []
    for kill in kills:
        last = next((group for group in reversed(groups) if key(group[-1]) == key(kill)), None)
        if last is not None and (kill.t or 0.0) - (last[-1].t or 0.0) <= ONE_INCIDENT_S:
            last.append(kill)
        else:
            groups.append([kill])
    return groups


def _global_finding(kills: list[OomKill], evidence: Evidence) -> Finding:
    first = kills[0]
    names = _victims(kills, evidence)
    guilty = _guilty(kills, evidence)
    return Finding(
        Cause.OOM_KILL,
        f"Memory ran out and the kernel killed {names}." + _verdict(kills, guilty),
        _why_out(first),
        Confidence.HIGH,
        tuple(_log_lines(kills, evidence)),
        _oom_advice(evidence.name_of(first.pid, first.name) if guilty is None else guilty[0]),
        first.t,
        kills[-1].t,
    )


def _victims(kills: list[OomKill], evidence: Evidence) -> str:
    sizes = [(evidence.name_of(kill.pid, kill.name), kill.pid, format_size(kill.taken_bytes)) for kill in kills]
    return listed([f"{name} ({pid}, {size})" for name, pid, size in sizes])


def _guilty(kills: list[OomKill], evidence: Evidence) -> tuple[str, int] | None:
    """(name, pid) of who took more than any victim, or grew while a victim did not."""
    victims = {kill.pid for kill in kills}
    grower = _grower_before(kills[0], evidence)
    if grower is not None:
        return None if grower.pid in victims else (grower.name, grower.pid)
    bigger = kills[0].bigger
    return None if bigger is None or bigger.pid in victims else (bigger.name, bigger.pid)


def _grower_before(kill: OomKill, evidence: Evidence) -> Growth | None:
    if kill.t is None:
        return None
    for line in evidence.timelines:
        for stretch in line.stretches:
            if stretch.start_t - 10 <= kill.t <= stretch.end_t + 180:
                return main_grower(stretch)
    return None


def _verdict(kills: list[OomKill], guilty: tuple[str, int] | None) -> str:
    if guilty is None:
        return ""
    name, pid = guilty
    victims = listed([kill.name for kill in kills])
    bigger = next((row for row in kills[0].biggest if row.pid == pid), None)
    size = "" if bigger is None else f", with {format_size(bigger.taken_bytes)}"
    return f" The memory was with {name} ({pid}{size}): {victims} {'was' if len(kills) == 1 else 'were'} innocent."


def _why_out(kill: OomKill) -> str:
    swap = None
    if kill.swap_total_bytes == 0:
        swap = "there was no swap"
    elif kill.swap_total_bytes and kill.swap_free_bytes is not None:
        swap = f"of {format_size(kill.swap_total_bytes)} of swap {format_size(kill.swap_free_bytes)} was free"
    ram = None if kill.ram_bytes is None else f"of {format_size(kill.ram_bytes)} of RAM nothing could be freed"
    asked = None if kill.invoked_by is None else f"{kill.invoked_by} asked for more"
    return sentence([asked, ram, swap]) or "The kernel found nothing more to free."


def _log_lines(kills: list[OomKill], evidence: Evidence) -> list[str]:
    now_t = evidence.now_t
    lines = [f"kernel log: oom-kill of {kill.name} ({kill.pid}) at {clock(kill.t, now_t)}" for kill in kills[:3]]
    if len(kills) > 3:
        lines.append(f"kernel log: {len(kills) - 3} more kills until {clock(kills[-1].t, evidence.now_t)}")
    rows = kills[0].biggest[:3]
    if rows:
        biggest = listed([f"{row.name} ({row.pid}) {format_size(row.taken_bytes)}" for row in rows])
        lines.append(f"the biggest then: {biggest}")
    adjusted = kills[0].oom_score_adj
    run = evidence.run_of(kills[0].pid)
    if run is not None:
        lines.append(f"run {run.run_id}: it was of this job, which took {format_size(run.peak_job_bytes or 0)} at most")
    elif adjusted and adjusted > 0:
        lines.append(f"{kills[0].name} had been marked to be killed first (oom_score_adj {adjusted})")
    return lines


def _oom_advice(name: str) -> tuple[str, ...]:
    return (
        f"memwatch run -- {name} ...: it is paused or stopped before memory runs out, and nothing else is.",
        SCRIPT_ADVICE,
    )


def _cgroup_finding(kills: list[OomKill], evidence: Evidence) -> Finding:
    first = kills[0]
    where = "of its cgroup" if first.cgroup is None else f"of {first.cgroup}"
    name, names = evidence.name_of(first.pid, first.name), _victims(kills, evidence)
    limit = None if first.cgroup_limit_bytes is None else f"the limit was {format_size(first.cgroup_limit_bytes)}"
    return Finding(
        Cause.CGROUP_LIMIT,
        f"The memory limit {where} was reached and the kernel killed {names}.",
        sentence([limit, "the rest of the machine was not short of memory, as far as this shows"]),
        Confidence.HIGH,
        tuple(_log_lines(kills, evidence)),
        (
            "Raise the limit (docker run --memory, MemoryMax= of a unit), if the job is meant to take more.",
            f"Or make it take less: memwatch run -- {name} ... warns before the limit is reached.",
        ),
        first.t,
        kills[-1].t,
    )


def _oomd_finding(kills: list[DaemonKill], evidence: Evidence) -> Finding:
    names = [kill.name for kill in kills]
    session = next((name for name in names if _SESSION.search(name)), None)
    terminal = next((name for name in names if _TERMINAL.search(name)), None)
    what = f"systemd-oomd killed {listed([_unit(name) for name in names])}"
    if session is not None:
        what += ": the whole session, with everything in it."
    elif terminal is not None:
        what += ": a terminal, with everything that ran in it."
    else:
        what += ", with every process in it."
    return Finding(
        Cause.OOMD_KILL,
        what,
        sentence([kills[0].reason]) or "Its limit of memory pressure, or of swap, was reached.",
        Confidence.HIGH,
        tuple(f"systemd-oomd's log at {clock(kill.t, evidence.now_t)}: killed {kill.name}" for kill in kills[:3]),
        (
            "memwatch run -- COMMAND: the job alone is paused or stopped, before oomd takes everything around it.",
            "systemd-run --user --scope COMMAND: the job gets a cgroup of its own, so that oomd can kill it alone.",
        ),
        kills[0].t,
        kills[-1].t,
    )


def _unit(path: str) -> str:
    return path.rpartition("/")[2] or path


def _process_finding(kills: list[DaemonKill], evidence: Evidence) -> Finding:
    killer = kills[0].killer
    sizes = [f"{kill.name} ({kill.pid}" + ("" if kill.rss_bytes is None else f", {format_size(kill.rss_bytes)}") + ")"
             for kill in kills]  # fmt: skip
    return Finding(
        Cause.DAEMON_KILL,
        f"{killer} told {listed(list(dict.fromkeys(sizes)))} to end, because memory was nearly gone.",
        f"{killer} watches free memory and swap, and ends what it holds to be the biggest.",
        Confidence.HIGH,
        tuple(f"{killer}'s log at {clock(kill.t, evidence.now_t)}" for kill in kills[:3]),
        ("memwatch run -- COMMAND: the job that grows is paused first, and nothing else is touched.",),
        kills[0].t,
        kills[-1].t,
    )


def _stopped_finding(run: Run, evidence: Evidence) -> Finding:
    peak = "" if run.peak_job_bytes is None else f" at {format_size(run.peak_job_bytes)}"
    done = listed([f"{name} at {clock(t, evidence.now_t)}" for name, t in run.actions], most=4) if run.actions else ""
    return Finding(
        Cause.STOPPED_BY_MEMWATCH,
        f"memwatch stopped {run.name}{peak}, before memory ran out.",
        sentence([run.stop_reason]) or "Too little memory was left.",
        Confidence.HIGH,
        (f"run {run.run_id}: {done}" if done else f"run {run.run_id}",),
        (
            SCRIPT_ADVICE,
            "If it needs that much: close what else is big, or give it a smaller --reserve.",
        ),
        run.started_t if run.stopped_t is None else run.stopped_t,
        run.ended_t,
    )
