"""Hung tasks, which the kernel found to wait for minutes; and cores that are too few now."""

from memwatch.diagnose.causes.phrases import listed, moment
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import DISK, Cause, Confidence, Finding
from memwatch.diagnose.logs.stacks import HungTask, Wait
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
    Wait.FILE_SYSTEM: (
        Cause.HUNG_TASKS,
        "Their stacks show that they waited for a file system: its disk, its server, or a lock in it.",
        Confidence.MEDIUM,
    ),
    Wait.DEVICE: (
        Cause.HUNG_TASKS,
        "Their stacks show that they waited for a device, or its driver.",
        Confidence.MEDIUM,
    ),
    Wait.UNKNOWN: (
        Cause.HUNG_TASKS,
        "What they waited for does not show in the log: a disk, the network, or a driver.",
        Confidence.LOW,
    ),
}

# By the function of the kernel in which a task waits: where to look.
_LOOKS = (
    (("zfs_", "zpl_", "spa_", "txg_", "dmu_", "arc_", "dbuf_"),
     "zpool status -v; zpool iostat -v 5: show a disk of the pool that is slow or has failed."),
    (("nfs", "rpc_"), "nfsstat -m; ping SERVER: a file server that does not answer stops all programs that use it."),
    (("cifs_", "smb2_"), "mount -t cifs; ping SERVER: a file server that does not answer stops its users."),
    (("fuse_",), "mount -t fuse,fuse.sshfs,fuse.rclone: the program behind this mount does not answer."),
    ("btrfs_", "btrfs device stats /; btrfs filesystem usage /: show errors, and how full it is."),
    (("xfs_", "xlog_", "ext4_", "jbd2_"), "iostat -x 5; dmesg | grep -i -E 'I/O error|timeout': show a slow disk."),
    (("blk_", "nvme_", "scsi_", "sd_", "dm_", "md_", "raid", "ata_"),
     "lsblk; iostat -x 5; dmesg | grep -i -E 'I/O error|timeout|reset': show the device that does not answer."),
)  # fmt: skip


def hung_in(wait: Wait, start_t: float, end_t: float, evidence: Evidence) -> list[HungTask]:
    """Tasks that were found to hang by the end of that time, or soon after: the kernel waits two minutes to say so."""
    return [
        task
        for task in _hung_tasks(evidence)
        if task.wait == wait and task.t is not None and start_t <= task.t <= end_t + task.seconds + 60
    ]


def hung_on_disk(start_t: float | None, end_t: float | None, evidence: Evidence) -> list[HungTask]:
    """Tasks that hang while a disk fails, and not because memory is short."""
    return [
        task
        for task in _hung_tasks(evidence)
        if task.wait != Wait.MEMORY
        and (task.t is None or start_t is None or end_t is None or start_t - NEAR_S <= task.t <= end_t + NEAR_S)
    ]


def is_same_time(t: float | None, finding: Finding) -> bool:
    """Also where neither has a time: a pasted log often has none."""
    return t is None or finding.start_t is None or _is_near(t, finding)


def hung_findings(evidence: Evidence, explained: list[Finding]) -> list[Finding]:
    """Hung tasks that no other freeze explains: alone they show that something waited, and sometimes for what."""
    freezes = [finding for finding in explained if finding.is_freeze]
    faults = [finding for finding in explained if finding.cause == Cause.DISK_FAULT]
    left = [
        task
        for task in _hung_tasks(evidence)
        if not any(_is_near(task.t, finding) for finding in freezes)
        and not (task.wait != Wait.MEMORY and any(is_same_time(task.t, finding) for finding in faults))
    ]
    groups = {wait: [task for task in left if task.wait == wait] for wait in Wait}
    return [_hung_finding(wait, tasks, evidence) for wait, tasks in groups.items() if tasks]


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


def at_least(seconds: int) -> str:
    """' for 120 s and more', or nothing where the log does not say how long: to follow a word."""
    return f" for {seconds} s and more" if seconds else ""


def _hung_finding(wait: Wait, tasks: list[HungTask], evidence: Evidence) -> Finding:
    cause, why, confidence = _WAITS[wait]
    unknown = ("what they waited for: their stacks ('Call Trace') are not in the log, or name nothing known",)
    names = listed(list(dict.fromkeys(f"{task.name} ({task.pid})" for task in tasks)))
    times = [task.t for task in tasks if task.t is not None]
    record = "memwatch record: keep it running; it shows memory, swap and disk at that time."
    shown = [
        f"kernel log: {task.name} ({task.pid}) blocked{moment(task.t, evidence.now_t)}"
        + ("" if task.function is None else f", in {task.function}")
        + ("" if task.owner is None else f"; {task.owner} holds the lock")
        for task in tasks[:3]
    ]
    look = next((words for task in tasks for start, words in _LOOKS if (task.function or "").startswith(start)), None)
    longest = max(task.seconds for task in tasks)
    return Finding(
        cause,
        f"Programs hung{at_least(longest)}: {names}.",
        why,
        confidence,
        tuple(shown),
        tuple(
            each
            for each in (look, *(dirty_advice(evidence) if wait == Wait.WRITING else ()), record)
            if each is not None
        ),
        # The kernel reports it only after so many seconds: that is when it began.
        min((task.t - task.seconds for task in tasks if task.t is not None), default=None),
        max(times, default=None),
        unknown if wait == Wait.UNKNOWN else (),
        blamed=DISK if wait == Wait.FILE_SYSTEM else None,
    )


def _is_near(t: float | None, finding: Finding) -> bool:
    if t is None or finding.start_t is None or finding.end_t is None:
        return False
    return finding.start_t - NEAR_S <= t <= finding.end_t + NEAR_S
