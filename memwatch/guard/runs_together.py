"""Runs together: publishes this run for the other guards, reads theirs, and decides whose turn it is (decide/turns.py).

The loop calls `turn` with every sample. Nearly always that is a comparison of numbers: a file is written when something
changes that matters to others, and theirs are read only while it can matter, both at most so often.
"""

from collections.abc import Sequence

from memwatch.decide.action_state import ActionState
from memwatch.decide.actions import By
from memwatch.decide.forecast import Forecast
from memwatch.decide.history import HOST
from memwatch.decide.reserve import Reserve
from memwatch.decide.thresholds import Level
from memwatch.decide.turns import ALONE, GROWING_S, GuardedRun, RunState, Standing, Turn, take_turn
from memwatch.decide.verdict import Verdict
from memwatch.guard.registry import Registry
from memwatch.model.programs import is_tokenizer, program_name
from memwatch.model.sample import Sample
from memwatch.model.units import MIB
from memwatch.on_linux import IS_LINUX
from memwatch.probe.cgroup_paths import parse_membership
from memwatch.probe.files import read_file

GROWTH_STEP_BYTES = 16 * MIB
# A change of state is published at once, a size once a second.
PUBLISH_STATE_S = 0.2
PUBLISH_SIZE_S = 1.0
SIZE_STEP_SHARE = 1 / 32
READ_INTERVAL_S = 0.5
CGROUP_INTERVAL_S = 5.0
NEAR_S = 1.0  # headroom that ends so soon calls for a pause
WITH_SWAP = " (with swap)"  # what the probe adds to the name of a room that has a second limit


class RunsTogether:
    """`close` it at the end, so that nobody waits for this run any more."""

    def __init__(
        self, run_id: str | None, command: Sequence[str], job_pid: int, reserve: Reserve, proc_root: str = "/proc"
    ) -> None:
        self._run_id = run_id or ""
        self._command = command_name(command)
        self._job_pid = job_pid
        self._reserve = reserve
        self._proc_root = proc_root
        self._registry = Registry(proc_root)
        self._peak_bytes = self._mark_bytes = 0
        self._grew_s: float | None = None
        self._resumed_s: float | None = None
        self._state = RunState.RUNNING
        self._since_s: float | None = None  # in this state
        self._pressed_s: float | None = None
        self._stuck_s: float | None = None
        self._cgroups: tuple[str, ...] = ()
        self._cgroups_due_s = float("-inf")
        self._published: GuardedRun | None = None
        self._published_s = float("-inf")
        self._others: list[GuardedRun] = []
        self._read_due_s = float("-inf")

    def turn(self, sample: Sample, outlook: Forecast, verdict: Verdict, state: ActionState) -> Turn:
        """What the other runs mean for this one, now."""
        now_s = sample.clock_s
        me = self._me(sample, state)
        if me is None:
            return ALONE
        self._publish(me, now_s)
        if state.stopped_s is not None:
            return ALONE  # It runs to its end, and waits for nobody.
        is_concerned = verdict.level >= Level.WATCH or me.grew_within(GROWING_S, now_s)
        if me.state == RunState.RUNNING and not is_concerned:
            self._others = []
            return ALONE
        if now_s >= self._read_due_s:
            self._read_due_s = now_s + READ_INTERVAL_S
            self._others = self._registry.others()
        if not self._others:
            return ALONE
        turn = take_turn(me, self._standing(outlook, verdict, now_s), self._others, now_s)
        self._stuck_s = _since(self._stuck_s, turn.is_stuck, now_s)
        return turn

    def close(self) -> None:
        self._registry.close()

    def _me(self, sample: Sample, state: ActionState) -> GuardedRun | None:
        identity, now_s, job_bytes = self._registry.identity, sample.clock_s, sample.job_bytes
        if identity is None or not sample.job:
            return None
        if self._since_s is None:
            self._since_s, self._mark_bytes = now_s, job_bytes
        self._peak_bytes = max(self._peak_bytes, job_bytes)
        if job_bytes >= self._mark_bytes + GROWTH_STEP_BYTES:
            self._mark_bytes, self._grew_s = job_bytes, now_s
        self._take_state(run_state(state), now_s)
        return GuardedRun(
            run_id=self._run_id,
            command=self._command,
            start_ticks=identity[0],
            pid=identity[1],
            state=self._state,
            job_bytes=job_bytes,
            peak_bytes=self._peak_bytes,
            grew_s=self._grew_s,
            resumed_s=self._resumed_s,
            room=tightest_room(sample, self._reserve),
            cgroups=self._job_cgroups(now_s),
        )

    def _take_state(self, state: RunState, now_s: float) -> None:
        if state != self._state:
            self._state, self._since_s = state, now_s
            if state == RunState.RUNNING:
                self._resumed_s = now_s

    def _standing(self, outlook: Forecast, verdict: Verdict, now_s: float) -> Standing:
        is_pressed = verdict.need.level == Level.ACT or outlook.is_within(NEAR_S)
        self._pressed_s = _since(self._pressed_s, is_pressed, now_s)
        return Standing(
            headroom_bytes=outlook.headroom_bytes,
            reserve_bytes=outlook.reserve_bytes,
            capacity_bytes=outlook.capacity_bytes,
            seconds_left=outlook.seconds_left,
            pressed_for_s=None if self._pressed_s is None else now_s - self._pressed_s,
            paused_for_s=None if self._state == RunState.RUNNING else now_s - (self._since_s or now_s),
            stuck_for_s=None if self._stuck_s is None else now_s - self._stuck_s,
        )

    def _job_cgroups(self, now_s: float) -> tuple[str, ...]:
        if now_s >= self._cgroups_due_s:
            self._cgroups_due_s = now_s + CGROUP_INTERVAL_S
            text = read_file(f"{self._proc_root}/{self._job_pid}/cgroup") if IS_LINUX else None
            if text:  # Else the first process has ended; the rest is most likely where it was.
                self._cgroups = tuple(parse_membership(text).values())
        return self._cgroups

    def _publish(self, me: GuardedRun, now_s: float) -> None:
        before = self._published
        if before is None or _is_urgent(before, me, now_s):
            due_s = self._published_s + PUBLISH_STATE_S
        elif _has_changed(before, me):
            due_s = self._published_s + PUBLISH_SIZE_S
        else:
            return
        if now_s >= due_s:
            self._published, self._published_s = me, now_s
            self._registry.publish(me)


def run_state(state: ActionState) -> RunState:
    """For others: a hold of a tenth of a second is no pause, and a try in the middle of a pause does not end it."""
    if state.stopped_s is not None:
        return RunState.RUNNING  # It runs to its end, and what it holds comes free.
    if state.paused_by == By.USER and state.paused_s is not None:
        return RunState.HELD
    return RunState.PAUSED if state.gives_way or state.short_since_s is not None else RunState.RUNNING


def tightest_room(sample: Sample, reserve: Reserve) -> str:
    """The name of the room that has least left above its reserve."""
    rooms = [(limit.available_bytes - reserve.of(limit.limit_bytes), limit.path) for limit in sample.limits]
    if sample.memory is not None:
        rooms.append((sample.memory.available_bytes - reserve.of(sample.memory.total_bytes), HOST))
    return min(rooms, default=(0, HOST))[1].removesuffix(WITH_SWAP)


def command_name(command: Sequence[str]) -> str:
    """What people call it: the script rather than its interpreter. No arguments, which may be secret."""
    return "tokenize" if is_tokenizer(command) else program_name(" ".join(command)).rpartition(" ")[2]


def _is_urgent(before: GuardedRun, me: GuardedRun, now_s: float) -> bool:
    """What others decide by at once: whether this run runs, and whether it grows."""
    return before.state != me.state or before.grew_within(GROWING_S, now_s) != me.grew_within(GROWING_S, now_s)


def _has_changed(before: GuardedRun, me: GuardedRun) -> bool:
    if (before.grew_s, before.room, before.cgroups) != (me.grew_s, me.room, me.cgroups):
        return True
    return abs(me.job_bytes - before.job_bytes) >= max(GROWTH_STEP_BYTES, before.job_bytes * SIZE_STEP_SHARE)


def _since(since_s: float | None, is_so: bool, now_s: float) -> float | None:
    return (now_s if since_s is None else since_s) if is_so else None
