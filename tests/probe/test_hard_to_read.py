"""Jobs that are hard to read: with a main thread that has ended, with locks held, with hundreds of processes."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.probe import detail_reader, slow_files
from memwatch.probe.background import Background
from memwatch.probe.job_tree import JobTree
from memwatch.probe.machine import Machine
from tests.cage import needs_cage
from tests.helpers import HANG_S
from tests.probe.caged_jobs import MIB, watched
from tests.probe.trees import SELF_PID, add_process, bare

# A guard that is late by this much has waited for its job: it was late by 22 s. A busy machine delays it by tenths.
LATE_S = 5.0


@needs_cage
def test_a_job_whose_main_thread_has_ended_is_read_with_its_children() -> None:
    script = f"""
    import ctypes, subprocess, threading, time
    def work():
        time.sleep(1)
        kept = b"x" * {200 * MIB}
        child = subprocess.Popen(["sleep", "600"])
        print(child.pid, flush=True)
        time.sleep(600)
    threading.Thread(target=work).start()
    ctypes.CDLL(None).pthread_exit(None)
    """
    with watched(1000 * MIB, script) as run:
        child = int(run.line())
        assert "State:\tZ" in Path(f"/proc/{run.job.pid}/status").read_text()
        sample = run.until(lambda sample: len(sample.job) == 2, "the child")
        first, second = sample.job
        assert (first.pid, second.pid) == (run.job.pid, child)
        assert first.state in "RSD"  # Of a living thread; the dead one is Z.
        assert first.rss_bytes > 200 * MIB
        assert run.is_close(run.until_close())


@needs_cage
def test_a_process_that_holds_its_memory_map_lock_holds_up_no_sample() -> None:
    """GIVEN threads that map and populate memory without end WHEN it is sampled THEN no sample waits for the lock."""
    script = f"""
    import mmap, os, threading, time
    MAP_POPULATE = 0x8000
    def work():
        while True:
            mapped = mmap.mmap(-1, {256 * MIB}, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_POPULATE)
            mapped.close()
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(3):
        if os.fork() == 0:
            work()
    print("working", flush=True)
    time.sleep(600)
    """
    with watched(3000 * MIB, script) as run:
        assert run.line() == "working"
        assert slowest_sample_s(run.sample, samples=60) < LATE_S


@needs_cage
def test_hundreds_of_processes_that_fork_and_map_hold_up_no_sample() -> None:
    script = """
    import mmap, os, time
    def work():
        while True:
            mapped = mmap.mmap(-1, 1 << 20); mapped.write(bytes(1 << 20)); mapped.close()
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            time.sleep(0.2)
    for _ in range(300):
        if os.fork() == 0:
            os.nice(19)
            work()
    print("working", flush=True)
    time.sleep(600)
    """
    with watched(3000 * MIB, script) as run:
        assert run.line() == "working"
        assert slowest_sample_s(run.sample, samples=40) < LATE_S
        run.until(lambda sample: len(sample.job) > 300, "all of them")


def slowest_sample_s(sample: object, samples: int) -> float:
    assert callable(sample)
    slowest_s = 0.0
    for _ in range(samples):
        began_s = time.monotonic()
        sample()
        slowest_s = max(slowest_s, time.monotonic() - began_s)
        time.sleep(0.05)
    return slowest_s


def test_a_file_that_never_answers_holds_up_neither_sample_nor_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(detail_reader, "answer", lambda request: released.wait(HANG_S) and None)
    tree = bare(tmp_path)
    add_process(tree, 901, SELF_PID)
    job = JobTree(tree.proc, SELF_PID, in_background=True)
    for clock_s in range(20):
        (process,) = job.read({901}, float(clock_s))
        assert process.command == "job"  # its name, while its command line is not known
        assert process.rss_bytes > 0
    job.close()
    released.set()


def test_what_was_read_in_the_background_arrives(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    add_process(tree, 901, SELF_PID, "job --fast")
    job = JobTree(tree.proc, SELF_PID, in_background=True)
    deadline_s = time.monotonic() + HANG_S
    clock_s = 0.0
    while (process := job.read({901}, clock_s)[0]).command != "job --fast":
        assert time.monotonic() < deadline_s
        clock_s += 0.1
        time.sleep(0.01)
    assert (process.read_bytes, process.written_bytes) == (4096, 8192)
    job.close()


def test_a_background_that_is_busy_takes_no_more_work() -> None:
    released, done = threading.Event(), threading.Event()
    background = Background("test", is_threaded=True)

    def wait() -> None:
        released.wait(HANG_S)

    assert background.start(wait)
    assert not background.start(lambda: pytest.fail("it is busy"))
    released.set()
    deadline_s = time.monotonic() + HANG_S
    while not background.start(done.set):
        assert time.monotonic() < deadline_s
        time.sleep(0.001)
    assert done.wait(HANG_S)
    background.close()


def test_work_that_fails_does_not_end_the_thread() -> None:
    done = threading.Event()
    background = Background("test", is_threaded=True)

    def fail() -> None:
        raise ZeroDivisionError

    assert background.start(fail)
    deadline_s = time.monotonic() + HANG_S
    while not background.start(done.set):
        assert time.monotonic() < deadline_s
        time.sleep(0.001)
    assert done.wait(HANG_S)
    background.close()


def test_shares_of_an_older_kernel_are_bounded(tmp_path: Path) -> None:
    """Before Linux 5.4 there is one PSS for all kinds of memory."""
    (tmp_path / "smaps_rollup").write_text(
        "55d0-7ffc ---p 00000000 00:00 0  [rollup]\nRss: 9000 kB\nPss: 700 kB\nAnonymous: 500 kB\nSwap: 8 kB\n"
        "SwapPss: 4 kB\n"
    )
    share = slow_files.read_share(str(tmp_path))
    assert share is not None
    assert (share.held_bytes, share.own_held_bytes, share.own_shmem_bytes) == (508 * 1024, 504 * 1024, 0)
    assert slow_files.read_share(str(tmp_path / "none")) is None


@pytest.fixture
def idle_processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    started = [subprocess.Popen(["sleep", "600"]) for _ in range(300)]
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_300_idle_processes_cost_less_than_one_percent(idle_processes: list[subprocess.Popen[bytes]]) -> None:
    """CPU time of all threads, as of a guard at rest in a small room: a sample a second by the clock that the machine
    is given, and nine looks at the use of memory in between."""
    script = """
        import os, sys, time
        from memwatch.probe.machine import Machine
        machine = Machine(in_background=True)
        roots = set(map(int, sys.argv[1:]))
        for tick in range(100):  # It may spend its burst first.
            machine.sample(tick / 10, 0.0, roots)
        seen, began_s = set(), time.process_time()
        for tick in range(100, 1100):
            if tick % 10:
                machine.room_use()
                continue
            sample = machine.sample(tick / 10, 0.0, roots)
            assert len(sample.job) == 300
            seen.add(id(sample.job))
            time.sleep(0.001)
        print((time.process_time() - began_s) / 100, len(seen))
        machine.close()
    """
    pids = [str(process.pid) for process in idle_processes]
    command = [sys.executable, "-c", textwrap.dedent(script), *pids]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=HANG_S)
    share, readings = done.stdout.split()
    assert float(share) < 0.01
    assert int(readings) >= 2


def test_a_tree_that_costs_little_is_read_for_every_sample() -> None:
    machine = Machine()
    child = subprocess.Popen(["sleep", "600"])
    try:
        # The first reading is a cold one and is paid for by the next samples.
        jobs = [machine.sample(tick / 2, 0.0, {child.pid}).job for tick in range(80)]
        assert len({id(job) for job in jobs}) > 40
    finally:
        child.kill()
        child.wait()
        machine.close()


def test_major_faults_of_the_job_are_counted() -> None:
    machine = Machine()
    try:
        counters = machine.sample(0.0, 0.0, {os.getpid()}).job_counters
        assert counters is None  # The reader itself never counts.
        child = subprocess.Popen(["sleep", "600"])
        counters = machine.sample(1e6, 0.0, {child.pid}).job_counters
        child.kill()
        child.wait()
        assert counters is not None
        assert counters.major_faults is not None
        assert counters.refaults is None
    finally:
        machine.close()
