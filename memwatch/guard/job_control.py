"""Job control: signals for the job that reach memwatch instead, and stops of the job that its front must follow."""

import signal
from collections.abc import Callable

from memwatch.decide.actions import Action, By, Step
from memwatch.guard.act import Actor
from memwatch.guard.event_stream import EventStream
from memwatch.guard.job_ending import JobEnding
from memwatch.guard.pause_watch import PauseEnd
from memwatch.guard.reap import ChildChanges
from memwatch.guard.stand_in import StandIn
from memwatch.on_linux import IS_LINUX
from memwatch.probe.process_waits import ENDING

# Sent to the job's process group, as a terminal, timeout and a shell's kill %1 send them; others to its first process.
FOR_GROUP = (*ENDING, signal.SIGCONT)


class JobControl:
    """`carry_out` is ActionRunner.run: for a SIGCONT that ends a pause of the guard's own."""

    def __init__(
        self,
        stand_in: StandIn,
        actor: Actor,
        ending: JobEnding,
        events: EventStream,
        carry_out: Callable[[Action, By], None],
    ) -> None:
        self._stand_in = stand_in
        self._actor = actor
        self._ending = ending
        self._events = events
        self._carry_out = carry_out

    def forward(self, number: int, to_group: bool) -> None:
        """Send a signal to the job's first process or to its group."""
        if not IS_LINUX and self._actor.is_paused and number in (*ENDING, signal.SIGTSTP):
            # What waits for a paused job is not seen there (pause_watch.py).
            self._carry_out(Action(Step.RESUME, PauseEnd.ENDING.value), By.USER)
        if self._ending.job_exit is None:
            self._actor.forward(number, to_group)

    def forward_sigterm(self) -> None:
        self.forward(signal.SIGTERM, to_group=True)

    def handle_signal(self, number: int, to_group: bool) -> None:
        """A signal that the front was sent, or a view requests."""
        if number == signal.SIGCONT and not self._stand_in.front_passes_on_continue():
            return
        if number == signal.SIGCONT and self._actor.is_paused:
            self._carry_out(Action(Step.RESUME, "asked for"), By.USER)
        elif number != signal.SIGSTOP:  # That is `pause`, which is undone if the guard dies.
            self.forward(number, to_group=to_group or number in FOR_GROUP)

    def follow_front(self) -> None:
        """At every sample: a front that is stopped stops the job."""
        if not self._actor.is_paused:
            self._stand_in.follow_front()

    def follow_job(self, changes: ChildChanges) -> None:
        """A job that somebody has stopped or continued stops or continues its front."""
        if changes.stopped_by is not None and not self._actor.is_paused and self._stand_in.job_was_stopped():
            self._events.suspended(changes.stopped_by)
        elif changes.was_continued:
            self._stand_in.job_was_continued()

    def check_front(self) -> None:
        """After every wake-up: a front that was killed takes the job with it."""
        if self._stand_in.front_was_killed() and not self._ending.has_lost_front:
            self._ending.kill_with_front()
