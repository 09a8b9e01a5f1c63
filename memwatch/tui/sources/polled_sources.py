"""Sources that look again and again, because no guard sends them events: a run's output folder, and this machine."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable

from memwatch.decide.forecast import next_interval_s
from memwatch.decide.monitor import Monitor, verdict_facts
from memwatch.decide.reserve import default_reserve_bytes
from memwatch.errors import MemwatchError
from memwatch.journal.events import sample_event, verdict_event
from memwatch.probe.machine import Machine
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from memwatch.tui.sources import Event


class _Unguarded:
    """There is no guard, so no command can be sent."""

    _model: RunModel

    def picture(self) -> Picture:
        return self._model.picture(time.time())

    def send(self, message: Event) -> bool:
        return False


class FolderSource(_Unguarded):
    """A run on many machines as its output folder shows it: nothing of this machine."""

    kind = ViewKind.ATTACH

    def __init__(self, look: Callable[[float], list[Event]], every_s: float) -> None:
        """`look` reads the folder and returns it as events; an `exit` is the last one."""
        self._look = look
        self._every_s = every_s
        self._model = RunModel(ViewKind.ATTACH)
        self._is_left = threading.Event()
        self.is_over = False
        self.failure: MemwatchError | None = None

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        # Textual knows its app by the context, and a thread has one of its own: timers that it sets would fail.
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()

        def arrived(events: list[Event]) -> None:
            for event in events:
                self._model.take(event)
            self.is_over = any(event["event"] == "exit" for event in events)
            if self.is_over or self.failure is not None:
                self.stop()
                ended()
            else:
                changed(events)

        def follow() -> None:
            """In a thread of its own, because a bucket may answer late; one that nobody waits for at the end."""
            while not self._is_left.is_set():
                events: list[Event] = []
                try:
                    events = self._look(time.time())
                except MemwatchError as error:
                    self.failure = error
                except OSError as error:
                    self.failure = MemwatchError(f"cannot read {error.filename or 'the folder'}: {error.strerror}")
                try:
                    loop.call_soon_threadsafe(arrived, events, context=context)
                except RuntimeError:
                    return  # The screen was left meanwhile.
                self._is_left.wait(self._every_s)

        threading.Thread(target=follow, name="folder-reader", daemon=True).start()

    def stop(self) -> None:
        self._is_left.set()


class WatchSource(_Unguarded):
    """The machine without a job: sampled in this process, with the verdicts that a guard would give."""

    kind = ViewKind.WATCH

    def __init__(self, machine: Machine, interval_s: float | None = None) -> None:
        self._machine = machine
        self._interval_s = interval_s
        self._model = RunModel(ViewKind.WATCH, has_job=False)
        self._monitor = Monitor(default_reserve_bytes)

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = changed
        self._look()

    def stop(self) -> None:
        self._next.cancel()

    def _look(self) -> None:
        sample = self._machine.sample(time.monotonic(), time.time(), ())
        outlook, verdict = self._monitor.observe(sample)
        level, facts = verdict.level.name.lower(), verdict_facts(outlook, verdict)
        judged = verdict_event(sample.t, level, verdict.reason, verdict.seconds_left, **facts)
        events = [sample_event(sample), judged]
        for event in events:
            self._model.take(event)
        self._changed(events)
        # A view need not be as quick as a guard that has to act.
        self._next = self._loop.call_later(self._interval_s or max(next_interval_s(outlook), 0.5), self._look)
