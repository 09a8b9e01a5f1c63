"""Freezes that a record shows only as a gap: the recorder itself did not get to run."""

from memwatch.diagnose.causes.hung import at_least, dirty_advice, hung_in
from memwatch.diagnose.causes.phrases import clock, sentence, share
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding
from memwatch.diagnose.logs.stacks import HungTask, Wait
from memwatch.diagnose.timeline.model import Gap, Stretch, Timeline
from memwatch.model.units import format_duration, format_size

BUSY_CORES_SHARE = 0.9  # of all: there is always something that is not known
WAITED_FOR_DISK_SHARE = 0.5
SHORT_OF_MEMORY_SHARE = 0.1
SHORTEST_STALL_S = 30.0
STALL_SHARE_OF_UPTIME = 0.001


def gap_findings(evidence: Evidence) -> list[Finding]:
    """Those in which programs did not wait for memory, or nobody knows whether they did."""
    stretches = [stretch for line in evidence.timelines for stretch in line.stretches]
    return [
        _gap_finding(line, gap, evidence)
        for line in evidence.timelines
        for gap in line.gaps
        if not any(_meets(stretch, gap) for stretch in stretches)
    ]


def stalls_since_boot(evidence: Evidence) -> list[Finding]:
    """Where there is no record: the counters of the machine as it is now, which do not say when."""
    state = evidence.state
    if state is None or state.uptime_s is None or state.sample.pressure is None:
        return []
    stalled_s = state.sample.pressure.memory_full_us / 1e6
    if stalled_s < max(SHORTEST_STALL_S, STALL_SHARE_OF_UPTIME * state.uptime_s):
        return []
    total = format_duration(stalled_s)
    shown = [f"pressure counters (PSI): all programs stalled for {total}"]
    paging = state.sample.paging
    if paging is not None and paging.swapped_in_pages:
        coming, going = map(format_size, (paging.swapped_in_bytes, paging.swapped_out_bytes))
        shown.append(f"swap counters: {coming} in, {going} out")
    return [
        Finding(
            Cause.MEMORY_STALLS,
            f"Programs stalled on memory for {total} in all since the machine started.",
            f"The kernel has counted it since then, {format_duration(state.uptime_s)} ago; it does not say when.",
            Confidence.LOW,
            tuple(shown),
            ("Keep `memwatch record` running: it would have shown when, and who grew.",),
        )
    ]


def _gap_finding(line: Timeline, gap: Gap, evidence: Evidence) -> Finding:
    shown = (f"{line.name}: no sample from {clock(gap.start_t, evidence.now_t)} to {clock(gap.end_t, evidence.now_t)}",)
    writers = hung_in(Wait.WRITING, gap.start_t, gap.end_t, evidence)
    if writers or (gap.disk_stalled_fraction or 0.0) >= WAITED_FOR_DISK_SHARE:
        return _disk_finding(gap, shown, writers, evidence)
    cores = None if evidence.state is None else evidence.state.cores
    if cores and gap.busy_cores is not None and gap.busy_cores >= BUSY_CORES_SHARE * cores:
        return _cpu_finding(gap, shown, gap.busy_cores, cores)
    return _unexplained(gap, shown)


def _disk_finding(gap: Gap, shown: tuple[str, ...], writers: list[HungTask], evidence: Evidence) -> Finding:
    waited = gap.disk_stalled_fraction
    if waited is not None:
        shown = (*shown, f"all programs waited for the disk {share(waited)} of that time")
    for task in writers[:2]:
        shown = (*shown, f"kernel log: {task.name} ({task.pid}) waited to write{at_least(task.seconds)}")
    why = "programs had written faster than the disk takes it" if writers else "what kept the disk busy is not recorded"
    short = gap.memory_stalled_fraction is None or gap.memory_stalled_fraction >= SHORT_OF_MEMORY_SHARE
    confidence = Confidence.LOW
    if writers:
        confidence = Confidence.HIGH if (waited or 0.0) >= WAITED_FOR_DISK_SHARE else Confidence.MEDIUM
    return Finding(
        Cause.DIRTY_STALL,
        "Everything waited for the disk.",
        sentence([why, None if short else "memory was not short"]),
        confidence,
        shown,
        dirty_advice(evidence),
        gap.start_t,
        gap.end_t,
    )


def _cpu_finding(gap: Gap, shown: tuple[str, ...], busy_cores: float, cores: int) -> Finding:
    return Finding(
        Cause.CPU_SATURATION,
        f"The processor had no time left: {busy_cores:.1f} of {cores} cores were busy.",
        "Programs did not wait for memory or disk; the recorder itself did not get a core.",
        Confidence.LOW,
        shown,
        ("nice -n 10 COMMAND, or `memwatch run`, which does so: the desktop comes first.",),
        gap.start_t,
        gap.end_t,
    )


def _unexplained(gap: Gap, shown: tuple[str, ...]) -> Finding:
    known = ["the recorder did not get to run, or was stopped"]
    if gap.memory_stalled_fraction is not None:
        known.append(f"programs stalled for memory {share(gap.memory_stalled_fraction)} of that time")
    if gap.disk_stalled_fraction is not None:
        known.append(f"for the disk {share(gap.disk_stalled_fraction)}")
    return Finding(
        Cause.UNEXPLAINED_FREEZE,
        f"Nothing could be recorded for {format_duration(gap.end_t - gap.start_t)}.",
        sentence(known),
        Confidence.LOW,
        shown,
        ("Keep `memwatch record` running; when it happens again, the kernel log of that minute may show more.",),
        gap.start_t,
        gap.end_t,
    )


def _meets(stretch: Stretch, gap: Gap) -> bool:
    return stretch.start_t <= gap.end_t and gap.start_t <= stretch.end_t
