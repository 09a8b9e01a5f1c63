"""The guard's loop: sample, forecast, decide, act, tell.

Everything it needs is opened while the job starts, because when memory runs out is no time to open files.
"""

import os
import selectors
import signal
import socket
import time
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Any

from memwatch.channel import Channel
from memwatch.decide.actions import Action, ActionState, By, LadderSettings, OnPressure, Step, after, observed
from memwatch.decide.forecast import SLOWEST_INTERVAL_S, Forecast, next_interval_s
from memwatch.decide.kernel_kills import KernelKills
from memwatch.decide.ladder import interval_s as ladder_interval_s
from memwatch.decide.ladder import is_confirmed, next_action
from memwatch.decide.monitor import Monitor
from memwatch.decide.pause_check import runaway
from memwatch.decide.thresholds import Level
from memwatch.decide.turns import Turn, turn_facts
from memwatch.decide.verdict import Verdict
from memwatch.decide.verdict_facts import verdict_facts
from memwatch.errors import ExitCode
from memwatch.guard import system
from memwatch.guard.act import ActionResult, Actor
from memwatch.guard.event_stream import EventStream
from memwatch.guard.hold import ThreadHolder
from memwatch.guard.job_channel import JobChannel, JobListener
from memwatch.guard.job_output import JobOutput
from memwatch.guard.left_behind import restore_rank
from memwatch.guard.notify import notify
from memwatch.guard.order import GuardOrder
from memwatch.guard.reserve_at_start import reserve_bytes, reserve_for
from memwatch.guard.runs_together import RunsTogether
from memwatch.guard.scope.job_scope import JobScope
from memwatch.guard.spawn import HANDLED, IGNORED, containment
from memwatch.guard.stand_in import StandIn
from memwatch.guard.views import Views
from memwatch.guard.wait import JobExit, reap
from memwatch.guard.watcher import Watcher
from memwatch.journal.events import Event, output_event
from memwatch.journal.writer import Journal
from memwatch.model.sample import Process, Sample
from memwatch.model.units import MIB
from memwatch.probe.before_start import BeforeStart
from memwatch.probe.machine import Machine
from memwatch.probe.memory_sample import memory_sample
from memwatch.probe.pending_signals import ENDING, is_suspended, pending_signals
from memwatch.probe.position import InputPosition

# Sent to the job's process group, as a terminal, timeout and a shell's kill %1 send them; others to its first process.
FOR_GROUP = (*ENDING, signal.SIGCONT)
# A guard that thrashes with everybody else is late, too; it takes half a second to know again what goes on.
OVERSLEPT_S = 5.0
# So near to the end of headroom the job is read as often as its room: whose growth it is decides what is done.
URGENT_S = 3.0
# Less is what a machine at rest moves to and fro within a second.
MOVED_BYTES = 4 * MIB
KILLED = 128 + signal.SIGKILL
BRIEF_PAUSE_S = 1.0
# For each process of a paused job: between two looks at what signals wait for all of them, which take 15 us each.
PENDING_INTERVAL_S = 0.003
# A pause that reached nobody is not tried again at once.
PAUSE_AGAIN_S = 5.0
# What SIGKILL does not end in this time hangs in the kernel; nobody is to wait for that.
UNKILLABLE_S = 60.0


class Guard:
    def __init__(
        self,
        order: GuardOrder,
        watcher: Watcher,
        front: Channel,
        job_pid: int,
        started_t: float,
        job_listener: JobListener | None,
        scope: JobScope,
        before_start: BeforeStart,
    ) -> None:
        self._job_pid = job_pid
        self._started_t = started_t
        self._scope = scope
        self._job_listener = job_listener
        self._config = config = order.config
        self._watcher = watcher
        self._stand_in = StandIn(config.front_pid, job_pid)
        self._selector = selectors.DefaultSelector()
        self._views = Views(self._selector, self._handle_command)
        self._views.add(front)
        self._output = None if order.terminal is None else JobOutput(order.terminal[0])
        self._machine = Machine(
            output_folder=os.curdir,
            in_background=True,
            job_cgroup_folder=scope.cgroup_folder,
            shmem_before_bytes=before_start.shmem_bytes,
        )
        self._is_urgent = False
        self._position: InputPosition | None = InputPosition(
            in_background=True
        )  # None: the job tells of its progress itself.
        self._spared = {watcher.pid}
        self._kernel_kills = KernelKills(before_start.oom_kills)
        self._holder = ThreadHolder()
        self._actor = Actor(self._job_now, watcher, self._holder, lambda stopped: self._events.stopping(stopped))
        self._journal = Journal.open(config.record, order.command) if config.keeps_record else None
        self._events = EventStream(self._views, self._journal, order.command)
        before = memory_sample()
        self._reserve = reserve_for(config, before)
        self._reserve_at_start_bytes = reserve_bytes(self._reserve, before)
        self._monitor = Monitor(self._reserve.of)
        self._monitor.forecast(before)
        self._on_pressure = OnPressure(config.on_pressure)
        self._ladder_settings = LadderSettings(self._on_pressure, pause_timeout_s=config.pause_timeout_s)
        self._state = ActionState()
        run_id = None if self._journal is None else self._journal.run_id
        self._together = RunsTogether(run_id, order.command, job_pid, self._reserve)
        self._due_s = time.monotonic()
        self._is_on = True
        self._notified = False
        self._stopped_by: By | None = None
        self._ended: JobExit | None = None
        self._signalled = False
        self._has_lost_front = False
        self._first_of_pause: Sample | None = None
        self._pause_again_s = self._pending_due_s = float("-inf")
        self._pending_before: dict[int, set[signal.Signals]] = {}
        self._killed: set[int] = set()
        self._killed_s: float | None = None
        self._killed_one = False  # a single process, because its pause did not hold
        self._is_news = False

    def run(self) -> int:
        """Guard the job to its end and return the exit code for it."""
        self._listen_to_signals()
        self._events.start(self._started_t, *self._facts(), pid=self._job_pid, missing=self._machine.missing())
        self._open_attach_socket()
        self._job_channel = JobChannel(self._selector, self._job_listener, self._handle_job_message)
        if self._output is not None:
            self._selector.register(self._output, selectors.EVENT_READ, self._read_output)
        system.lock_memory()  # All is loaded; and the job was started before, so that it does not share in it.
        self._take_in_child_changes()  # It may have ended while we were loading.
        while self._ended is None or self._is_ending_the_rest():
            self._tick()
        return self._finish(self._ended)

    def _is_ending_the_rest(self) -> bool:
        """After a stop, what the job has left behind belongs to it: the guard stays until all of it has ended."""
        if self._stopped_by is None:
            return False  # It ended by itself; daemons that it has started live on.
        if self._killed_s is not None and time.monotonic() - self._killed_s > UNKILLABLE_S:
            return False
        return bool(self._alive())

    def _finish(self, ended: JobExit) -> int:
        self._job_channel.read_remaining()  # A short job has told it all while we were loading.
        if self._actor.is_paused:
            self._actor.resume()  # Somebody has killed the job's first process while all of it was paused.
        if self._output is not None:
            self._output.read_remaining()
            self._pass_output_on(self._output)
            self._events.output_tail(self._output.tail)
        self._together.close()
        if self._killed_one and ended.exit_code != ExitCode.OK and self._stopped_by is None:
            self._stopped_by = By.GUARD  # It did not survive the loss of a process that the guard had to kill.
        code = ExitCode.STOPPED if self._stopped_by == By.GUARD else ended.exit_code
        self._views.close()  # Before the journal says that it is over: nobody is to find a socket and no guard.
        more = {"kernel_oom": True} if self._is_kernels_doing(ended) else {}
        by = self._stopped_by or (By.USER if self._has_lost_front else None)
        self._events.exit(ended, code, by, left_behind=self._left_behind(), **more)
        self._watcher.dismiss()
        self._stand_in.job_has_ended()
        return code

    def _is_kernels_doing(self, ended: JobExit) -> bool:
        """A shell tells in its exit code of a child that was killed."""
        if self._stopped_by is not None or self._has_lost_front or ended.exit_code != KILLED:
            return False
        return self._kernel_kills.happened_by(self._sample({os.getpid()}).clock_s)

    def _open_attach_socket(self) -> None:
        journal = self._journal
        if journal is not None and journal.path is not None:
            self._views.open_attach_socket(journal.path, lambda: self._greeting(journal))

    def _greeting(self, journal: Journal) -> list[Event]:
        """For a view that joins: how much of the journal is its past, and what does not stand there."""
        greeting: list[Event] = [{"event": "joined", "journal_bytes": journal.size_bytes}, self._events.guard_state]
        if self._output is not None:
            greeting.append(output_event(time.time(), self._output.tail, tail=True))
        return greeting

    def _facts(self) -> tuple[dict[str, object], dict[str, object]]:
        limits: dict[str, object] = {
            "reserve_bytes": self._reserve_at_start_bytes,
            "on_pressure": self._config.on_pressure,
            "pause_timeout_s": self._config.pause_timeout_s,
        }
        return limits, containment(self._config.lowers_priority) | self._scope.facts.as_json()

    def _tick(self) -> None:
        self._is_news = False
        self._wake()
        sample = self._sample({os.getpid()})
        outlook, verdict = self._monitor.observe(sample)
        self._is_urgent = verdict.level >= Level.WARN or outlook.is_within(URGENT_S)
        self._state = observed(self._state, verdict.level, outlook, self._ladder_settings)
        turn = self._together.turn(sample, outlook, verdict, self._state)
        self._events.sample(sample, verdict, verdict_facts(outlook, verdict) | turn_facts(turn))
        self._look_at_position(sample)
        if not self._actor.is_paused:
            self._stand_in.follow_front()
        self._scope.follow(sample, self._reserve)
        if not (self._actor.is_paused and self._is_pause_over(sample, outlook)):
            self._climb(verdict, outlook, turn)
        if self._killed_s is not None:
            self._kill_the_rest()
        interval_s = self._config.interval_s or ladder_interval_s(
            self._state, self._ladder_settings, outlook, next_interval_s(outlook)
        )
        if self._config.interval_s is None and self._is_at_rest(verdict, outlook):
            self._rest(interval_s)
        else:
            self._due_s = time.monotonic() + interval_s
            self._wait(interval_s)

    def _is_at_rest(self, verdict: Verdict, outlook: Forecast) -> bool:
        if verdict.level >= Level.WARN or outlook.seconds_left is not None or outlook.headroom_bytes is None:
            return False
        return not self._actor.is_paused and self._state.hold_again_bytes is None and self._ended is None

    def _rest(self, interval_s: float) -> None:
        """Up to a second without a sample, in which only the use of memory is read: small rooms are small for long."""
        before = self._machine.room_use()
        began_s = time.monotonic()
        while not self._is_news:
            checked_s = time.monotonic()
            self._due_s = checked_s + interval_s
            self._wait(interval_s)
            if _has_moved(before, self._machine.room_use()):
                self._monitor.nothing_moved_until(checked_s)
                return
            if time.monotonic() + interval_s > began_s + SLOWEST_INTERVAL_S:
                return

    def _is_pause_over(self, sample: Sample, outlook: Forecast) -> bool:
        """Whether somebody else has ended it. A pause is verified: who goes on to grow in it is killed."""
        waiting = self._signals_since_pause(sample)
        if waiting & set(ENDING):
            self._carry_out(Action(Step.RESUME, "the job has a signal to end, and needs to run for that"), By.USER)
            return True
        if is_suspended(self._job_pid):
            self._suspend_instead()
            return True
        if self._actor.was_continued() or signal.SIGCONT in waiting:
            self._carry_out(Action(Step.RESUME, "resumed by SIGCONT from outside memwatch"), By.USER)
            return True
        self._first_of_pause = first = self._first_of_pause or sample
        not_stopped = self._actor.not_yet_stopped()
        culprit = runaway(first, sample, not_stopped, outlook.headroom_bytes, outlook.reserve_bytes)
        if culprit is not None and culprit.process.pid not in self._killed:
            self._killed.add(culprit.process.pid)
            self._killed_one = True
            done = self._actor.kill_one(culprit.process)
            self._events.action(Action(Step.KILL, culprit.reason), By.GUARD, done, None)
        return False

    def _signals_since_pause(self, sample: Sample) -> set[signal.Signals]:
        """What waits for any process of the paused job, and was sent from outside: the job itself cannot send."""
        if sample.clock_s < self._pending_due_s:
            return set()
        self._pending_due_s = sample.clock_s + len(sample.job) * PENDING_INTERVAL_S
        before = self._pending_before
        return {s for p in sample.job for s in pending_signals(p.pid) - before.get(p.pid, set())}

    def _kill_the_rest(self) -> None:
        """What was born while the rest was being killed."""
        new = [process for process in self._alive() if process.pid not in self._killed]
        if new:
            done = self._actor.kill()
            self._killed |= set(done.pids) | {process.pid for process in new}
            self._events.action(Action(Step.KILL, "started while the job was being killed"), By.GUARD, done, None)

    def _wake(self) -> None:
        """Somebody may have stopped us (SIGSTOP), or the machine has stood still: what we know is old."""
        if time.monotonic() - self._due_s > OVERSLEPT_S:
            self._monitor.forget()

    def _sample(self, roots: Any) -> Sample:
        seen = self._machine.sample(time.monotonic(), time.time(), roots, self._spared, self._is_urgent)
        sample = self._scope.seen(seen, self._reserve)
        self._kernel_kills.look(sample)
        return sample

    def _look_at_position(self, sample: Sample) -> None:
        position = None if self._position is None else self._position.look(sample.job, sample.clock_s)
        if position is not None:
            size = {"done": position.done_bytes, "total": position.total_bytes, "unit": "bytes"}
            self._events.progress(size | {"source": "open file", "name": position.name})

    def _job_now(self) -> Any:
        return self._machine.job(time.monotonic(), {os.getpid()}, self._spared)

    def _climb(self, verdict: Verdict, outlook: Forecast, turn: Turn) -> None:
        action = next_action(self._state, self._ladder_settings, verdict, outlook, turn=turn)
        if action is None or (action.step == Step.PAUSE and time.monotonic() < self._pause_again_s):
            return
        if action.step in (Step.STOP, Step.KILL):
            # Read again just before what cannot be undone.
            fresh = self._monitor.forecast(self._sample({os.getpid()}))
            if not is_confirmed(action, self._state, self._ladder_settings, fresh):
                return
        self._carry_out(action, By.GUARD)

    def _carry_out(self, action: Action, by: By) -> None:
        done = ActionResult([], "done")
        match action.step:
            case Step.SHARD:
                self._job_channel.send({"command": "shard", "reason": action.reason})
                done = ActionResult([self._job_pid], "done")
            case Step.PAUSE:
                done = self._pause(action)
            case Step.RESUME:
                # The ladder also says when a job that was tried runs on; then nothing is left to resume.
                done = self._actor.resume() if self._actor.is_paused else ActionResult([self._job_pid], "done")
            case Step.STOP:
                done = self._actor.stop()
            case Step.KILL:
                done = self._actor.kill()
                self._killed |= set(done.pids)
                self._killed_s = time.monotonic()
        if action.step in (Step.STOP, Step.KILL) and self._stopped_by is None:
            self._stopped_by = by
        now = time.monotonic()
        if action.step != Step.PAUSE or self._actor.is_paused:
            self._state = after(self._state, action, now, by, self._ladder_settings)
        in_s = None if action.deadline_s is None else action.deadline_s - now
        self._events.action(action, by, done, in_s)
        # A run that gives way to another is in no danger, and a resume is none.
        if by == By.GUARD and not (action.is_brief or action.gives_way or action.step == Step.RESUME):
            self._notify(action.reason)
        if self._output is not None and action.step != Step.WARN:
            self._events.output_tail(self._output.tail)

    def _pause(self, action: Action) -> ActionResult:
        self._take_in_child_changes()  # A stop by the terminal (Ctrl-Z) that came before is still passed on as such.
        was_paused = self._actor.is_paused
        self._first_of_pause = None
        # A pause of tenths of a second has no deadline to announce; but the watcher must know when it is overdue.
        is_over_s = time.monotonic() + BRIEF_PAUSE_S if action.is_brief else action.deadline_s
        done = self._actor.pause(is_over_s)
        if not was_paused:
            self._pending_before = {pid: pending_signals(pid) for pid in done.pids}
        if not self._actor.is_paused:
            self._pause_again_s = time.monotonic() + PAUSE_AGAIN_S
        return done

    def _notify(self, reason: str) -> None:
        if not self._notified:
            self._notified = True
            self._notification = notify("memwatch: memory is running out", reason)

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while True:
            ready = self._selector.select(max(self._next_due_s(deadline) - time.monotonic(), 0))
            for key, _ in ready:
                key.data()
            now = time.monotonic()
            if self._output is not None and self._output.due_s <= now:
                self._pass_output_on(self._output)
            self._resume_reading(now)
            self._watcher.beat(now)
            if self._stand_in.front_was_killed() and not self._has_lost_front:
                self._end_with_front()
            if self._is_news or now >= deadline:
                return

    def _next_due_s(self, deadline: float) -> float:
        due_s = min(deadline, self._views.due_s, self._job_channel.due_s, self._watcher.due_s)
        return due_s if self._output is None else min(due_s, self._output.due_s)

    def _resume_reading(self, now: float) -> None:
        self._views.resume_reading(now)
        if self._job_channel.due_s <= now:
            self._job_channel.resume_reading()

    def _listen_to_signals(self) -> None:
        self._wakeup, ring = socket.socketpair()
        self._wakeup.setblocking(False)
        ring.setblocking(False)
        self._ring = ring
        signal.set_wakeup_fd(ring.fileno(), warn_on_full_buffer=False)
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        for number in HANDLED:
            signal.signal(number, self._note)
        self._selector.register(self._wakeup, selectors.EVENT_READ, self._on_signal)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self._signalled = True

    def _on_signal(self) -> None:
        self._wakeup.recv(4096)
        if self._signalled:
            self._signalled = False
            self._pass_on(signal.SIGTERM, to_group=True)
        self._take_in_child_changes()

    def _take_in_child_changes(self) -> None:
        self._job_channel.admit()  # Before it is reaped: who has reported and ended is still known to be of the job.
        changes = reap(self._job_pid, self._holder.take_status)
        self._ended = self._ended or changes.ended
        self._is_news = self._ended is not None  # Of a job that is being ended, every death is.
        self._spared -= changes.gone
        if self._watcher.pid in changes.gone:
            self._watcher.replace()
            self._spared.add(self._watcher.pid)
        if self._watcher.pid in changes.stopped:
            self._watcher.wake()
        if changes.stopped_by is not None and not self._actor.is_paused and self._stand_in.job_was_stopped():
            self._events.suspended(changes.stopped_by)
        elif changes.was_continued:
            self._stand_in.job_was_continued()

    def _handle_job_message(self, message: dict[str, Any]) -> None:
        match message.pop("event", None):
            case "hello" if "shard" in _words(message.get("can")):
                self._can_shard()
            case "output" if isinstance(message.get("folder"), str):
                self._machine.output_folder = message["folder"]
            case "progress":
                self._position = None
                self._events.progress(message)
            case "note":
                self._events.note(str(message.get("text", "")))

    def _read_output(self) -> None:
        assert self._output is not None
        self._output.take()
        if not self._output.is_open:
            self._selector.unregister(self._output)

    def _pass_output_on(self, output: JobOutput) -> None:
        for piece in output.pieces(time.monotonic()):
            self._events.output(piece)

    def _can_shard(self) -> None:
        self._ladder_settings = replace(self._ladder_settings, can_shard=True)
        self._events.guard(self._is_on, can_shard=True)

    def _switch(self, is_on: bool) -> None:
        """Off, it only warns; but what has been begun is brought to an end: a pause is undone, a stop is completed."""
        self._is_on = is_on
        on_pressure = self._on_pressure if is_on else OnPressure.WARN
        self._ladder_settings = replace(self._ladder_settings, on_pressure=on_pressure)
        self._events.guard(is_on, self._ladder_settings.can_shard)
        self._events.note(f"the guard is {'on' if is_on else 'off'}")

    def _handle_command(self, message: dict[str, Any]) -> None:
        command = str(message.get("command"))
        if command == "signal":
            self._handle_signal_command(_whole(message.get("number"), 0), to_group=message.get("to_group") is True)
        elif command in ("guard_on", "guard_off"):
            self._switch(command == "guard_on")
        elif command == Step.SHARD and not self._ladder_settings.can_shard:
            self._events.note("this job cannot switch to shards")
        elif command == "resize" and self._output is not None:
            self._output.resize(_whole(message.get("rows"), 24), _whole(message.get("columns"), 80))
        elif command in set(Step) - {Step.WARN}:
            self._carry_out(Action(Step(command), "asked for"), By.USER)

    def _handle_signal_command(self, number: int, to_group: bool) -> None:
        """A signal that the front was sent, or a view asks for."""
        if number == signal.SIGCONT and not self._stand_in.front_passes_on_continue():
            return
        if number == signal.SIGCONT and self._actor.is_paused:
            self._carry_out(Action(Step.RESUME, "asked for"), By.USER)
        elif number != signal.SIGSTOP:  # That is `pause`, which is undone if the guard dies.
            self._pass_on(number, to_group=to_group or number in FOR_GROUP)

    def _pass_on(self, number: int, to_group: bool) -> None:
        """The job is our child and not reaped yet: its pid, which names its group too, is still its own."""
        if self._ended is None:
            with suppress(OSError):
                (os.killpg if to_group else os.kill)(self._job_pid, number)

    def _suspend_instead(self) -> None:
        """Ctrl-Z during a pause: the job stops for its user, who has the shell back, and goes on with fg."""
        self._carry_out(Action(Step.RESUME, "suspended from the terminal"), By.USER)
        self._pass_on(signal.SIGTSTP, to_group=True)  # Where a SIGCONT resumes, it discards the one that waits.

    def _end_with_front(self) -> None:
        """Somebody has killed `memwatch run`, and means the job: subprocess.run(timeout=) does so."""
        self._has_lost_front = True
        self._pass_on(signal.SIGKILL, to_group=True)
        killed = ActionResult([self._job_pid], "done")
        self._events.action(Action(Step.KILL, "memwatch run was killed"), By.USER, killed, None)

    def _left_behind(self) -> int:
        """Processes of the job that live on without it, and without a guard."""
        pids = [process.pid for process in self._alive()]
        restore_rank(pids, self._config.lowers_priority)
        return len(pids)

    def _alive(self) -> list[Process]:
        return [process for process in self._job_now() if process.state not in "ZX"]


def _has_moved(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    if len(before) != len(after):
        return True
    return any(abs(now - then) >= MOVED_BYTES for then, now in zip(before, after, strict=True))


def _whole(value: object, otherwise: int) -> int:
    """Views may say what they like; it must not be the guard's end."""
    return value if isinstance(value, int) and 0 <= value < 1 << 16 else otherwise


def _words(value: object) -> list[object]:
    """So may jobs."""
    return value if isinstance(value, list) else []
