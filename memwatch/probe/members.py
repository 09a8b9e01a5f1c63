"""What is known of the job's processes beyond a single sample: their own memory, command lines and transfers.

A sample reads only files that answer at once (procpid.py). The rest is requested here, read in the background
(slow_files.py), and used when it has arrived; until then a process is shown by its name, and its own memory is what
own_memory.py makes of it.
"""

import time
from collections import Counter, deque
from dataclasses import dataclass

from memwatch.model.job_total import JobTotal, Key
from memwatch.model.sample import Process
from memwatch.model.units import MIB
from memwatch.probe.background import Background
from memwatch.probe.cost_budget import CpuCredit
from memwatch.probe.own_memory import OwnMemory
from memwatch.probe.procpid import Reading
from memwatch.probe.slow_files import Answer, FileRequest, Transfers, answer, shortened, shown_text
from memwatch.probe.stat import Stat

# Shares of a core, on average, and CPU seconds that may be saved up for processes that are new.
SHARES_BUDGET = 0.0015
SHARES_BURST_S = 0.15
SMALLEST_PASS_S = 0.02
DETAILS_BUDGET = 0.001
DETAILS_BURST_S = 0.05
# Of a large family not all can be read at once (3 ms for 100 MiB). Those that own most, as far as is known, are read
# every time: the one that the others forked from is among them. Then those that were read when the family was much
# smaller, and so had a larger share, and then those not read for longest.
ALWAYS_READ = 4
OUTGROWN = 0.7
MOST_DETAILS = 32
CHANGED_INTERVAL_S = 0.5
SAME_INTERVAL_S = 3.0
SETTLED_S = 0.2
TRANSFERS_INTERVAL_S = 5.0
# A process that blocks must not keep what was read of the others.
LONG_PASS_S = 1.0
# Less than this is not worth a reading.
SMALLEST_BYTES = MIB


class Member:
    """One process of the job."""

    __slots__ = (
        "comm",
        "command",
        "family",
        "family_size",
        "held_before_bytes",
        "image",
        "is_forked",
        "key",
        "memory",
        "parent_key",
        "reading",
        "share_family_size",
        "share_read_s",
        "stale_transfers",
        "transfers",
        "transfers_cpu_s",
        "transfers_s",
    )

    def __init__(self, reading: Reading, parent: "Member | None", family: bytes, is_forked: bool) -> None:
        stat = reading.stat
        self.key: Key = (stat.pid, stat.start_ticks)
        self.reading = reading
        self.held_before_bytes = 0  # at the reading before
        self.parent_key = None if parent is None else parent.key
        self.comm = stat.comm
        self.image = stat.image
        self.family = family
        self.is_forked = is_forked
        self.family_size = 1
        self.share_family_size = 0  # when its share was read; 0: never
        self.share_read_s = float("-inf")
        # It was forked since the last reading, so its parent held one or the other, or something between.
        inherited = None if parent is None else max(parent.held_bytes, parent.held_before_bytes)
        self.memory = OwnMemory(is_forked, inherited)
        self.command: str | None = None
        self.transfers: Transfers | None = None
        self.transfers_s = float("-inf")
        self.transfers_cpu_s = -1.0
        self.stale_transfers = 1  # so many readings are due whatever it does

    @property
    def held_bytes(self) -> int:
        return self.reading.anon_bytes + self.reading.swap_bytes

    @property
    def has_relatives(self) -> bool:
        return self.family_size > 1

    @property
    def is_outgrown(self) -> bool:
        return 0 < self.share_family_size < self.family_size * OUTGROWN

    def runs_same_program(self, reading: Reading) -> bool:
        """Whether it has started no other one (exec) since it was last seen."""
        stat = reading.stat
        if self.image and stat.image:
            return self.image == stat.image
        # A process that has ended has no image, and only the owner may see it.
        return self.comm == stat.comm

    def wants_transfers(self, clock_s: float) -> bool:
        # A process that has not run since has transferred nothing, but for the children that it has waited for.
        has_run = self.reading.stat.cpu_s != self.transfers_cpu_s
        return self.stale_transfers > 0 or has_run or clock_s - self.transfers_s >= TRANSFERS_INTERVAL_S


@dataclass(frozen=True, slots=True)
class JobTotals:
    """Of all processes of the job, those that have ended among them."""

    major_faults: int | None
    off_disk_bytes: int | None  # None: nothing could be read yet
    mapped_shmem_bytes: int  # a page that several processes have mapped counts for each
    own_shmem_bytes: int
    untouched_bytes: int | None = None  # None: nobody has looked, or the system does not show it
    minor_faults: int = 0
    held_bytes: int = 0  # anonymous memory in RAM and in swap; what several processes share counts for each


class Members:
    def __init__(self, in_background: bool) -> None:
        self._background = Background("details", in_background)
        self._members: dict[Key, Member] = {}
        self._by_pid: dict[int, Member] = {}
        self._families: Counter[bytes] = Counter()
        self._answers: deque[Answer] = deque()  # filled by the thread
        self._costs_s: deque[tuple[CpuCredit, float]] = deque()
        self._shares_credit = CpuCredit(SHARES_BUDGET, SHARES_BURST_S)
        self._details_credit = CpuCredit(DETAILS_BUDGET, DETAILS_BURST_S)
        self._asked_s = self._pass_s = float("-inf")
        self._changed_s = float("-inf")
        self._wanted_keys: frozenset[Key] = frozenset()
        self._faults = JobTotal()
        self._minor_faults = JobTotal()
        self._off_disk = JobTotal()
        self._fresh_transfers: set[Key] = set()
        self._knows_transfers = False
        self.totals = JobTotals(0, None, 0, 0)

    def processes(self, readings: list[Reading], clock_s: float) -> tuple[Process, ...]:
        """As a sample has them. `readings` are of all processes of the job, parents before children."""
        members = [self._member(reading) for reading in readings]
        self._forget_ended(members)
        self._hold(members)
        self._take_answers(clock_s)
        self._ask(members, clock_s)
        if not self._background.is_busy:
            self._take_answers(clock_s)
        self._add_up(members)
        return tuple(map(self._process, members))

    def close(self) -> None:
        self._background.close()

    def _member(self, reading: Reading) -> Member:
        stat = reading.stat
        key = (stat.pid, stat.start_ticks)
        member = self._members.get(key)
        if member is not None and member.runs_same_program(reading):
            if member.comm != stat.comm:
                member.comm, member.command = stat.comm, None  # It may have changed its command line, too.
            member.held_before_bytes = member.held_bytes
            member.reading = reading
            return member
        if member is not None:
            self._families[member.family] -= 1
        parent = self._by_pid.get(stat.parent_pid)
        made = Member(reading, parent, *self._family(stat, parent))
        if member is not None:
            made.parent_key, made.transfers = member.parent_key, member.transfers
        self._members[key] = self._by_pid[stat.pid] = made
        self._families[made.family] += 1
        return made

    def _family(self, stat: Stat, parent: Member | None) -> tuple[bytes, bool]:
        """(those who forked from each other without an exec, whether this process is not the first of them)."""
        if stat.image:
            return stat.image, self._families[stat.image] > 0
        if parent is not None and not parent.image and parent.comm == stat.comm:
            return parent.family, True
        return b"%d" % stat.pid, False

    def _forget_ended(self, members: list[Member]) -> None:
        living = {member.key for member in members}
        for key in self._members.keys() - living:
            ended = self._members.pop(key)
            self._families[ended.family] -= 1
            if self._by_pid.get(key[0]) is ended:
                del self._by_pid[key[0]]
            if ended.parent_key in self._members:
                self._members[ended.parent_key].stale_transfers = 2  # As many as JobTotal looks at.

    def _hold(self, members: list[Member]) -> None:
        holders = Counter(member.family for member in members if member.held_bytes)
        for member in members:
            member.family_size = holders[member.family]
            member.memory.hold(member.held_bytes, member.reading.shmem_bytes, is_alone=not member.has_relatives)

    def _needs_share(self, member: Member) -> bool:
        has_relatives = member.has_relatives and member.held_bytes >= SMALLEST_BYTES
        return has_relatives or member.reading.shmem_bytes >= SMALLEST_BYTES

    def _ask(self, members: list[Member], clock_s: float) -> None:
        if self._background.is_busy:
            return
        passes = [
            (self._details_due(members, clock_s), self._details_credit),
            (self._shares_due(members, clock_s), self._shares_credit),
        ]  # A command line is wanted before the share, which takes longer.
        if any(requests for requests, _ in passes) and self._background.start(lambda: self._read(passes)):
            self._asked_s = clock_s

    def _shares_due(self, members: list[Member], clock_s: float) -> list[FileRequest]:
        wanted = [member for member in members if self._needs_share(member)]
        keys = frozenset(member.key for member in wanted)
        if keys != self._wanted_keys:
            self._wanted_keys, self._changed_s = keys, clock_s
        # A family that forks just now would be read in vain; but it may go on forking for ever.
        waited_s = clock_s - self._pass_s
        is_news = self._changed_s > self._pass_s and clock_s - self._changed_s >= SETTLED_S
        is_due = waited_s >= SAME_INTERVAL_S or (is_news and waited_s >= CHANGED_INTERVAL_S)
        if not wanted or not is_due or not self._shares_credit.has_any(clock_s):
            return []
        self._pass_s = clock_s
        wanted.sort(key=lambda member: -member.memory.own_held_bytes - member.reading.shmem_bytes)
        first, others = wanted[:ALWAYS_READ], wanted[ALWAYS_READ:]
        others.sort(key=lambda member: (not member.is_outgrown, member.share_read_s, -member.held_bytes))
        return [
            FileRequest(member.key, member.reading.folder, member.image, wants_share=True) for member in first + others
        ]

    def _details_due(self, members: list[Member], clock_s: float) -> list[FileRequest]:
        wanted = [member for member in members if member.command is None or member.wants_transfers(clock_s)]
        if not wanted or not self._details_credit.has_any(clock_s):
            return []
        # A forked process has the command line of its parent, most likely.
        wanted.sort(key=lambda member: (member.is_forked or member.command is not None, member.transfers_s))
        requests = []
        for member in wanted[:MOST_DETAILS]:
            wants_transfers = member.wants_transfers(clock_s)
            if wants_transfers:
                member.transfers_s, member.transfers_cpu_s = clock_s, member.reading.stat.cpu_s
                member.stale_transfers = max(member.stale_transfers - 1, 0)
            requests.append(
                FileRequest(
                    member.key,
                    member.reading.folder,
                    member.image,
                    wants_command=member.command is None,
                    wants_transfers=wants_transfers,
                )
            )
        return requests

    def _read(self, passes: list[tuple[list[FileRequest], CpuCredit]]) -> None:
        """Runs on the background thread."""
        for requests, credit in passes:
            began_s = time.thread_time()
            most_s = max(credit.left_s, SMALLEST_PASS_S)
            for request in requests:
                if (found := answer(request)) is not None:
                    self._answers.append(found)
                if time.thread_time() - began_s >= most_s:
                    break
            self._costs_s.append((credit, time.thread_time() - began_s))

    def _take_answers(self, clock_s: float) -> None:
        if self._background.is_busy and clock_s - self._asked_s < LONG_PASS_S:
            return
        while self._costs_s:
            credit, cost_s = self._costs_s.popleft()
            credit.spend(cost_s)
        least_shares: dict[bytes, float] = {}
        while self._answers:
            found = self._answers.popleft()
            member = self._take(found)
            if member is not None and found.share is not None:
                member.share_read_s, member.share_family_size = clock_s, member.family_size
                own_share = found.share.own_held_bytes / max(found.share.held_bytes, 1)
                least_shares[member.family] = min(own_share, least_shares.get(member.family, 1.0))
        for member in self._members.values() if least_shares else ():
            is_current = member.share_family_size > 0 and not member.is_outgrown
            if member.has_relatives and not is_current and member.family in least_shares:
                member.memory.assume(least_shares[member.family])

    def _take(self, found: Answer) -> Member | None:
        request = found.request
        member = self._members.get(request.key)
        if member is None or member.image != request.image:
            return None  # It has ended, or started another program.
        if request.wants_command:
            member.command = found.command or shortened(f"[{shown_text(member.comm)}]")
        if found.share is not None:
            member.memory.correct(found.share)
        if found.transfers is not None:
            member.transfers = found.transfers
            self._knows_transfers = True
            self._fresh_transfers.add(request.key)
        return member

    def _add_up(self, members: list[Member]) -> None:
        parents = {member.key: member.parent_key for member in members}
        faults = {
            member.key: member.reading.stat.major_faults + member.reading.stat.children_major_faults
            for member in members
        }
        off_disk = {
            member.key: 0 if member.transfers is None else member.transfers.off_disk_bytes or 0 for member in members
        }
        written = self._off_disk.update(off_disk, parents, self._fresh_transfers)
        self._fresh_transfers.clear()
        self.totals = JobTotals(
            major_faults=self._faults.update(faults, parents),
            off_disk_bytes=written if self._knows_transfers else None,
            mapped_shmem_bytes=sum(member.reading.shmem_bytes for member in members),
            own_shmem_bytes=sum(member.memory.own_shmem_bytes for member in members),
            untouched_bytes=sum(member.reading.untouched_bytes for member in members),
            minor_faults=self._minor_faults.update(
                {member.key: member.reading.stat.minor_faults for member in members}, parents
            ),
            held_bytes=sum(member.held_bytes for member in members),
        )

    def _process(self, member: Member) -> Process:
        reading, transfers = member.reading, member.transfers
        own_bytes, swap_bytes = member.memory.split(reading.swap_bytes)
        return Process(
            pid=reading.stat.pid,
            start_ticks=reading.stat.start_ticks,
            parent_pid=reading.stat.parent_pid,
            state=reading.state,
            rss_bytes=reading.rss_bytes,
            swap_bytes=swap_bytes,
            cpu_s=reading.stat.cpu_s,
            read_bytes=None if transfers is None else transfers.read_bytes,
            written_bytes=None if transfers is None else transfers.written_bytes,
            command=self._command(member),
            own_bytes=own_bytes,
            major_faults=reading.stat.major_faults,
            name=self._own_name(member),
        )

    def _own_name(self, member: Member) -> str | None:
        parent = None if member.parent_key is None else self._members.get(member.parent_key)
        is_own = member.is_forked and parent is not None and parent.comm != member.comm
        return shown_text(member.comm) if is_own else None

    def _command(self, member: Member) -> str:
        if member.command is not None:
            return member.command
        parent = None if member.parent_key is None else self._members.get(member.parent_key)
        if member.is_forked and parent is not None and parent.command and parent.comm == member.comm:
            return parent.command
        return shown_text(member.comm)
