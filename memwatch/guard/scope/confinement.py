"""Confines the job: moves the limit of its scope, and reads what came of it. decide/confine.py decides.

Besides MemoryMax a confined scope gets

    MemorySwapMax   what is free, less what is kept for others
    IOWeight        low, so that the job's swapping waits for the disk of others, not they for it (where the user's
                    manager may not control I/O, systemd ignores it)

never MemoryHigh, above which a job that grows is slowed down until it stands still. A limit is not lowered below what
the job holds, because systemd would wait in that write until the kernel has swapped the rest: memory.reclaim makes
room first, on a thread, and kills nobody.
"""

import time

from memwatch.decide.confine import (
    confined_limit_bytes,
    is_swap_enough,
    limit_move,
    rest_of_machine,
    swap_left_bytes,
)
from memwatch.decide.confine_history import SMALLEST_STEP_BYTES, Confined, ConfineHistory, ConfineReading
from memwatch.decide.forecast import Forecast
from memwatch.guard.scope.job_scope import JobScope
from memwatch.guard.scope.reclaim import Reclaimer
from memwatch.model.sample import Pressure, Sample
from memwatch.model.units import MIB, format_size
from memwatch.probe.files import KeptFile, number_after, read_number
from memwatch.probe.rest_pressure import RestPressure

LOW_IO_WEIGHT = 10
USUAL_IO_WEIGHT = 100
MOVE_EVERY_S = 1.0
# Until a requested limit must be in force.
PATIENCE_S = 10.0
ASK_AGAIN_S = 1.0


class Confinement:
    """One for the whole run. `is_active` from the request until it ends."""

    def __init__(self, scope: JobScope, reclaimer: Reclaimer) -> None:
        self._scope = scope
        self._reclaimer = reclaimer
        self.is_active = False
        self._refused: str | None = None
        self.asked_bytes = 0
        self._began_s = self._moved_s = float("-inf")
        self._is_in_force = False
        self._is_squeezed = False  # Memory was reclaimed, and the limit has not followed yet.
        self._history = ConfineHistory()
        self._rest: RestPressure | None = None
        self._rest_now: Pressure | None = None
        self._swap_max_bytes: int | None = None
        self._cpu: KeptFile | None = None
        self._first_progress: tuple[float, float] | None = None
        self._progress: tuple[float | None, float | None, str | None] = (None, None, None)

    def obstacle(self, sample: Sample, reserve_bytes: int) -> str | None:
        """Why this job cannot be confined now, if so."""
        if self._refused is not None:
            return self._refused
        if self._scope.own_limit(sample) is None:
            return self._scope.facts.missing or "the job has no memory limit of its own"
        if sample.memory is None or not sample.memory.swap_total_bytes:
            return "there is no swap"
        if not is_swap_enough(sample.memory, reserve_bytes):
            return f"too little swap is free: {format_size(sample.memory.swap_free_bytes)}"
        return None

    def note_progress(self, done: object, total: object, unit: object) -> None:
        """What the job reports, or the position in its input; anything else than numbers is ignored."""
        if not isinstance(done, int | float):
            return
        before = self._progress[0]
        if self._first_progress is None or (before is not None and done < before):
            self._first_progress = (time.monotonic(), done)
        self._progress = (
            done,
            total if isinstance(total, int | float) else None,
            unit if isinstance(unit, str) else None,
        )

    def begin(self, sample: Sample, headroom_bytes: int) -> str:
        """Returns what came of it, in words for the journal."""
        own, folder = self._scope.own_limit(sample), self._scope.cgroup_folder
        if own is None or folder is None or sample.memory is None:
            self._refused = "the job has no scope"
            return self._refused
        self.asked_bytes = confined_limit_bytes(own.used_bytes, headroom_bytes)
        self._swap_max_bytes = (own.swap_used_bytes or 0) + swap_left_bytes(sample.memory)
        self.is_active, self._is_in_force = True, False
        self._began_s = self._moved_s = sample.clock_s
        self._history = ConfineHistory(self._rate_so_far())
        self._rest = RestPressure(folder, self._scope.top_folder or folder)
        self._cpu = KeptFile(f"{folder}/cpu.stat")
        self._ask()
        return "done"

    def _ask(self) -> None:
        swap_max = {} if self._swap_max_bytes is None else {"MemorySwapMax": self._swap_max_bytes}
        self._scope.change(MemoryMax=self.asked_bytes, IOWeight=LOW_IO_WEIGHT, **swap_max)

    def end(self) -> None:
        """The limit follows the machine again as it did before (limit.py), from the next sample on."""
        self.is_active = self._is_in_force = False
        if self._rest is not None:
            self._rest.close()
        if self._cpu is not None:
            self._cpu.close()
        self._rest = self._cpu = self._rest_now = None
        self._scope.change(IOWeight=USUAL_IO_WEIGHT)

    def look(self, sample: Sample) -> Confined | None:
        """None while the job is not confined, also until the limit is in force."""
        own = self._scope.own_limit(sample)
        if not self.is_active or own is None or sample.memory is None or self._rest is None:
            return None
        if not self._is_in_force and own.limit_bytes > self.asked_bytes:
            if sample.clock_s - self._moved_s >= ASK_AGAIN_S:
                self._moved_s = sample.clock_s
                self._ask()
            return None
        self._is_in_force = True
        self._rest_now = self._rest.read(sample.clock_s)
        left = swap_left_bytes(sample.memory)
        if self._swap_max_bytes is not None:
            left = min(left, max(self._swap_max_bytes - (own.swap_used_bytes or 0), 0))
        user_us = None if self._cpu is None else number_after(self._cpu.read() or b"", b"user_usec ")
        done, total, unit = self._progress
        reading = ConfineReading(
            sample.clock_s,
            own.limit_bytes,
            own.used_bytes,
            own.swapped_out_bytes or 0,
            left,
            user_cpu_s=None if user_us is None else user_us / 1e6,
            stall_full_us=None if sample.job_counters is None else sample.job_counters.stall_full_us,
            rest=self._rest_now,
            done=done,
            total=total,
            unit=unit,
        )
        return self._history.add(reading)

    def view(self, sample: Sample) -> Sample:
        """What is left of a sample without the confined job's own swapping."""
        if not self._is_in_force:
            return sample
        own = self._scope.own_limit(sample)
        return rest_of_machine(sample, None if own is None else own.path, self._rest_now)

    def was_refused(self, clock_s: float) -> bool:
        """Whether systemd has not set the limit in time; then it is not requested again."""
        if not self.is_active or self._is_in_force or clock_s - self._began_s < PATIENCE_S:
            return False
        self._refused = "systemd did not set the limit"
        return True

    def follow(self, sample: Sample, confined: Confined, outlook: Forecast, may_rise: bool) -> None:
        """Move the limit with the room that the machine has."""
        folder = self._scope.cgroup_folder
        if folder is None or sample.memory is None or self._reclaimer.is_busy:
            return
        if self._is_squeezed:
            self._is_squeezed = False
            charged = read_number(f"{folder}/memory.current")
            if charged is not None and charged + SMALLEST_STEP_BYTES < confined.limit_bytes:
                self._moved_s = sample.clock_s
                self._scope.change(MemoryMax=charged + SMALLEST_STEP_BYTES)
                return
        if outlook.headroom_bytes is None:
            return
        may_move = sample.clock_s - self._moved_s >= MOVE_EVERY_S
        move = limit_move(confined, outlook.headroom_bytes, outlook.reserve_bytes, may_rise and may_move)
        if move is not None and move.limit_bytes is None:
            self._is_squeezed = self._reclaimer.start(move.reclaim_bytes)
        elif may_move:
            self._moved_s = sample.clock_s
            self._follow_swap(sample)
            if move is not None and move.limit_bytes is not None:
                self._scope.change(MemoryMax=move.limit_bytes)

    def _follow_swap(self, sample: Sample) -> None:
        """Others use and free swap, too. The limit counts pages that are back in RAM as long as they keep their place
        in swap."""
        own = self._scope.own_limit(sample)
        if sample.memory is None or self._swap_max_bytes is None or own is None:
            return
        wanted = (own.swap_used_bytes or 0) + swap_left_bytes(sample.memory)
        if abs(wanted - self._swap_max_bytes) >= 32 * MIB:
            self._swap_max_bytes = wanted
            self._scope.change(MemorySwapMax=wanted)

    def _rate_so_far(self) -> float | None:
        done, first = self._progress[0], self._first_progress
        if done is None or first is None or time.monotonic() - first[0] < 1.0:
            return None
        return (done - first[1]) / (time.monotonic() - first[0])
