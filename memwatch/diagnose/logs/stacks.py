"""What the lines after a report tell: the stack of a task that hangs, and where a core or the kernel itself failed.

INFO: task python3:5604 blocked for more than 120 seconds.     hung; its stack follows
BUG: kernel NULL pointer dereference, address: 0000000000000008
CPU: 3 PID: 812 Comm: Xorg Tainted: G        W                 who ran
RIP: 0010:dc_commit_state+0x12/0x90 [amdgpu]                   where
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from memwatch.diagnose.logs.fault_values import KernelBug, Lockup

MOST_FRAMES = 60  # of one stack; it is followed by registers and by other lines

_HUNG = re.compile(
    r"(?:INFO: )?task (?P<name>.{1,64}):(?P<pid>\d+) (?:<.{1,32}> )?blocked.{0,40} for more than (?P<seconds>\d+)"
    r" seconds"
)
# The lines after it, of a report that is pasted without its first line; SysRq-w prints the second of them too.
_DISABLES = re.compile(r"\"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\" disables this message")
_STATE = re.compile(
    r"(?:task:)?(?P<name>\S.{0,14}?) +(?:D *[0-9a-f]+ +(?:\d+ +)?(?P<pid>\d+) +\d+ 0x[0-9a-f]+|"
    r"state:D +stack: *\d+ +pid: *(?P<pid_since_5_10>\d+) )"
)
# Linux 4.9 to 4.14: a request for memory waited that long.
_STALLED = re.compile(r"(?P<name>.{1,32}?): page allocation stalls for (?P<ms>\d+)ms")
_OWNER = re.compile(
    r"INFO: task .{1,64}:\d+ is blocked on a .{1,40}? likely (?:last )?owned by task"
    r" (?P<name>.{1,64}):(?P<pid>\d+)"
)
_FRAME = re.compile(r"\b(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)\])?")
_PLACE = re.compile(r"\s*(?:RIP: |E?IP: |EIP is at |PC is at |pc : |NIP )")
_COMM = re.compile(
    r"\s*(?:CPU: ?\d+ )?(?:UID: \d+ )?P[Ii][Dd]: \d+,? [Cc]omm: (?P<name>.*?)(?: (?:Not tainted|Tainted)|$)"
)

HINT = r"INFO: task|hung_task_timeout|blocked for more|allocation stalls"


class Wait(StrEnum):
    """What a hung task's stack shows it to wait for."""

    MEMORY = "memory"
    WRITING = "writing"
    FILE_SYSTEM = "file system"
    DEVICE = "device"
    UNKNOWN = "unknown"


_WHY_FIRST = list(Wait)
# In the stack of a task that waits: the kernel makes room for it, or reads back what was swapped out.
_WAITS = tuple(
    (wait, re.compile(pattern))
    for wait, pattern in (
        (
            Wait.MEMORY,
            r"do_swap_page|swap_readpage|swap_read_folio|swapin_|shrink_\w+|try_to_free_|__alloc_pages_slowpath|"
            r"mem_cgroup_handle_over_high|reclaim_throttle|do_try_to_free",
        ),
        (
            Wait.WRITING,
            r"balance_dirty_pages|wait_on_page_writeback|folio_wait_writeback|jbd2_|sync_inodes|do_fsync|vfs_fsync|"
            r"file_write_and_wait|wb_wait_for_completion|xlog_|btrfs_commit_transaction|ext4_sync_file|iterate_supers|"
            r"write_cache_pages|do_writepages|\w+_writepages|wb_workfn|wb_writeback|wbt_wait|rq_qos_wait",
        ),
        (
            Wait.FILE_SYSTEM,
            r"(?:xfs|ext4|btrfs|zfs|zpl|spa|txg|dmu|arc|dbuf|f2fs|bch2|fuse|nfs4?|rpc|cifs|smb2|ceph|gfs2|overlayfs|"
            r"ovl|"
            r"ntfs3?)_",
        ),
        (
            Wait.DEVICE,
            r"(?:blk|nvme|scsi|sd|usb|dm|md|raid\d+|mmc|ata|drm|amdgpu|i915|nouveau|nvidia|mlx\d|iwl)_",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class HungTask:
    t: float | None
    pid: int
    name: str
    seconds: int  # at least so long; 0 if the line that says so is missing
    wait: Wait = Wait.UNKNOWN
    function: str | None = None  # of the kernel, in which it shows
    owner: str | None = None  # who holds the lock that it waits for: "python3 (5604)"


Reported = HungTask | Lockup | KernelBug


def read_hung(t: float | None, text: str) -> HungTask | None:
    if (match := _HUNG.match(text)) is not None:
        return HungTask(t, int(match["pid"]), match["name"], int(match["seconds"]))
    if (match := _STALLED.match(text)) is not None:
        return HungTask(t, 0, match["name"], int(match["ms"]) // 1000, Wait.MEMORY, "page allocation")
    return None


@dataclass(slots=True)
class StackReader:
    """Holds a report while the lines that belong to it come."""

    report: Reported | None = None
    lines: int = 0
    is_cut: bool = False  # the first line of a report is missing, and its second has come

    def begin(self, report: Reported) -> Reported | None:
        """The report before, which is complete now."""
        before = self.close()
        self.report, self.lines = report, 0
        return before

    def is_waiting(self) -> bool:
        """Whether any line may belong to a report."""
        return self.report is not None or self.is_cut

    def begin_cut(self, t: float | None, text: str) -> None:
        """A report whose first line was not pasted: it begins with the state of the task."""
        if self.report is None and _DISABLES.match(text.strip()) is not None:
            self.is_cut = True
        elif self.is_cut and (state := _STATE.match(text.strip())) is not None:
            self.begin(HungTask(t, int(state["pid"] or state["pid_since_5_10"]), state["name"], 0))
            self.is_cut = False

    def take(self, text: str) -> Reported | None:
        """The report, once no further line can belong to it."""
        if self.report is None:
            return None
        self.lines += 1
        if isinstance(self.report, HungTask):
            self.report = _with_frames(self.report, text)
        else:
            self.report = self._with_place(self.report, text)
        return self.close() if self.lines >= MOST_FRAMES else None

    def close(self) -> Reported | None:
        report, self.report = self.report, None
        return report

    def _with_place(self, report: Lockup | KernelBug, text: str) -> Lockup | KernelBug:
        if report.name is None and (comm := _COMM.search(text)) is not None:
            report = replace(report, name=comm["name"])
        if report.place is None and _PLACE.match(text) and (frame := _FRAME.search(text)) is not None:
            module = "" if frame["module"] is None else f" [{frame['module']}]"
            report = replace(report, place=f"{frame['function']}{module}")
        return report


def _with_frames(task: HungTask, text: str) -> HungTask:
    if (owner := _OWNER.match(text)) is not None:
        return replace(task, owner=f"{owner['name']} ({owner['pid']})")
    for frame in _FRAME.finditer(text):
        wait = next((wait for wait, pattern in _WAITS if pattern.match(frame["function"])), Wait.UNKNOWN)
        # Whoever makes room in memory may wait for a write as well, and a write for a file system and its device:
        # the first of them is why.
        if _WHY_FIRST.index(wait) < _WHY_FIRST.index(task.wait):
            task = replace(task, wait=wait, function=frame["function"])
    return task
