"""The job's confinement, with a systemd that is played by the test. For the real one: tests/faults/test_confine.py."""

from dataclasses import replace
from pathlib import Path

from memwatch.decide.forecast import Forecast
from memwatch.guard.scope.confinement import Confinement
from memwatch.guard.scope.job_scope import JobScope
from memwatch.guard.scope.reclaim import Reclaimer
from memwatch.model.sample import Limit, Memory, Paging, Pressure, Sample
from memwatch.model.units import GIB, MIB
from tests.guard.processes import wait_until
from tests.guard.test_scope import JOB_PID, RESERVE, FakeSystemd, Play, machine, obliging, systemd

__all__ = ["systemd"]


class Confining:
    """A job with a limit of 9 GiB that holds 4 GiB, in a machine with 8 GiB of swap, of which 6 are free."""

    def __init__(self, play: Play) -> None:
        self.fake: FakeSystemd
        self.scope: JobScope
        self.fake, self.scope = play(obliging)
        self.scope.take_in(JOB_PID, machine(), RESERVE)
        assert self.scope.cgroup_folder is not None
        self.folder = Path(self.scope.cgroup_folder)
        (self.folder / "memory.reclaim").touch()
        self.path = f"{self.fake.slice_path}/{self.scope.facts.name}"
        self.confinement = Confinement(self.scope, Reclaimer(str(self.folder), in_background=False))

    def sample(self, limit: int, clock_s: float, used: int = 4 * GIB, swapped: int = 0) -> Sample:
        return replace(
            machine(3 * GIB, Limit(self.path, limit, used, swapped), clock_s=clock_s),
            pressure=Pressure(9, 9),
            paging=Paging(9, 9, 9, 9),
        )

    def calls(self, count: int) -> bytes:
        """The last of so many."""
        wait_until(lambda: len(self.fake.calls) >= count, f"{count} calls")
        self.scope.close()
        return self.fake.calls[count - 1][1]


def has(call: bytes, name: bytes, value: int) -> bool:
    at = call.find(name + b"\0")
    return at >= 0 and value.to_bytes(8, "little") in call[at : at + len(name) + 24]


def test_a_confined_scope_has_limits_for_memory_and_swap_and_never_memory_high(systemd: Play) -> None:
    job = Confining(systemd)
    assert job.confinement.obstacle(job.sample(9 * GIB, 1.0), 2 * GIB) is None
    assert job.confinement.begin(job.sample(9 * GIB, 1.0), 1 * GIB) == "done"
    call = job.calls(2)
    assert has(call, b"MemoryMax", 5 * GIB)
    assert has(call, b"MemorySwapMax", 6 * GIB - 512 * MIB)
    assert has(call, b"IOWeight", 10)
    assert b"MemoryHigh" not in call


def test_the_job_counts_as_confined_once_the_limit_is_in_force(systemd: Play) -> None:
    job = Confining(systemd)
    job.confinement.begin(job.sample(9 * GIB, 1.0), 1 * GIB)
    before = job.sample(9 * GIB, 1.1)
    assert job.confinement.look(before) is None
    assert job.confinement.view(before) is before
    after = job.sample(5 * GIB, 1.2, swapped=GIB)
    seen = job.confinement.look(after)
    assert seen is not None
    assert (seen.limit_bytes, seen.held_bytes, seen.swap_bytes) == (5 * GIB, 4 * GIB, GIB)
    rest = job.confinement.view(after)
    assert (rest.limits, rest.pressure, rest.paging) == ((), Pressure(0, 0, 0, 0), None)


def test_a_job_whose_pages_are_back_in_ram_is_released_though_they_keep_their_place_in_swap(systemd: Play) -> None:
    job = Confining(systemd)
    job.confinement.begin(job.sample(9 * GIB, 1.0), 1 * GIB)
    for tick in range(50):
        back = job.sample(5 * GIB, 2.0 + tick / 4, swapped=GIB)
        own = replace(back.limits[0], swap_cached_bytes=GIB)
        seen = job.confinement.look(replace(back, limits=(own,)))
    assert seen is not None
    assert seen.has_settled
    assert seen.swap_bytes == 0
    # What swap still takes is as much as it was: the kernel counts these pages against the limit on swap.
    assert seen.swap_left_bytes == 6 * GIB - 512 * MIB - GIB


def test_a_limit_that_systemd_does_not_set_is_given_up(systemd: Play) -> None:
    job = Confining(systemd)
    job.confinement.begin(job.sample(9 * GIB, 1.0), 1 * GIB)
    assert not job.confinement.was_refused(5.0)
    assert job.confinement.was_refused(12.0)
    job.confinement.end()
    assert job.confinement.obstacle(job.sample(9 * GIB, 13.0), 2 * GIB) == "systemd did not set the limit"


def test_the_limit_follows_up_at_once_and_down_after_a_reclaim(systemd: Play) -> None:
    job = Confining(systemd)
    job.confinement.begin(job.sample(9 * GIB, 1.0), 1 * GIB)
    job.calls(2)
    sample = job.sample(5 * GIB, 3.0, used=5 * GIB)
    seen = job.confinement.look(sample)
    assert seen is not None
    job.confinement.follow(sample, seen, Forecast(3.0, 2 * GIB, reserve_bytes=2 * GIB), may_rise=True)
    assert has(job.calls(3), b"MemoryMax", 7 * GIB)
    (job.folder / "memory.current").write_text(f"{4 * GIB}\n")
    for clock_s in (5.0, 7.0):
        job.confinement.follow(
            replace(sample, clock_s=clock_s), seen, Forecast(clock_s, -GIB, reserve_bytes=2 * GIB), may_rise=True
        )
    assert (job.folder / "memory.reclaim").read_text()
    assert has(job.calls(4), b"MemoryMax", 4 * GIB + 8 * MIB)


def test_a_scope_that_systemd_makes_late_is_used(systemd: Play) -> None:
    """Seen on a busy machine: no reply within 2 s, and the job was confined to nothing."""
    fake, scope = systemd(obliging)
    path = f"{fake.slice_path}/{scope._name}"
    sample = machine(3 * GIB, Limit(path, 9 * GIB, 4 * GIB, 0), clock_s=1.0)
    assert scope.cgroup_folder is None
    assert scope.seen(sample, RESERVE).limits[0].kept_bytes
    assert scope.cgroup_folder == f"{scope.top_folder}{path}"
    confinement = Confinement(scope, Reclaimer(scope.cgroup_folder, in_background=False))
    assert confinement.obstacle(sample, 2 * GIB) is None
    assert confinement.begin(sample, GIB) == "done"
    scope.close()


def test_a_job_without_a_scope_is_not_said_to_be_confined(systemd: Play) -> None:
    _, scope = systemd(obliging)
    confinement = Confinement(scope, Reclaimer(None))
    assert confinement.begin(machine(), GIB) == "the job has no scope"
    assert not confinement.is_active
    assert confinement.obstacle(machine(), 2 * GIB) == "the job has no scope"


def test_without_a_scope_or_swap_it_says_why_not(systemd: Play) -> None:
    job = Confining(systemd)
    sample = job.sample(9 * GIB, 1.0)
    no_swap = replace(sample, memory=Memory(16 * GIB, 3 * GIB, 0, 0))
    little = replace(sample, memory=Memory(16 * GIB, 3 * GIB, 8 * GIB, GIB))
    assert job.confinement.obstacle(no_swap, 2 * GIB) == "there is no swap"
    assert job.confinement.obstacle(little, 2 * GIB) == "too little swap is free: 1.0 GiB"
    assert job.confinement.obstacle(machine(), 2 * GIB) == "the job has no memory limit of its own"
