"""Carries out actions, the ladder's and the user's, and reports them to journal, views and desktop."""

import time
from collections.abc import Callable
from dataclasses import replace

from memwatch.decide.actions import Action, By, Step
from memwatch.guard.act import ActionResult, Actor
from memwatch.guard.decisions import Decisions
from memwatch.guard.event_stream import EventStream
from memwatch.guard.job_channel import JobChannel
from memwatch.guard.job_ending import JobEnding
from memwatch.guard.notify import Notifier
from memwatch.guard.output_relay import OutputRelay
from memwatch.guard.pause_watch import PauseWatch
from memwatch.guard.scope.memory_control import MemoryControl
from memwatch.guard.view_commands import StepCommand
from memwatch.model.units import format_size

BRIEF_PAUSE_S = 1.0
# A pause that reached nobody is not tried again at once.
PAUSE_AGAIN_S = 5.0


class ActionRunner:
    """The loop calls `run` with the ladder's actions and `run_command` with the user's. `before_pause` is called before
    every pause: a stop by the terminal (Ctrl-Z) that came before it is then passed on as such."""

    def __init__(
        self,
        actor: Actor,
        memory: MemoryControl,
        decisions: Decisions,
        ending: JobEnding,
        pause_watch: PauseWatch,
        job_channel: JobChannel,
        events: EventStream,
        output: OutputRelay,
        notifier: Notifier,
        before_pause: Callable[[], None],
    ) -> None:
        self._actor = actor
        self._memory = memory
        self._decisions = decisions
        self._ending = ending
        self._pause_watch = pause_watch
        self._job_channel = job_channel
        self._events = events
        self._output = output
        self._notifier = notifier
        self._before_pause = before_pause
        self._pause_again_s = float("-inf")

    def may_run(self, action: Action) -> bool:
        """False for a pause soon after one that reached nobody."""
        return action.step != Step.PAUSE or time.monotonic() >= self._pause_again_s

    def run(self, action: Action, by: By) -> None:
        """Carry out an action, then report and remember what came of it."""
        result = self._result_of(action, by)
        if action.step == Step.CONFINE:
            asked = format_size(self._memory.confinement.asked_bytes)
            action = replace(action, reason=f"{asked}; {action.reason}")
        self._ending.note_action(action.step, by, result)
        now = time.monotonic()
        # What was not possible has changed nothing; a confinement is then not tried again.
        was_done = {Step.PAUSE: self._actor.is_paused, Step.CONFINE: self._memory.is_confined}
        if was_done.get(action.step, True):
            self._decisions.note_action(action, by, now)
        in_s = None if action.deadline_s is None else action.deadline_s - now
        self._events.action(action, by, result, in_s)
        # A run that gives way to another is in no danger, and a resume is none.
        if by == By.GUARD and not (action.is_brief or action.gives_way or action.step == Step.RESUME):
            self._notifier.danger(action.reason)
        if action.step != Step.WARN:
            self._output.journal_tail()

    def run_command(self, command: StepCommand) -> None:
        """What a user requests; if it is not possible, a note says why."""
        obstacle = self._obstacle(command.step)
        if obstacle is None:
            self.run(Action(command.step, "asked for"), By.USER)
        else:
            self._events.note(obstacle)

    def _obstacle(self, step: Step) -> str | None:
        if step == Step.SHARD and not self._decisions.can_shard:
            return "this job cannot switch to shards"
        if step == Step.CONFINE:
            is_confined = self._memory.is_confined
            obstacle = "it is confined already" if is_confined else self._memory.confine_obstacle()
            return None if obstacle is None else f"the job cannot be confined: {obstacle}"
        if step == Step.RELEASE and not self._memory.is_confined:
            return "the job is not confined"
        return None

    def _result_of(self, action: Action, by: By) -> ActionResult:
        done = ActionResult([self._actor.job_pid], "done")
        match action.step:
            case Step.SHARD:
                self._job_channel.send({"command": "shard", "reason": action.reason})
                return done
            case Step.CONFINE:
                return ActionResult([self._actor.job_pid], self._memory.confine(by))
            case Step.RELEASE:
                self._memory.release()
                return done
            case Step.PAUSE:
                return self._pause(action)
            case Step.RESUME:
                self._memory.end_page_out()
                # The ladder also says when a job that was tried runs on; then nothing is left to resume.
                return self._actor.resume() if self._actor.is_paused else done
            case Step.STOP:
                return self._actor.stop()
            case Step.KILL:
                return self._actor.kill()
        return ActionResult([], "done")  # A warning.

    def _pause(self, action: Action) -> ActionResult:
        self._before_pause()
        was_paused = self._actor.is_paused
        # A pause of tenths of a second has no deadline to announce; but the watchers must know when it is overdue.
        is_over_s = time.monotonic() + BRIEF_PAUSE_S if action.is_brief else action.deadline_s
        result = self._actor.pause(is_over_s)
        self._pause_watch.begin(None if was_paused else result.pids)
        if not self._actor.is_paused:
            self._pause_again_s = time.monotonic() + PAUSE_AGAIN_S
        elif action.is_short or not action.is_brief:
            self._memory.begin_page_out()
        return result
