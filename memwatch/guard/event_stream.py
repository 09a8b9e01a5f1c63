"""The events of a run: written to the journal and sent to the views, one stream for both."""

import os
import time
from collections.abc import Mapping

from memwatch.decide.actions import Action, By
from memwatch.decide.thresholds import Level
from memwatch.decide.verdict import Verdict
from memwatch.guard.act import ActionResult
from memwatch.guard.reap import JobExit
from memwatch.guard.views import Views
from memwatch.journal.events import Event, output_event
from memwatch.journal.folder import runs_path
from memwatch.journal.writer import Journal
from memwatch.model.sample import Process, Sample

# A view draws once a second while nothing is wrong. A little less: a guard at rest samples a little early.
CALM_SAMPLE_S = 0.8


class EventStream:
    """`journal` may be one that writes nothing (--no-record); the views get the same events."""

    def __init__(self, views: Views, journal: Journal) -> None:
        self._views = views
        self._journal = journal
        self._level = Level.CALM
        self._shown_s = float("-inf")
        self._problem: str | None = None
        self.guard_state: Event = {"t": time.time(), "event": "guard", "is_on": True, "can": []}

    def start(self, t: float, limits: dict[str, object], containment: dict[str, object], **more: object) -> None:
        """The first event of the run, with limits and containment."""
        event = self._journal.start(limits, containment, t, **more)
        self._views.send(event | {"diagnose_as": self._run_name(self._journal.path), "journal": self._journal.path})
        self._report_journal_problem()  # At once: a short job has no sample.

    def _run_name(self, path: str | None) -> str | None:
        """What `memwatch diagnose` takes, for the closing line. Only views get it: a journal may be moved."""
        return "last" if path is not None and os.path.dirname(path) == runs_path() else path

    def sample(self, sample: Sample, verdict: Verdict, facts: Mapping[str, object]) -> None:
        """`facts` are those of `verdict_facts`."""
        name = verdict.level.name.lower()
        sample_event = self._journal.sample(sample)
        verdict_event = self._journal.verdict(name, verdict.reason, verdict.seconds_left, sample.t, **facts)
        self._report_journal_problem()
        is_due = verdict.level >= Level.WARN or sample.clock_s - self._shown_s >= CALM_SAMPLE_S
        if is_due or sample.others is not None or verdict.level != self._level:
            self._shown_s, self._level = sample.clock_s, verdict.level
            self._views.send(sample_event)
            self._views.send(verdict_event)

    def action(self, action: Action, by: By, result: ActionResult, deadline_in_s: float | None) -> None:
        """`deadline_in_s` is how long a pause may last, if it has a deadline."""
        next_step = None if action.next_step is None else action.next_step.value
        more = {"reason": action.reason, "deadline_in_s": deadline_in_s, "next": next_step}
        if action.is_brief:
            more["brief"] = True
        event = self._journal.action(action.step.value, result.pids, by.value, result.result, None, **more)
        self._views.send(event)

    def progress(self, message: dict[str, object]) -> None:
        """What the job reports, as it came."""
        self._views.send(self._journal.progress(message))

    def nodes(self, message: dict[str, object]) -> None:
        """What a run on several machines reports of them."""
        self._views.send(self._journal.nodes(message))

    @property
    def journal_path(self) -> str | None:
        return self._journal.path

    def need(self, facts: Mapping[str, object]) -> None:
        """The memory that the whole run will need (model/run_need.py); empty: nothing is known any more."""
        self._views.send(self._journal.need(facts))

    def note(self, text: str) -> None:
        """A sentence for the views alone."""
        self._views.send({"t": time.time(), "event": "note", "text": text})

    def output(self, text: str) -> None:
        """What the job has written, as it comes: for the views alone."""
        self._views.send(output_event(time.time(), text))

    def output_tail(self, text: str) -> None:
        """The end of the job's output so far: for the journal alone, the views have it already."""
        if text:
            self._journal.output(text)

    def guard(self, is_on: bool, can_shard: bool, can_confine: bool) -> None:
        """How the guard is set, what the job can do, and what can be done to it: for the views alone."""
        can = [word for word, is_so in (("shard", can_shard), ("confine", can_confine)) if is_so]
        self.guard_state = {"t": time.time(), "event": "guard", "is_on": is_on, "can": can}
        self._views.send(self.guard_state)

    def suspended(self, number: int) -> None:
        """The terminal has stopped the job (Ctrl-Z): the process that has the terminal should stop too."""
        self._views.send({"t": time.time(), "event": "suspended", "signal": number})

    def stopping(self, processes: list[Process]) -> None:
        """For the views alone: what SIGSTOP is sent to, so that the front can continue it if the guard dies."""
        named = [[process.pid, process.start_ticks] for process in processes]
        self._views.send({"t": time.time(), "event": "stopping", "processes": named})

    def know_peak(self, job_bytes: int | None) -> None:
        """A peak that the kernel has counted, which samples may have missed."""
        if job_bytes is not None:
            self._journal.know_peak(job_bytes)

    @property
    def peak_job_bytes(self) -> int | None:
        """The job's peak memory so far."""
        return self._journal.peak_job_bytes

    def exit(self, job_exit: JobExit, code: int, by: By | None, **more: object) -> None:
        """The last event; the journal is closed with it."""
        self._views.send(self._journal.exit(code, job_exit.signal, None if by is None else by.value, None, **more))
        self._journal.close()

    def _report_journal_problem(self) -> None:
        if self._journal.problem != self._problem:
            self._problem = self._journal.problem
            self.note(self._problem or "the journal is written again")
