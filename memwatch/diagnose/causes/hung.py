"""Hung tasks: what the kernel found to wait for minutes; and cores that were stuck, or too few."""

from memwatch.diagnose.causes.phrases import clock, listed
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding
from memwatch.diagnose.logs.log_events import HungTask, Lockup, Wait
from memwatch.model.units import GIB, format_size

BUSY_CPU_PERCENT = 80.0
NEAR_S = 300.0  # the kernel takes two minutes to notice, and repeats itself
MUCH_DIRTY_BYTES = 2 * GIB

_WAITS = {
    Wait.WRITING: (
        Cause.DIRTY_STALL,
        "Their stacks show that they waited for data to be written.",
        Confidence.MEDIUM,
    ),
    Wait.MEMORY: (
        Cause.MEMORY_STALLS,
        "Their stacks show that the kernel was making room in memory for them, or reading back what was swapped out.",
        Confidence.MEDIUM,
    ),
    Wait.UNKNOWN: (
        Cause.HUNG_TASKS,
        "What they waited for does not show in the log: a disk, the network, or a driver.",
        Confidence.LOW,
    ),
}


def hung_in(wait: Wait, start_t: float, end_t: float, evidence: Evidence) -> list[HungTask]:
    """Tasks that were found to hang by the end of that time, or soon after: the kernel waits two minutes to say so."""
    return [
        task
        for task in _hung_tasks(evidence)
        if task.wait == wait and task.t is not None and start_t <= task.t <= end_t + task.seconds + 60
    ]


def hung_findings(evidence: Evidence, explained: list[Finding]) -> list[Finding]:
    """Hung tasks that no other freeze explains: alone they tell that something waited, and at times for what."""
    freezes = [finding for finding in explained if finding.is_freeze]
    left = [task for task in _hung_tasks(evidence) if not any(_is_near(task.t, finding) for finding in freezes)]
    groups = {wait: [task for task in left if task.wait == wait] for wait in Wait}
    return [_hung_finding(wait, tasks, evidence) for wait, tasks in groups.items() if tasks]


def lockup_findings(evidence: Evidence) -> list[Finding]:
    lockups = [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, Lockup)]
    if not lockups:
        return []
    names = listed(list(dict.fromkeys(event.name for event in lockups)))
    times = [event.t for event in lockups if event.t is not None]
    longest_s = max(event.seconds for event in lockups)
    shown = [f"soft lockup of core {event.cpu} at {clock(event.t, evidence.now_t)}" for event in lockups[:3]]
    return [
        Finding(
            Cause.CPU_SATURATION,
            f"A core was stuck in the same place for up to {longest_s} s: {names}.",
            "A driver, or a virtual machine whose host gave it no time.",
            Confidence.MEDIUM,
            tuple(f"kernel log: {line}" for line in shown),
            ("Look at what the kernel log says around that time; update the driver it names.",),
            min(times, default=None),
            max(times, default=None),
        )
    ]


def busy_now_findings(evidence: Evidence) -> list[Finding]:
    state = evidence.state
    if state is None or state.cpu_some_avg300 is None or state.cpu_some_avg300 < BUSY_CPU_PERCENT:
        return []
    return [
        Finding(
            Cause.CPU_SATURATION,
            f"Right now some program waits for a core {state.cpu_some_avg300:.0f} % of the time.",
            "There is more to do than the processor can; that makes a desktop slow, and seldom freezes it.",
            Confidence.LOW,
            ("pressure (PSI) of the processor over the last five minutes",),
            ("nice -n 10 COMMAND, or `memwatch run`, which does so: the desktop comes first.",),
            evidence.now_t - 300,
            evidence.now_t,
        )
    ]


def dirty_advice(evidence: Evidence) -> tuple[str, ...]:
    advice = ["sysctl vm.dirty_bytes=268435456 vm.dirty_background_bytes=67108864: less is left waiting to be written."]
    state = evidence.state
    if state is not None and state.sample.memory is not None:
        limit = state.settings.dirty_limit_bytes(state.sample.memory.available_bytes)
        if limit is not None and limit >= MUCH_DIRTY_BYTES:
            advice.append(f"Now up to {format_size(limit)} may wait to be written before a program has to wait.")
    return tuple(advice)


def _hung_tasks(evidence: Evidence) -> list[HungTask]:
    return [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, HungTask)]


def _hung_finding(wait: Wait, tasks: list[HungTask], evidence: Evidence) -> Finding:
    cause, why, confidence = _WAITS[wait]
    names = listed(list(dict.fromkeys(f"{task.name} ({task.pid})" for task in tasks)))
    times = [task.t for task in tasks if task.t is not None]
    record = "Keep `memwatch record` running: it would have shown memory, swap and disk at that time."
    return Finding(
        cause,
        f"Programs hung for {max(task.seconds for task in tasks)} s and more: {names}.",
        why,
        confidence,
        tuple(f"kernel log: {task.name} ({task.pid}) blocked at {clock(task.t, evidence.now_t)}" for task in tasks[:3]),
        (*dirty_advice(evidence), record) if wait == Wait.WRITING else (record,),
        # The kernel speaks up only after so many seconds: that is when it began.
        min((task.t - task.seconds for task in tasks if task.t is not None), default=None),
        max(times, default=None),
    )


def _is_near(t: float | None, finding: Finding) -> bool:
    if t is None or finding.start_t is None or finding.end_t is None:
        return False
    return finding.start_t - NEAR_S <= t <= finding.end_t + NEAR_S
