"""Controls how much memory the job has: the limit of its scope, its confinement, and what a pause pages out.

loop.py calls it at every sample, and action_runner.py for the actions confine, release, pause and resume.
"""

import time

from memwatch.decide.actions import By
from memwatch.decide.confine_history import Confined
from memwatch.decide.forecast import Forecast
from memwatch.decide.reserve import Reserve
from memwatch.guard.decisions import Decisions
from memwatch.guard.page_out import PageOut
from memwatch.guard.scope.confinement import Confinement
from memwatch.guard.scope.job_scope import JobScope
from memwatch.guard.scope.reclaim import Reclaimer
from memwatch.model.sample import Sample


class MemoryControl:
    """One for the whole run. The last sample and its forecast are kept for actions between two samples."""

    def __init__(self, scope: JobScope, reserve: Reserve) -> None:
        self._sample: Sample | None = None
        self._outlook: Forecast | None = None
        self._scope = scope
        self._reserve = reserve
        self._reclaimer = Reclaimer(scope.cgroup_folder)
        self.confinement = Confinement(scope, self._reclaimer)
        self._page_out = PageOut(self._reclaimer)

    @property
    def is_confined(self) -> bool:
        """From the request on, also while the limit is not in force yet."""
        return self.confinement.is_active

    @property
    def scope_folder(self) -> str | None:
        """The job's cgroup; None without a scope. systemd may make it later than the start of the job waited for."""
        return self._reclaimer.folder

    def seen(self, sample: Sample) -> Sample:
        """The sample, with what the scope's limit keeps of the reserve itself."""
        sample = self._scope.seen(sample, self._reserve)
        self._reclaimer.folder = self._scope.cgroup_folder
        return sample

    def view(self, sample: Sample) -> tuple[Sample, Confined | None, dict[str, int]]:
        """What decisions are made from: the sample without a confined job's own swapping, what is known of the
        confinement, and what is free in each room only because the job was paged out."""
        confined = self.confinement.look(sample)
        # A confined job cannot take back more than its limit allows.
        debts = {} if confined is not None else self._page_out.debts(sample)
        return self.confinement.view(sample), confined, debts

    def note(self, sample: Sample, outlook: Forecast) -> None:
        """With every sample, after its forecast."""
        self._sample, self._outlook = sample, outlook

    def confine_obstacle(self) -> str | None:
        """Why the job cannot be confined now, in words for the user; None if it can."""
        if self._sample is None or self._outlook is None:
            return "nothing was sampled yet"
        return self.confinement.obstacle(self._sample, self._outlook.reserve_bytes)

    def confine(self, by: By) -> str:
        """Returns what came of it, in words for the journal. By a user's request the limit is what the job has; else it
        includes what is free above the reserve."""
        if self._sample is None or self._outlook is None:
            return "nothing was sampled yet"
        return self.confinement.begin(self._sample, 0 if by == By.USER else self._outlook.headroom_bytes or 0)

    def release(self) -> None:
        """End the confinement. The limit follows the machine again."""
        self.confinement.end()
        if self._sample is not None:
            self._scope.follow(self._sample, self._reserve)  # At once: the job is at its old limit.

    def begin_page_out(self) -> None:
        """The job is paused for longer than a moment."""
        self._page_out.begin(self._sample, time.monotonic())

    def end_page_out(self) -> None:
        """The job runs on."""
        self._page_out.end()

    def follow(self, sample: Sample, outlook: Forecast, decisions: Decisions, is_paused: bool) -> None:
        """Move the job's limit, and page out a job that is paused, as the machine's memory demands."""
        state = decisions.state
        if not self.is_confined:
            self._scope.follow(sample, self._reserve)
        elif decisions.confined is not None:
            may_rise = state.confined_by == By.GUARD and not is_paused
            self.confinement.follow(sample, decisions.confined, outlook, may_rise)
        if is_paused:
            # A user's pause alone calls for nothing: the memory may not be needed by anybody.
            free_bytes = (outlook.headroom_bytes or 0) + decisions.debt_bytes(outlook)
            is_wanted = state.paused_by == By.GUARD or free_bytes < outlook.reserve_bytes
            self._page_out.follow(sample, is_wanted and not self.is_confined)

    def paged_out_facts(self) -> dict[str, object]:
        """What the verdict event of a paused job carries."""
        freed = self._page_out.freed_bytes
        return {"paged_out_bytes": freed} if freed else {}
