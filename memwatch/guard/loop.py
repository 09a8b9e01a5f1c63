"""The guard's loop: sample, forecast, decide, act, report.

Everything it needs is opened while the job starts, because when memory runs out is no time to open files.
"""

import os
import selectors
import signal
import time
from typing import Any

from memwatch.channel import Channel
from memwatch.decide.actions import Action, By, Step
from memwatch.decide.confine import confined_facts
from memwatch.decide.forecast import Forecast
from memwatch.decide.monitor import verdict_facts
from memwatch.decide.reserve import reserve_for
from memwatch.decide.turns import Turn, turn_facts
from memwatch.decide.verdict import Verdict
from memwatch.guard import system
from memwatch.guard.act import Actor
from memwatch.guard.action_runner import ActionRunner
from memwatch.guard.decisions import Decisions
from memwatch.guard.event_stream import EventStream
from memwatch.guard.hold import ThreadHolder
from memwatch.guard.job_channel import JobChannel, JobListener
from memwatch.guard.job_control import JobControl
from memwatch.guard.job_ending import KILLED, JobEnding, KernelKills
from memwatch.guard.notify import Notifier
from memwatch.guard.order import GuardOrder
from memwatch.guard.output_relay import OutputRelay
from memwatch.guard.own_signals import OwnSignals
from memwatch.guard.pause_watch import PauseEnd, PauseWatch
from memwatch.guard.progress_watch import JobProgress
from memwatch.guard.reap import JobExit, proven_peak_bytes, reap
from memwatch.guard.runs_together import RunsTogether
from memwatch.guard.scope.job_scope import JobScope
from memwatch.guard.scope.memory_control import MemoryControl
from memwatch.guard.spawn import containment, restore_rank
from memwatch.guard.stand_in import StandIn
from memwatch.guard.view_commands import ResizeCommand, SignalCommand, StepCommand, SwitchCommand, parse_command
from memwatch.guard.views import Views
from memwatch.guard.waiting import Waiting
from memwatch.guard.watchers import Watchers
from memwatch.journal.events import Event
from memwatch.journal.writer import Journal
from memwatch.model.sample import Process, Sample
from memwatch.probe.before_start import BeforeStart
from memwatch.probe.cgroups import memory_sample
from memwatch.probe.machine import Machine


class Guard:
    """The guard of one job: `run` returns when the job has ended. __main__.py makes one after the job has started."""

    def __init__(
        self,
        order: GuardOrder,
        watchers: Watchers,
        front: Channel,
        job_pid: int,
        started_t: float,
        job_listener: JobListener | None,
        scope: JobScope,
        before_start: BeforeStart,
        usual_niceness: int,
    ) -> None:
        self._usual_niceness = usual_niceness
        self._job_pid = job_pid
        self._started_t = started_t
        self._scope = scope
        self._config = config = order.config
        self._watchers = watchers
        self._stand_in = StandIn(config.front_pid, job_pid)
        self._machine = Machine(
            output_folder=os.curdir,
            in_background=True,
            job_cgroup_folder=scope.cgroup_folder,
            shmem_before_bytes=before_start.shmem_bytes,
        )
        self._spared = watchers.pids
        self._kernel_kills = KernelKills(before_start.oom_kills)
        self._command = command = order.command
        self._journal = Journal.open(config.record, command) if config.keeps_record else Journal.unrecorded(command)
        before = memory_sample()
        self._reserve = reserve_for(config.reserve_bytes, config.reserve_fraction, before)
        self._reserve_at_start_bytes = 0 if before.capacity is None else self._reserve.of(before.capacity[0])
        self._decisions = Decisions(config, self._reserve, before)
        self._memory = MemoryControl(scope, self._reserve)
        self._together = RunsTogether(self._journal.run_id, command, job_pid, self._reserve)
        self._notifier = Notifier()
        self._connect(front, job_listener, None if order.terminal is None else order.terminal[0])

    def _connect(self, front: Channel, job_listener: JobListener | None, terminal_fd: int | None) -> None:
        """To views, job and terminal. Nothing is read from them before the loop waits for the first time."""
        self._selector = selectors.DefaultSelector()
        self._views = Views(self._selector, self._handle_command)
        self._views.add(front)
        self._events = EventStream(self._views, self._journal)
        self._holder = ThreadHolder()
        self._actor = Actor(self._job_pid, self._job_now, self._watchers, self._holder, self._events.stopping)
        self._pause_watch = PauseWatch(self._actor, self._job_pid)
        self._ending = JobEnding(self._actor, self._events, self._job_now)
        self._output = OutputRelay(terminal_fd, self._selector, self._events)
        confinement = self._memory.confinement
        self._progress = JobProgress(self._command, self._events, self._output, confinement.note_progress)
        self._job_channel = JobChannel(self._selector, job_listener, self._handle_job_message)
        self._actions = ActionRunner(
            self._actor, self._memory, self._decisions, self._ending, self._pause_watch, self._job_channel,
            self._events, self._output, self._notifier, before_pause=self._take_in_child_changes,
        )  # fmt: skip
        self._job_control = JobControl(self._stand_in, self._actor, self._ending, self._events, self._actions.run)
        self._waiting = Waiting(
            self._selector, self._views, self._job_channel, self._watchers, self._output, self._job_control.check_front
        )

    def run(self) -> int:
        """Guard the job to its end and return the exit code for it."""
        self._signals = OwnSignals(self._selector, self._job_control.forward_sigterm, self._take_in_child_changes)
        if self._journal.path is not None:
            # First: whoever reads of the start may attach. Nobody is admitted before the loop waits.
            self._views.open_attach_socket(self._journal.path, self._greeting)
        self._events.start(self._started_t, *self._facts(), pid=self._job_pid, missing=self._machine.missing())
        system.lock_memory()  # All is loaded; and the job was started before, so that it does not share in it.
        self._take_in_child_changes()  # It may have ended while we were loading.
        while not self._ending.is_over():
            self._tick()
        return self._finish()

    def _finish(self) -> int:
        job_exit = self._ending.job_exit
        assert job_exit is not None
        self._job_channel.finish()  # A short job has reported it all while we were loading.
        if self._actor.is_paused:
            self._actor.resume()  # Somebody has killed the job's first process while all of it was paused.
        self._output.finish()
        self._together.close()
        code, by = self._ending.outcome(job_exit)
        self._views.close()  # Before the journal says that it is over: nobody is to find a socket and no guard.
        more = {"kernel_oom": True} if by is None and self._is_kernels_doing(job_exit) else {}
        left_behind = [process.pid for process in self._ending.alive()]
        restore_rank(left_behind, self._config.lowers_priority, self._usual_niceness)
        self._events.exit(job_exit, code, by, left_behind=len(left_behind), **self._progress.exit_facts(), **more)
        self._watchers.dismiss()
        self._stand_in.job_has_ended()
        return code

    def _is_kernels_doing(self, job_exit: JobExit) -> bool:
        """A shell exits with 128 + SIGKILL when a child of it was killed, so the code counts and not the signal."""
        return job_exit.exit_code == KILLED and self._kernel_kills.happened_by(self._sample().clock_s)

    def _greeting(self) -> list[Event]:
        """For a view that attaches: how much of the journal is its past, and what the journal does not have."""
        joined: Event = {"event": "joined", "journal_bytes": self._journal.size_bytes}
        return [joined, self._events.guard_state, *self._output.greeting()]

    def _facts(self) -> tuple[dict[str, object], dict[str, object]]:
        limits: dict[str, object] = {
            "reserve_bytes": self._reserve_at_start_bytes,
            "on_pressure": self._config.on_pressure,
            "pause_timeout_s": self._config.pause_timeout_s,
        }
        return limits, containment(self._config.lowers_priority) | self._scope.facts.as_json()

    def _tick(self) -> None:
        self._waiting.is_cut_short = False
        if self._waiting.was_too_long():
            self._decisions.monitor.forget()
        sample = self._sample()
        outlook, verdict = self._observe(sample)
        turn = self._together.turn(sample, outlook, verdict, self._decisions.state)
        facts = verdict_facts(outlook, verdict) | turn_facts(turn) | confined_facts(self._decisions.confined)
        paged_out = self._memory.paged_out_facts() if self._actor.is_paused else {}
        self._events.sample(sample, verdict, facts | paged_out)
        self._follow_progress(sample, outlook)
        self._job_control.follow_front()
        self._follow_memory(sample, outlook)
        if not (self._actor.is_paused and self._is_pause_over(sample, outlook)):
            self._climb(verdict, outlook, turn)
        self._ending.kill_newborn()
        interval_s = self._decisions.interval_s(outlook)
        is_busy = self._actor.is_paused or self._ending.job_exit is not None
        if is_busy or not self._decisions.may_rest(verdict, outlook):
            self._waiting.wait(interval_s)
            return
        moved_after_s = self._waiting.rest(interval_s, self._machine.room_use)
        if moved_after_s is not None:
            self._decisions.monitor.nothing_moved_until(moved_after_s)

    def _observe(self, sample: Sample) -> tuple[Forecast, Verdict]:
        outlook, verdict = self._decisions.observe(*self._memory.view(sample))
        self._memory.note(sample, outlook)
        can_confine = self._memory.confine_obstacle() is None
        if can_confine != self._decisions.can_confine:
            self._decisions.allow_confine(can_confine)
            self._report_guard()
        return outlook, verdict

    def _follow_memory(self, sample: Sample, outlook: Forecast) -> None:
        if self._memory.confinement.was_refused(sample.clock_s):
            self._decisions.allow_confine(False)
            self._actions.run(Action(Step.RELEASE, "systemd did not set the limit"), By.GUARD)
        self._memory.follow(sample, outlook, self._decisions, self._actor.is_paused)

    def _is_pause_over(self, sample: Sample, outlook: Forecast) -> bool:
        """Whether somebody else has ended it. A pause is verified: what goes on to grow in it is killed."""
        end = self._pause_watch.end(sample)
        if end is None:
            culprit = self._pause_watch.runaway(sample, outlook)
            if culprit is not None:
                self._ending.kill_runaway(culprit)
            return False
        self._actions.run(Action(Step.RESUME, end.value), By.USER)
        if end is PauseEnd.SUSPENDED:
            # Ctrl-Z: the job stops for its user, who has the shell back, and goes on with fg. It needs a new SIGTSTP,
            # because where a SIGCONT resumes, it discards the one that waits.
            self._job_control.forward(signal.SIGTSTP, to_group=True)
        return True

    def _sample(self) -> Sample:
        is_urgent = self._decisions.is_urgent
        seen = self._machine.sample(time.monotonic(), time.time(), {os.getpid()}, self._spared, is_urgent)
        folder_before = self._memory.scope_folder
        sample = self._memory.seen(seen)
        if self._memory.scope_folder != folder_before:  # systemd has made the scope later than was waited for.
            self._machine.follow_cgroup(self._memory.scope_folder)
        self._kernel_kills.look(sample)
        return sample

    def _follow_progress(self, sample: Sample, outlook: Forecast) -> None:
        confined = self._decisions.confined
        swap_bytes = 0 if confined is None else confined.swap_bytes + confined.swap_left_bytes
        warning = self._progress.look(sample, outlook.headroom_bytes, swap_bytes)
        if warning is not None:
            self._notifier.warn(warning)

    def _job_now(self) -> tuple[Process, ...]:
        return self._machine.job(time.monotonic(), {os.getpid()}, self._spared)

    def _climb(self, verdict: Verdict, outlook: Forecast, turn: Turn) -> None:
        action = self._decisions.next_action(verdict, outlook, turn)
        if action is None or not self._actions.may_run(action):
            return
        # Read again just before what cannot be undone.
        if action.step in (Step.STOP, Step.KILL) and not self._confirms(action):
            return
        self._actions.run(action, By.GUARD)

    def _confirms(self, action: Action) -> bool:
        return self._decisions.confirms(action, self._memory.confinement.view(self._sample()))

    def _take_in_child_changes(self) -> None:
        self._job_channel.admit()  # Before it is reaped: who has reported and ended is still known to be of the job.
        changes = reap(self._job_pid, self._holder.take_status)
        self._ending.job_exit = self._ending.job_exit or changes.ended
        # Of a job that is being ended, every death counts.
        self._waiting.is_cut_short = self._ending.job_exit is not None
        self._events.know_peak(proven_peak_bytes(changes.peaks, self._spared))
        self._spared -= changes.gone
        self._watchers.replace(changes.gone)
        self._spared |= self._watchers.pids
        self._watchers.wake(changes.stopped)
        self._job_control.follow_job(changes)

    def _handle_job_message(self, message: dict[str, Any]) -> None:
        match message.pop("event", None):
            case "hello" if isinstance(message.get("can"), list) and "shard" in message["can"]:
                self._decisions.job_can_shard()
                self._report_guard()
            case "output" if isinstance(message.get("folder"), str):
                self._machine.output_folder = message["folder"]
            case "progress":
                self._progress.report(message)
            case "nodes":
                self._events.nodes(message)
            case "journal" if self._events.journal_path is not None:
                self._job_channel.send({"journal": self._events.journal_path})
            case "note":
                self._events.note(str(message.get("text", "")))
            case "peak":
                self._job_channel.send({"peak_job_bytes": self._events.peak_job_bytes})

    def _handle_command(self, message: dict[str, Any]) -> None:
        match parse_command(message):
            case SignalCommand(number, to_group):
                self._job_control.handle_signal(number, to_group)
            case SwitchCommand(is_on):
                self._decisions.switch(is_on)
                self._report_guard()
                self._events.note(f"the guard is {'on' if is_on else 'off'}")
            case ResizeCommand(rows, columns):
                self._output.resize(rows, columns)
            case StepCommand() as command:
                self._actions.run_command(command)

    def _report_guard(self) -> None:
        self._events.guard(self._decisions.is_on, self._decisions.can_shard, self._decisions.can_confine)
