"""Diagnose: from evidence to what happened, what is ruled out, and what is not known. Nothing is claimed that the
evidence does not show; where it is silent, what would have spoken is named."""

from memwatch.diagnose.causes.allocations import allocation_findings
from memwatch.diagnose.causes.devices import disk_findings, gpu_memory_findings, gpu_ruled_out
from memwatch.diagnose.causes.freeze import gap_findings, stalls_since_boot
from memwatch.diagnose.causes.graphics import gpu_error_findings, gpu_hang_findings
from memwatch.diagnose.causes.hung import busy_now_findings, hung_findings
from memwatch.diagnose.causes.kernel_bug import kernel_bug_findings
from memwatch.diagnose.causes.kills import daemon_findings, memwatch_findings
from memwatch.diagnose.causes.managed_kills import managed_kill_findings
from memwatch.diagnose.causes.memory_shortage import kills_in, main_grower, stretch_findings
from memwatch.diagnose.causes.oom import oom_findings
from memwatch.diagnose.causes.phrases import clock
from memwatch.diagnose.causes.processor import hardware_findings, lockup_findings, overheating_findings
from memwatch.diagnose.causes.storage import disk_fault_findings
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Diagnosis, Finding
from memwatch.diagnose.logs.daemon_lines import DaemonKill
from memwatch.diagnose.logs.fault_values import ManagedKill
from memwatch.diagnose.logs.oom_kill import OomKill
from memwatch.diagnose.timeline.model import GpuUse, Strain, Timeline
from memwatch.model.units import format_size

SHOWN_FINDINGS = 12
SHOWN_SLEEPS = 2
_BY_CONFIDENCE = list(Confidence)
_BY_CAUSE = list(Cause)
_OF_MEMORY = {
    Cause.SWAP_THRASHING,
    Cause.PAGE_CACHE_CHURN,
    Cause.OOM_KILL,
    Cause.CGROUP_LIMIT,
    Cause.OOM_UNKNOWN_LIMIT,
    Cause.STOPPED_BY_MEMWATCH,
    Cause.DAEMON_KILL,
    Cause.OOMD_KILL,
}


def diagnose(evidence: Evidence) -> Diagnosis:
    found = _findings(evidence)
    kept = [finding.settled() for finding in found if _is_asked_about(finding, evidence)]
    return Diagnosis(
        tuple(kept[:SHOWN_FINDINGS]),
        () if evidence.is_pasted else tuple(_ruled_out(evidence, kept)),
        _left_open(kept) if evidence.is_pasted else (*_left_open(kept), *_not_known(evidence, kept)),
        evidence.sources,
        evidence.is_pasted,
    )


def _left_open(found: list[Finding]) -> tuple[str, ...]:
    """What the findings themselves could not tell. A pasted log is a part of a log, so it rules nothing out, and what
    this machine could have recorded does not matter."""
    return tuple(dict.fromkeys(missing for finding in found for missing in finding.missing))


def _findings(evidence: Evidence) -> list[Finding]:
    stretches = stretch_findings(evidence)
    found = [
        *stretches,
        *gap_findings(evidence),
        *oom_findings(evidence, _told_victims(evidence)),
        *managed_kill_findings(evidence),
        *daemon_findings(evidence),
        *memwatch_findings(evidence),
        *disk_fault_findings(evidence),
        *disk_findings(evidence),
        *gpu_error_findings(evidence),
        *gpu_hang_findings(evidence),
        *gpu_memory_findings(evidence),
        *kernel_bug_findings(evidence),
        *lockup_findings(evidence),
        *hardware_findings(evidence),
        *overheating_findings(evidence),
        *allocation_findings(evidence),
    ]
    found += hung_findings(evidence, found)
    if not any(finding.cause in _OF_MEMORY for finding in found):
        found += stalls_since_boot(evidence)
    # What is busy now did not freeze anything then; it is worth a word only where there is nothing else to say.
    return sorted(found or busy_now_findings(evidence), key=_rank)


def _rank(finding: Finding) -> tuple[int, int, float]:
    """The sort key of a finding: the surest first, then the worst kind, then the latest."""
    return (
        _BY_CONFIDENCE.index(finding.confidence),
        _BY_CAUSE.index(finding.cause),
        -(finding.end_t or finding.start_t or 0.0),
    )


def _told_victims(evidence: Evidence) -> set[int | None]:
    """Those killed in a stretch in which they were the ones that grew: that finding tells of the kill."""
    told: set[int | None] = set()
    for line in evidence.timelines:
        for stretch in line.stretches:
            grower = main_grower(stretch)
            told |= {kill.pid for kill in kills_in(stretch, evidence) if grower is not None and kill.pid == grower.pid}
    return told


def _is_asked_about(finding: Finding, evidence: Evidence) -> bool:
    """Whether a finding is of the time asked about. One without a time counts, unless the question is about a run."""
    if evidence.is_of_run and finding.start_t is None:
        return False
    late = evidence.end_t is not None and finding.start_t is not None and finding.start_t > evidence.end_t
    early = evidence.start_t is not None and finding.end_t is not None and finding.end_t < evidence.start_t
    return not late and not early


def _ruled_out(evidence: Evidence, found: list[Finding]) -> list[str]:
    causes = {finding.cause for finding in found}
    out = []
    gpu = (
        None
        if causes & {Cause.GPU_XID, Cause.GPU_HANG, Cause.GPU_MEMORY}
        else gpu_ruled_out(evidence, _gpus_then(evidence))
    )
    if gpu is not None:
        out.append(gpu)
    if Cause.DISK_FULL not in causes and (disk := _roomy_disk(evidence)) is not None:
        out.append(disk)
    log = evidence.log
    if log is not None and log.lines and not any(isinstance(event, OomKill | ManagedKill) for event in log.events):
        out.append("OOM kill (none in the kernel log)")
    seen = [line for line in evidence.timelines if line.knows_paging and line.samples > 1]
    if seen and not any(stretch.strain == Strain.SWAP for line in seen for stretch in line.stretches):
        out.append(f"swap thrashing ({_span(seen, evidence)}: never in and out at once for long)")
    for sleep in [sleep for line in evidence.timelines for sleep in line.sleeps][-SHOWN_SLEEPS:]:
        span = f"{clock(sleep.start_t, evidence.now_t)} - {clock(sleep.end_t, evidence.now_t)}"
        out.append(f"a freeze {span} (the machine was suspended, or its clock was set)")
    return out


def _gpus_then(evidence: Evidence) -> tuple[GpuUse, ...] | None:
    """What the cards did in the freezes that were recorded, or else in all that was."""
    strained = [stretch for line in evidence.timelines for stretch in line.stretches]
    for known in (strained, list(evidence.timelines)):
        uses = [use for each in known if each.gpus is not None for use in each.gpus]
        if any(each.gpus is not None for each in known):
            return tuple(uses)
    state = evidence.state
    return () if state is not None and state.sample.gpus == () else None


def _roomy_disk(evidence: Evidence) -> str | None:
    disks = () if evidence.state is None else evidence.state.disks
    if not disks:
        return None
    tightest = min(disks, key=lambda disk: disk.free_bytes)
    return f"disk full ({format_size(tightest.free_bytes)} free on {tightest.path})"


def _span(lines: list[Timeline], evidence: Evidence) -> str:
    starts = [line.start_t for line in lines if line.start_t is not None]
    ends = [line.end_t for line in lines if line.end_t is not None]
    return f"{clock(min(starts, default=None), evidence.now_t)} - {clock(max(ends, default=None), evidence.now_t)}"


def _not_known(evidence: Evidence, found: list[Finding]) -> list[str]:
    unknown = []
    memory = [finding for finding in found if finding.cause in _OF_MEMORY]
    if memory:
        unknown.append(f"which line allocated: `memray run {_script_of(evidence)}` shows it")
    if not any(line.samples for line in evidence.timelines):
        unknown.append("what memory did before: `memwatch record`, kept running, would have shown it")
    if evidence.log is None:
        unknown.append(
            "what the kernel logged: no log of that time can be read here (root, and the groups adm and"
            " systemd-journal, can)"
        )
    for cut in [cut for line in evidence.timelines for cut in line.cuts][-2:]:
        left = "" if cut.available_bytes is None else f", with {format_size(cut.available_bytes)} of memory available"
        why = "the machine went down" if cut.rebooted else "the recording stopped"
        unknown.append(f"why {why} at {clock(cut.t, evidence.now_t)}{left}: nothing was recorded after that")
    killed = [run for run in evidence.runs if run.signal is not None and run.by is None]
    unknown += [
        f"who sent signal {run.signal} to {run.name}: no log says so"
        for run in killed
        if not _is_in_log(run.pids, evidence)
    ]
    sampled = [line for line in evidence.timelines if line.samples]
    if sampled and not any(line.knows_pressure for line in sampled):
        unknown.append("how long programs waited: the kernel's pressure counters were off; boot with psi=1")
    if not found:
        unknown.append("a freeze that left no trace: the recorder (`memwatch record`) must run when it happens")
    return unknown


def _is_in_log(pids: frozenset[int], evidence: Evidence) -> bool:
    events = () if evidence.log is None else evidence.log.events
    return any(isinstance(event, OomKill | DaemonKill) and event.pid in pids for event in events)


def _script_of(evidence: Evidence) -> str:
    growers = [main_grower(stretch) for line in evidence.timelines for stretch in line.stretches]
    biggest = [growth for line in evidence.timelines for growth in line.growers[:1]]
    for grower in (*growers, *biggest):
        if grower is not None and grower.name.endswith(".py"):
            return grower.name.rpartition(" ")[2]
    return "SCRIPT"
