"""Jobs in a cage, watched by a Machine as a guard watches its own, and compared with the cgroup's count."""

import select
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memwatch.model.sample import Sample
from memwatch.probe.before_start import read_before_start
from memwatch.probe.machine import Machine
from tests.cage import Cage, cage
from tests.helpers import HANG_S

MIB = 1 << 20
CLOSE_BYTES = 20 * MIB
CLOSE_SHARE = 0.1


class Watched:
    """A job and the samples of it so far."""

    def __init__(self, cage: Cage, job: subprocess.Popen[bytes], shmem_before_bytes: int | None) -> None:
        self.cage = cage
        self.job = job
        self.machine = Machine(in_background=True, shmem_before_bytes=shmem_before_bytes)
        self.samples: list[Sample] = []

    def sample(self) -> Sample:
        self.samples.append(self.machine.sample(time.monotonic(), time.time(), {self.job.pid}))
        return self.samples[-1]

    def until(self, condition: Callable[[Sample], bool], what: str) -> Sample:
        deadline_s = time.monotonic() + HANG_S
        while not condition(sample := self.sample()):
            assert time.monotonic() < deadline_s, (what, sample.job_bytes // MIB, self.true_bytes() // MIB, sample)
            time.sleep(0.05)
        return sample

    def let_it_begin(self) -> None:
        """For a job that waits for a line. What it wrote before the first estimate would be known from the machine's
        memory alone, in which other tests work, too."""
        assert self.job.stdin is not None
        self.until(lambda sample: sample.job_files_bytes == 0, "the first estimate")
        self.job.stdin.write(b"\n")

    def line(self) -> str:
        """What the job prints, watched meanwhile."""
        assert self.job.stdout is not None
        deadline_s = time.monotonic() + HANG_S
        while not select.select([self.job.stdout], [], [], 0.05)[0]:
            self.sample()
            assert time.monotonic() < deadline_s, "the job says nothing"
        return self.job.stdout.readline().decode().strip()

    def true_bytes(self) -> int:
        """Anonymous and shared memory of the cage. A cgroup's count lags behind by some pages for each core."""
        return self.cage.stat("rss") + self.cage.stat("shmem")

    def is_close(self, sample: Sample) -> bool:
        return abs(sample.job_bytes - self.true_bytes()) <= max(CLOSE_BYTES, CLOSE_SHARE * self.true_bytes())

    def until_close(self) -> Sample:
        """What the job takes is known within 10 % or 20 MiB, and stays so."""
        in_a_row = 0

        def stays_close(sample: Sample) -> bool:
            nonlocal in_a_row
            in_a_row = in_a_row + 1 if self.is_close(sample) else 0
            return in_a_row >= 10

        return self.until(stays_close, "what is the job's own")

    def most_bytes(self) -> int:
        return max(sample.job_bytes for sample in self.samples)


@contextmanager
def watched(limit_bytes: int, *command: object, folder: Path | None = None) -> Iterator[Watched]:
    """The job is started in a cage. A script in Python is given as text that begins with a newline."""
    with cage(limit_bytes) as made:
        made.forbid_swap()
        before = read_before_start().shmem_bytes
        words = [sys.executable, "-c", textwrap.dedent(str(command[0]))] if str(command[0])[:1] == "\n" else command
        job = subprocess.Popen(
            made.command(*words),
            bufsize=0,  # Select does not see what a buffer has read ahead.
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
        )
        run = Watched(made, job, before)
        try:
            yield run
        finally:
            run.machine.close()
            made.close()
            job.communicate()
