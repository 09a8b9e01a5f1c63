"""Pages out a paused job, so that its pause frees memory for others: as far as swap allows without filling it.

With a scope of its own by memory.reclaim; as root without one by process_madvise(MADV_PAGEOUT). Elsewhere a pause
frees nothing. What was paged out comes back when the job runs on, so it is counted as the job's own: `debts`. A page
that was written to swap can stay in RAM for minutes: then it has freed nothing and is no debt.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from memwatch.decide.confine import swap_left_bytes
from memwatch.decide.confine_history import SWAP_MARGIN_BYTES
from memwatch.decide.history import rooms_of
from memwatch.guard import system
from memwatch.guard.scope.reclaim import CHUNK_BYTES, Reclaimer
from memwatch.model.sample import Process, Sample
from memwatch.on_linux import IS_LINUX
from memwatch.probe.background import Background
from memwatch.probe.files import read_file

# A job that is tried again within moments would only have to read it all back.
SOONEST_S = 2.0


class PageOut:
    """`begin` at a pause, `follow` at every sample of it, `end` when the job runs on."""

    def __init__(self, reclaimer: Reclaimer, in_background: bool = True) -> None:
        self._reclaimer = reclaimer
        self._background = Background("pageout", in_background)
        self._may_advise = IS_LINUX and os.geteuid() == 0
        self._began_s: float | None = None
        self._swap_before_bytes = 0
        self._out_before: dict[str, int | None] = {}  # in every room: what was in swap only
        self._ranges: Iterator[tuple[int, int, int]] | None = None
        self._freed_bytes = 0

    @property
    def freed_bytes(self) -> int:
        """The job's pages that went to swap since the pause began."""
        return self._freed_bytes

    def begin(self, sample: Sample | None, clock_s: float) -> None:
        """Called at every pause; does nothing if the job is paused already."""
        if self._began_s is not None:
            return
        self._began_s, self._ranges = clock_s, None
        if not self._freed_bytes:  # Else it was tried for a moment, and most of it is still out.
            self._swap_before_bytes = 0 if sample is None else sample.job_swap_bytes
            rooms = {} if sample is None else rooms_of(sample)
            self._out_before = {name: room.swapped_bytes for name, room in rooms.items()}

    def end(self) -> None:
        """Stop paging out: the job runs on."""
        self._began_s = None
        self._ranges = None
        self._reclaimer.stop()

    def follow(self, sample: Sample, is_wanted: bool) -> None:
        """Called at every sample of a pause: page out the next chunk, if it is wanted and swap has room."""
        if self._began_s is None or sample.memory is None:
            return
        self._freed_bytes = max(sample.job_swap_bytes - self._swap_before_bytes, 0)
        room = swap_left_bytes(sample.memory) - SWAP_MARGIN_BYTES
        is_due = is_wanted and sample.clock_s - self._began_s >= SOONEST_S
        if not is_due or room < CHUNK_BYTES or sample.job_ram_bytes < CHUNK_BYTES:
            return
        if self._reclaimer.can_reclaim:
            self._reclaimer.start(CHUNK_BYTES)
        elif self._may_advise:
            self._background.start(lambda: self._advise(sample.job))

    def debts(self, sample: Sample) -> dict[str, int]:
        """For every room: what was paged out of it and is not back yet, headroom that the job will need itself."""
        if not self._freed_bytes:
            return {}
        self._freed_bytes = min(self._freed_bytes, max(sample.job_swap_bytes - self._swap_before_bytes, 0))
        return {
            name: _most_out(self._freed_bytes, self._out_before.get(name), room.swapped_bytes)
            for name, room in rooms_of(sample).items()
        }

    def _advise(self, processes: Sequence[Process]) -> None:
        """The next chunk of the job's own memory."""
        if self._ranges is None:
            self._ranges = _own_ranges(processes)
        left = CHUNK_BYTES
        while left > 0 and (found := next(self._ranges, None)) is not None:
            pid, start, length = found
            system.page_out(pid, start, length)
            left -= length


def _most_out(freed_bytes: int, before_bytes: int | None, now_bytes: int | None) -> int:
    """The job's pages in swap, less those that cannot be among what has left the room since the pause began."""
    if before_bytes is None or now_bytes is None:
        return freed_bytes
    return min(freed_bytes, max(now_bytes - before_bytes, 0))


def _own_ranges(processes: Sequence[Process]) -> Iterator[tuple[int, int, int]]:
    """(pid, address, length) of private writable memory, in pieces no larger than a chunk."""
    for process in processes:
        for line in (read_file(f"/proc/{process.pid}/maps") or b"").splitlines():
            fields = line.split(None, 5)
            if len(fields) < 5 or not fields[1].startswith(b"rw") or fields[1][3:4] != b"p":
                continue
            with suppress(ValueError):
                start, end = (int(number, 16) for number in fields[0].split(b"-"))
                for at in range(start, end, CHUNK_BYTES):
                    yield process.pid, at, min(CHUNK_BYTES, end - at)
