"""Reads details of the job's processes in the background: command lines, transfers, and their own part of memory.

These files can block, and take milliseconds (slow_files.py). Each kind of work has a share of a core; what is most
wanted is read first.
"""

import time
from collections import deque

from memwatch.model.job_total import Key
from memwatch.probe.background import Background
from memwatch.probe.cost_budget import CpuCredit
from memwatch.probe.job_member import Member
from memwatch.probe.slow_files import Answer, FileRequest, answer

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
MOST_DETAILS = 32
CHANGED_INTERVAL_S = 0.5
SAME_INTERVAL_S = 3.0
SETTLED_S = 0.2
# A process that blocks must not keep what was read of the others.
LONG_PASS_S = 1.0


class DetailReader:
    """members.py calls `request` at every sample, and `arrived` for what was read since."""

    def __init__(self, in_background: bool) -> None:
        self._background = Background("details", in_background)
        self._answers: deque[Answer] = deque()  # filled by the thread
        self._costs_s: deque[tuple[CpuCredit, float]] = deque()
        self._shares_credit = CpuCredit(SHARES_BUDGET, SHARES_BURST_S)
        self._details_credit = CpuCredit(DETAILS_BUDGET, DETAILS_BURST_S)
        self._requested_s = self._pass_s = float("-inf")
        self._changed_s = float("-inf")
        self._wanted_keys: frozenset[Key] = frozenset()

    @property
    def is_busy(self) -> bool:
        return self._background.is_busy

    def close(self) -> None:
        self._background.close()

    def request(self, members: list[Member], clock_s: float) -> None:
        """Have read what is due, unless the thread is still busy."""
        if self._background.is_busy:
            return
        passes = [
            (self._details_due(members, clock_s), self._details_credit),
            (self._shares_due(members, clock_s), self._shares_credit),
        ]  # A command line is wanted before the share, which takes longer.
        if any(requests for requests, _ in passes) and self._background.start(lambda: self._read(passes)):
            self._requested_s = clock_s

    def arrived(self, clock_s: float) -> list[Answer]:
        """What was read since the last call; nothing of a pass that is under way, unless that takes long."""
        if self.is_busy and clock_s - self._requested_s < LONG_PASS_S:
            return []
        while self._costs_s:
            credit, cost_s = self._costs_s.popleft()
            credit.spend(cost_s)
        found = []
        while self._answers:
            found.append(self._answers.popleft())
        return found

    def _shares_due(self, members: list[Member], clock_s: float) -> list[FileRequest]:
        wanted = [member for member in members if member.needs_share]
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
