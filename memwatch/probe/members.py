"""What is known of the job's processes beyond a single sample: their own memory, command lines and transfers.

A sample reads only files that answer at once (procpid.py). The rest is read in the background (detail_reader.py), and
used when it has arrived; until then a process is shown by its name, and its own memory is what
own_memory.py makes of it.
"""

from collections import Counter
from dataclasses import dataclass

from memwatch.model.job_total import JobTotal, Key
from memwatch.model.sample import Process
from memwatch.probe.detail_reader import DetailReader
from memwatch.probe.job_member import Member
from memwatch.probe.procpid import Reading
from memwatch.probe.slow_files import Answer, shortened, shown_text
from memwatch.probe.stat import Stat


@dataclass(frozen=True, slots=True)
class JobTotals:
    """Sums over all processes of the job, those that have ended among them."""

    major_faults: int | None
    off_disk_bytes: int | None  # None: nothing could be read yet
    mapped_shmem_bytes: int  # a page that several processes have mapped counts for each
    own_shmem_bytes: int
    untouched_bytes: int | None = None  # None: nobody has looked, or the system does not show it
    minor_faults: int = 0
    held_bytes: int = 0  # anonymous memory in RAM and in swap; what several processes share counts for each


class Members:
    """All processes of the job, from sample to sample; job_tree.py calls `processes` with the readings of each."""

    def __init__(self, in_background: bool) -> None:
        self._details = DetailReader(in_background)
        self._members: dict[Key, Member] = {}
        self._by_pid: dict[int, Member] = {}
        self._families: Counter[bytes] = Counter()
        self._faults = JobTotal()
        self._minor_faults = JobTotal()
        self._off_disk = JobTotal()
        self._fresh_transfers: set[Key] = set()
        self._knows_transfers = False
        self.totals = JobTotals(0, None, 0, 0)

    def processes(self, readings: list[Reading], clock_s: float) -> tuple[Process, ...]:
        """The job's processes as a sample has them. `readings` has all of them, parents before children."""
        members = [self._member(reading) for reading in readings]
        self._forget_ended(members)
        self._hold(members)
        self._take_answers(clock_s)
        self._details.request(members, clock_s)
        if not self._details.is_busy:
            self._take_answers(clock_s)
        self._add_up(members)
        return tuple(map(self._process, members))

    def close(self) -> None:
        self._details.close()

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

    def _take_answers(self, clock_s: float) -> None:
        least_shares: dict[bytes, float] = {}
        for found in self._details.arrived(clock_s):
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
