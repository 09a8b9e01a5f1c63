"""The job's processes: a tree that grows, loses its root, and sheds branches that live on.

What counts as the job, given `roots`:

- each root, and every descendant of a root. The reading process itself never counts, only its descendants: a guard
  that is a subreaper passes its own pid, and gets its children and whatever is handed to it when a parent ends;
- what once counted, as long as it lives: a process is its pid and its start time;
- where the reader is not a root, so that orphans may go to init unseen: what belongs to a process group or session
  that one of the job's processes has led.

`spared` processes and what descends from them never count: the guard's own helpers.
"""

import os
import resource
from collections.abc import Collection, Iterator

from memwatch.model.sample import Process
from memwatch.probe.files import read_file
from memwatch.probe.members import JobTotals, Members
from memwatch.probe.procpid import ProcessFiles
from memwatch.probe.stat import Stat, parse_stat, shows_own_processes

# Looking at every thread of a process, or at every process of the machine, is dear: 8 to 15 us for each one.
DEAR_INTERVAL_S = 1.0
STRAY_INTERVAL_S = 5.0
# Three files each; a usual limit on open files is 1024. What else a guard opens, with all its views, needs the rest.
MOST_KEPT_OPEN = 96
OTHER_OPEN_FILES = 64


class JobTree:
    """`in_background` reads on a thread what can block; without, a reading waits for it."""

    def __init__(self, proc_root: str, self_pid: int | None = None, in_background: bool = False) -> None:
        self._proc_root = proc_root
        self._self_pid = os.getpid() if self_pid is None else self_pid
        self._files: dict[int, ProcessFiles] = {}
        self._most_kept_open = most_kept_open(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._members = Members(in_background)
        self._started: dict[int, int] = {}  # pid to start_ticks, of all that count
        self._root_started: dict[int, int] = {}
        self._led: set[int] = set()  # process groups and sessions led by the job's own
        self._next_dear_s = self._next_stray_s = float("-inf")
        self.has_children_files = os.path.exists(f"{proc_root}/thread-self/children")

    def read(
        self,
        roots: Collection[int],
        clock_s: float,
        spared: Collection[int] = (),
        swap_in_use: bool = True,
        thorough: bool = False,
    ) -> tuple[Process, ...]:
        """Parents before children. `thorough` leaves out no look for being dear: for the moment before acting."""
        if not shows_own_processes(self._proc_root):
            return ()  # What has the number of a root is a stranger.
        self._root_started = {pid: started for pid, started in self._root_started.items() if pid in roots}
        dear = thorough or clock_s >= self._next_dear_s
        if dear:
            self._next_dear_s = clock_s + DEAR_INTERVAL_S
        everyone = self._everyone() if dear and not self.has_children_files else None
        found = self._walk(roots, spared, dear, everyone)
        if self._may_have_strays(roots, found) and (thorough or not found or clock_s >= self._next_stray_s):
            self._next_stray_s = clock_s + STRAY_INTERVAL_S
            self._add_strays(found, spared, dear, everyone or self._everyone())
        self._remember(found)
        readings = [self._files[pid].read(stat, swap_in_use) for pid, stat in found.items()]
        return self._members.processes([reading for reading in readings if reading is not None], clock_s)

    @property
    def totals(self) -> JobTotals:
        """The totals of the last reading."""
        return self._members.totals

    def missing(self) -> list[tuple[str, str]]:
        if self.has_children_files:
            return []
        reason = "the kernel lacks CONFIG_PROC_CHILDREN, so new processes of the job are seen up to 1 s late"
        return [("a process's children", reason)]

    def close(self) -> None:
        for files in self._files.values():
            files.close()
        self._files.clear()
        self._members.close()

    def _walk(
        self, roots: Collection[int], spared: Collection[int], dear: bool, everyone: dict[int, Stat] | None
    ) -> dict[int, Stat]:
        found: dict[int, Stat] = {}
        children = _by_parent(everyone)
        self._visit([stat for pid in roots if (stat := self._root(pid))], found, spared, dear, children)
        # What has counted before and was not reached: its parent has ended.
        orphans = [self._stat(pid) for pid in self._started if pid not in found]
        own = [stat for stat in orphans if stat and stat.start_ticks == self._started[stat.pid]]
        self._visit(own, found, spared, dear, children)
        return found

    def _visit(
        self,
        waiting: list[Stat],
        found: dict[int, Stat],
        spared: Collection[int],
        dear: bool,
        children: dict[int, list[int]] | None,
    ) -> None:
        for stat in waiting:  # It grows under way.
            if stat.pid in found or stat.pid in spared:
                continue
            if stat.pid != self._self_pid:
                found[stat.pid] = stat
            waiting.extend(child for pid in self._children(stat, dear, children) if (child := self._stat(pid)))

    def _children(self, stat: Stat, dear: bool, children: dict[int, list[int]] | None) -> list[int]:
        if not self.has_children_files:
            return (children or {}).get(stat.pid, [])
        files = self._files[stat.pid]
        # A main thread that has ended has no children: the kernel hands them to another thread.
        has_ended = stat.state == "Z"
        return files.children_of_all_threads() if stat.threads > 1 and (dear or has_ended) else files.children()

    def _stat(self, pid: int) -> Stat | None:
        files = self._files.get(pid)
        if files is None:
            files = ProcessFiles(self._proc_root, pid, keep=len(self._files) < self._most_kept_open)
            self._files[pid] = files
        return files.stat()

    def _root(self, pid: int) -> Stat | None:
        """None if it has ended, though a stranger may have got its pid."""
        stat = self._stat(pid)
        if stat and self._root_started.setdefault(pid, stat.start_ticks) != stat.start_ticks:
            return None
        return stat

    def _may_have_strays(self, roots: Collection[int], found: dict[int, Stat]) -> bool:
        return self._self_pid not in roots and bool(self._led or found)

    def _add_strays(
        self, found: dict[int, Stat], spared: Collection[int], dear: bool, everyone: dict[int, Stat]
    ) -> None:
        led = self._led | _led_by(found, self._led)
        # The leader's pid is not given out again while a member lives. A leader alive that is not of the job means
        # that all members had gone, and the pid is now another's.
        led -= {pid for pid in led if pid in everyone and pid not in found}
        led.discard(self._self_pid)
        members = [stat for stat in everyone.values() if stat.group in led or stat.session in led]
        strays = [stat for member in members if member.pid != self._self_pid and (stat := self._stat(member.pid))]
        self._visit(strays, found, spared, dear, _by_parent(everyone))

    def _remember(self, found: dict[int, Stat]) -> None:
        self._started = {pid: stat.start_ticks for pid, stat in found.items()}
        self._led = _led_by(found, self._led)
        for pid in self._files.keys() - found.keys() - {self._self_pid}:
            self._files.pop(pid).close()

    def _everyone(self) -> dict[int, Stat]:
        return {stat.pid: stat for stat in self._all_stats()}

    def _all_stats(self) -> Iterator[Stat]:
        try:
            names = os.listdir(self._proc_root)
        except OSError:
            return
        for name in names:
            if name.isdigit() and (text := read_file(f"{self._proc_root}/{name}/stat")):
                yield parse_stat(text)


def most_kept_open(files_limit: int) -> int:
    """Of how many processes the files may stay open under a limit (ulimit -n): those of the others are opened again for
    every reading. A process whose files cannot be opened would not count as the job's."""
    if files_limit == resource.RLIM_INFINITY:
        return MOST_KEPT_OPEN
    return min(MOST_KEPT_OPEN, max(files_limit - OTHER_OPEN_FILES, 0) // 3)


def _by_parent(everyone: dict[int, Stat] | None) -> dict[int, list[int]] | None:
    if everyone is None:
        return None
    children: dict[int, list[int]] = {}
    for stat in everyone.values():
        children.setdefault(stat.parent_pid, []).append(stat.pid)
    return children


def _led_by(found: dict[int, Stat], led_before: set[int]) -> set[int]:
    """The groups and sessions of the job whose leader is, or was, of the job: not the terminal's, for one."""
    ids = {stat.group for stat in found.values()} | {stat.session for stat in found.values()}
    return {leader for leader in ids if leader in found or leader in led_before}
