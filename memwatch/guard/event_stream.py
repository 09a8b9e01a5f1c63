"""Tells the journal and the views what happens: one stream of events for both."""

import os
import time
from collections.abc import Mapping

from memwatch.decide.actions import Action, By
from memwatch.decide.thresholds import Level
from memwatch.decide.verdict import Verdict
from memwatch.guard.act import ActionResult
from memwatch.guard.views import Views
from memwatch.guard.wait import JobExit
from memwatch.journal import events
from memwatch.journal.folder import runs_path
from memwatch.journal.liveness import GuardId
from memwatch.journal.writer import Journal
from memwatch.model.sample import Process, Sample

# A view draws once a second while nothing is wrong.
CALM_SAMPLE_S = 1.0


class EventStream:
    def __init__(self, views: Views, journal: Journal | None, command: tuple[str, ...]) -> None:
        self._views = views
        self._journal = journal
        self._command = command
        self._level = Level.CALM
        self._shown_s = float("-inf")
        self._problem: str | None = None
        self.guard_state: events.Event = {"t": time.time(), "event": "guard", "is_on": True, "can": []}

    def start(self, t: float, limits: dict[str, object], containment: dict[str, object], **more: object) -> None:
        if self._journal is not None:
            event = self._journal.start(limits, containment, t, **more)
            self._views.send(event | {"diagnose_as": self._run_name(self._journal.path)})
            self._tell_of_journal(self._journal)  # At once: a short job has no sample.
        else:
            event = events.start_event(t, "", GuardId.this(), self._command, limits, containment)
            self._views.send(event | more)

    def _run_name(self, path: str | None) -> str | None:
        """What `memwatch diagnose` takes, for the closing line. Only views get it: a journal may be moved."""
        return "last" if path is not None and os.path.dirname(path) == runs_path() else path

    def sample(self, sample: Sample, verdict: Verdict, facts: Mapping[str, object]) -> None:
        """`facts` are those of verdict_facts.py."""
        name = verdict.level.name.lower()
        if self._journal is not None:
            told = self._journal.sample(sample)
            judged = self._journal.verdict(name, verdict.reason, verdict.seconds_left, sample.t, **facts)
            self._tell_of_journal(self._journal)
        else:
            told = events.sample_event(sample)
            judged = events.verdict_event(sample.t, name, verdict.reason, verdict.seconds_left, **facts)
        is_due = verdict.level >= Level.WARN or sample.clock_s - self._shown_s >= CALM_SAMPLE_S
        if is_due or sample.others is not None or verdict.level != self._level:
            self._shown_s, self._level = sample.clock_s, verdict.level
            self._views.send(told)
            self._views.send(judged)

    def action(self, action: Action, by: By, done: ActionResult, deadline_in_s: float | None) -> None:
        pids, result = done.pids, done.result
        next_step = None if action.next_step is None else action.next_step.value
        more = {"reason": action.reason, "deadline_in_s": deadline_in_s, "next": next_step}
        if action.is_brief:
            more["brief"] = True
        if self._journal is not None:
            self._views.send(self._journal.action(action.step.value, pids, by.value, result, None, **more))
        else:
            self._views.send(events.action_event(time.time(), action.step.value, pids, by.value, result, **more))

    def progress(self, message: dict[str, object]) -> None:
        if self._journal is not None:
            self._views.send(self._journal.progress(message))
        else:
            self._views.send(events.progress_event(time.time(), message))

    def note(self, text: str) -> None:
        self._views.send({"t": time.time(), "event": "note", "text": text})

    def output(self, text: str) -> None:
        """What the job has written, as it comes: for the views alone."""
        self._views.send(events.output_event(time.time(), text))

    def output_tail(self, text: str) -> None:
        """The job's last words so far: for the journal alone, the views have seen them."""
        if self._journal is not None and text:
            self._journal.output(text)

    def guard(self, is_on: bool, can_shard: bool) -> None:
        """How the guard is set, and what the job can do: for the views alone."""
        can = ["shard"] if can_shard else []
        self.guard_state = {"t": time.time(), "event": "guard", "is_on": is_on, "can": can}
        self._views.send(self.guard_state)

    def suspended(self, number: int) -> None:
        """The terminal has stopped the job (Ctrl-Z): whoever has the terminal should stop too."""
        self._views.send({"t": time.time(), "event": "suspended", "signal": number})

    def stopping(self, processes: list[Process]) -> None:
        """For the views alone: what SIGSTOP is sent to, so that the front can continue it if the guard dies."""
        named = [[process.pid, process.start_ticks] for process in processes]
        self._views.send({"t": time.time(), "event": "stopping", "processes": named})

    def exit(self, ended: JobExit, code: int, by: By | None, **more: object) -> None:
        who = None if by is None else by.value
        if self._journal is not None:
            self._journal.know_peak(ended.peak_bytes)
            self._views.send(self._journal.exit(code, ended.signal, who, None, **more))
            self._journal.close()
        else:
            self._views.send(events.exit_event(time.time(), code, ended.signal, who, **more))

    def _tell_of_journal(self, journal: Journal) -> None:
        if journal.problem != self._problem:
            self._problem = journal.problem
            self.note(self._problem or "the journal is written again")
