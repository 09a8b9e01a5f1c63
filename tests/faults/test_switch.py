"""Switching a running job to shards: no token lost, repeated or changed, and little memory afterwards."""

import json
import random
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Pipe
from pathlib import Path

import numpy as np
import pytest

from memwatch.tokenize.crew import Crew, CrewMember
from memwatch.tokenize.messages import Shrink, receive
from memwatch.tokenize.plan import Plan
from tests.faults.jobs import PARTIAL, SLOW, RunningJob, started_writing
from tests.guard.processes import send, wait_until
from tests.helpers import HANG_S, memwatch, read_tokens


def _train(folder: Path) -> np.ndarray:
    return np.concatenate([read_tokens(path) for path in sorted(folder.glob("train*.bin"))])


@pytest.mark.parametrize("mode", ["stream", "shard", "memory"])
@pytest.mark.parametrize("seed", range(3))
def test_a_switch_at_any_moment_changes_no_token(
    mode: str, seed: int, long_text: Path, long_tokens: np.ndarray, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    options = ("--val-ratio", "0", "--mode", mode, "--shard-tokens", "400k", "--block-size", "64k")
    engine = ("--engine", "tiktoken", "--workers", 2)
    with RunningJob(long_text, "--out", tmp_path, *options, *engine) as running:
        job = running.job()
        # From the start on, the job may be asked before it can act; the wish must not be lost.
        wait_until(lambda: len(running.workers()) == 2)
        time.sleep(chance.uniform(0.0, 0.4))  # Two workers need a second or more for all of it.
        send(job if chance.random() < 0.5 else running.process.pid, signal.SIGUSR1)
        code, err = running.finish()
    assert code == 0, err
    assert "switched to shards" in err
    names = sorted(path.name for path in tmp_path.glob("train*"))
    assert names[0] == "train_shard_0000.bin"
    assert len(names) > 1
    assert np.array_equal(_train(tmp_path), long_tokens)


def test_what_was_streamed_becomes_the_first_shard_whatever_its_size(long_text: Path, tmp_path: Path) -> None:
    with RunningJob(long_text, "--out", tmp_path, "--val-ratio", "0", "--shard-tokens", "100k", *SLOW) as running:
        part = tmp_path / PARTIAL / "train_0000.part"
        wait_until(lambda: part.exists() and part.stat().st_size > 600_000)
        send(running.job(), signal.SIGUSR1)
        wait_until(lambda: (tmp_path / "train_shard_0000.bin").exists())
        code, err = running.finish()
    assert code == 0, err
    sizes = [len(read_tokens(path)) for path in sorted(tmp_path.glob("train_shard_*.bin"))]
    assert sizes[0] > 300_000
    assert all(size == 100_000 for size in sizes[1:-1])


def test_after_a_switch_one_worker_is_left_and_memory_shrinks(long_text: Path, tmp_path: Path) -> None:
    # GIVEN a job with three workers
    options = ("--workers", 3, "--engine", "tiktoken", "--block-size", "64k")
    with RunningJob(long_text, "--out", tmp_path, *options) as running:
        wait_until(lambda: started_writing(tmp_path))
        assert len(running.workers()) == 3
        before = running.rss_bytes()
        # WHEN it is told to switch
        send(running.job(), signal.SIGUSR1)
        # THEN soon one worker is left
        wait_until(lambda: len(running.workers()) == 1)
        assert running.rss_bytes() < before * 0.7
        assert running.finish()[0] == 0


def test_a_switched_run_that_is_killed_goes_on_in_shards(
    long_text: Path, long_tokens: np.ndarray, tmp_path: Path
) -> None:
    command = (long_text, "--out", tmp_path, "--val-ratio", "0", "--shard-tokens", "200k")
    with RunningJob(*command, *SLOW) as running:
        wait_until(lambda: started_writing(tmp_path))
        send(running.job(), signal.SIGUSR1)
        wait_until(lambda: (tmp_path / "train_shard_0001.bin").exists())
        send(running.job(), signal.SIGKILL)
        running.finish()
    done = memwatch("run", "tokenize", *command)
    assert done.code == 0, done.err
    assert not (tmp_path / "train.bin").exists()
    assert np.array_equal(_train(tmp_path), long_tokens)


def test_memory_mode_switches_by_itself_at_its_limit(long_text: Path, tmp_path: Path) -> None:
    # GIVEN more text than a small limit lets it hold
    source = tmp_path / "big.txt"
    source.write_bytes(long_text.read_bytes() * 15)
    done = memwatch("run", "tokenize", source, "--mode", "memory", "--max-memory", "400M", "--val-ratio", "0")
    assert done.code == 0, done.err
    assert "switched to shards" in done.err
    assert (tmp_path / "train_shard_0000.bin").stat().st_size > 100 << 20


# The command in a process whose memory is available again at once, and that counts its workers at each step.
SWITCHED_AND_BACK = """
import json, sys
from memwatch.tokenize import crew_size, pipeline, progress_report
from memwatch.tokenize.command import tokenize
from memwatch.tokenize.crew import Crew
from memwatch.tokenize.run_memory import RunMemory

counts = {"shrunk": [], "grown": [], "end": []}
crew_size.ROOM_FOR_S = 0.0
progress_report.PROGRESS_INTERVAL_S = 0.05
RunMemory.has_room = lambda self: True


def counted(name, name_of_step):
    real = getattr(Crew, name)
    def step(self):
        counts[name_of_step].append(sum(not member.is_leaving for member in self.workers))
        real(self)
    setattr(Crew, name, step)


counted("shrink", "shrunk")
counted("grow", "grown")
counted("end", "end")
real_run = pipeline.Pipeline.run


def run(self):
    self._signals.shard = True
    real_run(self)


pipeline.Pipeline.run = run
tokenize.main(sys.argv[1:], standalone_mode=False)
print(json.dumps(counts))
"""


def test_workers_come_back_when_memory_is_available_again(
    long_text: Path, long_tokens: np.ndarray, tmp_path: Path
) -> None:
    # GIVEN a run with three workers that switches to shards at its start
    options = ("--out", tmp_path, "--val-ratio", "0", "--workers", "3", "--engine", "tiktoken", "--block-size", "64k")
    # WHEN there is room again
    done = subprocess.run(
        [sys.executable, "-c", SWITCHED_AND_BACK, str(long_text), *map(str, options)],
        capture_output=True, text=True, timeout=HANG_S, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # THEN three work again, in shards, and no token has changed
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts == {"shrunk": [3], "grown": [1], "end": [3]}
    assert (tmp_path / "train_shard_0000.bin").exists()
    assert np.array_equal(_train(tmp_path), long_tokens)


def test_a_worker_that_has_not_left_yet_stays() -> None:
    # GIVEN a crew of three that is told to shrink
    crew = Crew.__new__(Crew)
    crew._plan = Plan(3, worker_budget_bytes=200, floor_budget_bytes=100)
    near, far = Pipe()
    crew.workers = [CrewMember("worker", -1, near) for _ in range(3)]
    crew.shrink()
    assert [member.is_leaving for member in crew.workers] == [False, True, True]
    # WHEN it grows again before anybody has left
    crew.grow()
    # THEN all stay, and the first one has its memory back
    assert not any(member.is_leaving for member in crew.workers)
    assert crew.is_full
    assert [receive(far), receive(far)] == [Shrink(100), Shrink(200)]
