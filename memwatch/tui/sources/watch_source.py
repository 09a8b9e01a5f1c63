"""The machine without a job: sampled in this process, with the verdicts that a guard would give."""

import asyncio
import time
from collections.abc import Callable

from memwatch.decide.forecast import next_interval_s
from memwatch.decide.monitor import Monitor, verdict_facts
from memwatch.decide.reserve import default_reserve_bytes
from memwatch.journal.events import sample_event, verdict_event
from memwatch.probe.machine import Machine
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from memwatch.tui.sources import Event


class WatchSource:
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

    def picture(self) -> Picture:
        return self._model.picture(time.time())

    def send(self, message: Event) -> bool:
        return False

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
