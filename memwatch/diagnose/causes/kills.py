"""Kills by systemd-oomd, earlyoom, nohang and Talos, and by memwatch itself. The kernel's own are in causes/oom.py."""

import re
from collections.abc import Sequence

from memwatch.diagnose.causes.oom_advice import script_advice
from memwatch.diagnose.causes.oom_holder import ONE_INCIDENT_S
from memwatch.diagnose.causes.phrases import clock, forecast_of, growth, listed, moment, sentence, took
from memwatch.diagnose.evidence import Evidence, Run
from memwatch.diagnose.findings import Cause, Confidence, Finding, chosen
from memwatch.diagnose.logs.daemon_lines import DaemonKill, Killer
from memwatch.diagnose.logs.oom_kill import SMALL_VICTIM_BYTES
from memwatch.model.units import format_size

_SESSION = re.compile(r"/(?:user@\d+\.service|session-[\w-]+\.scope|user-\d+\.slice|session\.slice(?:/[^/]*)?)$")
_PATH = re.compile(r"(?<![\w/])/[^\s,;]+")
_TERMINAL = re.compile(r"(?i)(?:terminal|konsole|vte-spawn|tmux|kitty|alacritty)")


def daemon_findings(evidence: Evidence) -> list[Finding]:
    events = () if evidence.log is None else evidence.log.events
    kills = [event for event in events if isinstance(event, DaemonKill)]
    groups = _incidents([kill for kill in kills if kill.killer == Killer.OOMD])
    found = [_oomd_finding(group, evidence) for group in groups]
    for killer in (Killer.EARLYOOM, Killer.NOHANG, Killer.LMKD):
        groups = _incidents([kill for kill in kills if kill.killer == killer])
        found += [_process_finding(group, evidence) for group in groups]
    groups = _incidents([kill for kill in kills if kill.killer == Killer.TALOS])
    return found + [_talos_finding(group, evidence) for group in groups]


def memwatch_findings(evidence: Evidence) -> list[Finding]:
    return [_stopped_finding(run, evidence) for run in evidence.runs if run.stopped_by_memwatch]


def _incidents(kills: Sequence[DaemonKill]) -> list[list[DaemonKill]]:
    """Kills in a row, each soon after the one before."""
    groups: list[list[DaemonKill]] = []
    for kill in kills:
        if groups and (kill.t or 0.0) - (groups[-1][-1].t or 0.0) <= ONE_INCIDENT_S:
            groups[-1].append(kill)
        else:
            groups.append([kill])
    return groups


def _oomd_finding(kills: list[DaemonKill], evidence: Evidence) -> Finding:
    names = [kill.name for kill in kills]
    session = next((name for name in names if _SESSION.search(name) and " " not in name), None)
    terminal = next((name for name in names if _TERMINAL.search(name)), None)
    what = f"systemd-oomd killed {listed([chosen(_unit(name)) for name in names])}"
    if session is not None:
        what += ": the whole session, with everything in it."
    elif terminal is not None:
        what += ": a terminal, with everything that ran in it."
    else:
        what += ", with every process in it."
    return Finding(
        Cause.OOMD_KILL,
        what,
        sentence([_PATH.sub(lambda path: chosen(path[0]), kills[0].reason or "")])
        or "Its limit of memory pressure, or of swap, was reached.",
        Confidence.HIGH,
        tuple(f"systemd-oomd's log{moment(kill.t, evidence.now_t)}: killed {chosen(kill.name)}" for kill in kills[:3]),
        (
            "memwatch run -- COMMAND: the job alone is paused or stopped, before oomd takes everything around it.",
            "systemd-run --user --scope COMMAND: the job gets a cgroup of its own, so that oomd can kill it alone.",
        ),
        kills[0].t,
        kills[-1].t,
    )


def _unit(path: str) -> str:
    return path if " " in path else path.rpartition("/")[2] or path


def _talos_finding(kills: list[DaemonKill], evidence: Evidence) -> Finding:
    names = listed([chosen(unit) for unit in dict.fromkeys(_unit(kill.name) for kill in kills)])
    return Finding(
        Cause.DAEMON_KILL,
        f"Talos killed {names}, with every process in it (OOMController).",
        "Its OOM controller acts when programs stall for memory (PSI); memory itself need not be used up.",
        Confidence.HIGH,
        tuple(f"Talos log{moment(kill.t, evidence.now_t)}: killed {chosen(kill.name)}" for kill in kills[:3]),
        (
            "talosctl get oomactions: shows what triggered it.",
            "talosctl cgroups --preset memory: shows which pod takes the memory; give it resources.limits.memory.",
        ),
        kills[0].t,
        kills[-1].t,
    )


def _process_finding(kills: list[DaemonKill], evidence: Evidence) -> Finding:
    killer = kills[0].killer
    sizes = [f"{kill.name} ({kill.pid or 'pid not in this log'}"
             + ("" if kill.rss_bytes is None else f", {format_size(kill.rss_bytes)}") + ")"
             for kill in kills]  # fmt: skip
    biggest = max(kills, key=lambda kill: kill.rss_bytes or 0)
    command = "COMMAND" if biggest.name == "?" else f"{biggest.name} ..."
    return Finding(
        Cause.DAEMON_KILL,
        f"{killer} stopped {listed(list(dict.fromkeys(sizes)))}, because memory was nearly used up.",
        sentence([kills[0].reason, "it stops the process with the highest OOM score"], starts_with_name=True)
        if kills[0].reason
        else f"{killer} watches free memory and swap, and stops the process with the highest OOM score.",
        Confidence.HIGH,
        tuple(f"{killer}'s log{moment(kill.t, evidence.now_t)}" for kill in kills[:3]),
        (
            "ps -eo rss,comm --sort=-rss | head; smem -s swap -r | head: show who holds RAM and swap. The victim is too"
            " small to be the reason.",
        )
        if (biggest.rss_bytes or SMALL_VICTIM_BYTES) < SMALL_VICTIM_BYTES
        else (f"memwatch run -- {command}: the job that grows is paused first, and nothing else is touched.",),
        kills[0].t,
        kills[-1].t,
    )


def _stopped_finding(run: Run, evidence: Evidence) -> Finding:
    peak = "" if run.peak_job_bytes is None else f" at {format_size(run.peak_job_bytes)}"
    done = listed([f"{name} at {clock(t, evidence.now_t)}" for name, t in run.actions], most=4) if run.actions else ""
    grew = _grew(run, evidence)
    return Finding(
        Cause.STOPPED_BY_MEMWATCH,
        f"memwatch stopped {run.name}{peak}, before memory ran out.",
        sentence([grew, *_reasons(run)], starts_with_name=grew is not None) or "Too little memory was left.",
        Confidence.HIGH,
        (f"run {run.run_id}: {done}" if done else f"run {run.run_id}", *forecast_of(run, evidence.now_t)),
        (
            f"memwatch replay {run.run_id}: shows how it grew; `memwatch diagnose {run.run_id}` has this run alone.",
            *script_advice(run.name),
            "If it needs that much: close other large programs, or give it a smaller --reserve.",
        ),
        run.started_t if run.stopped_t is None else run.stopped_t,
        run.ended_t,
    )


def _reasons(run: Run) -> list[str]:
    """Why memwatch acted, and then why it stopped the job: the second alone may only say that the first went on."""
    first, last = (run.first_reason or "").rstrip("."), (run.stop_reason or "").rstrip(".")
    if not first or last.lower().startswith(first.lower()):
        return [last] if last else []
    return [first, f"then {last[:1].lower()}{last[1:]}"] if last else [first]


def _grew(run: Run, evidence: Evidence) -> str | None:
    """From what to what, in what time: a reason that only says that there was no room explains nothing."""
    for line in evidence.timelines:
        if line.name != f"run {run.run_id}" or not line.growers:
            continue
        most = line.growers[0]
        span = took(most.from_t, most.to_t)
        return f"{most.name} grew {growth(most.from_bytes, most.to_bytes)}" + ("" if span is None else f" in {span}")
    return None
