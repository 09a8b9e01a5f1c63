"""What is the job's own, of real processes in a cage: the kernel's count of the cage is the truth."""

from pathlib import Path

import pytest

from tests.cage import needs_cage
from tests.probe.caged_jobs import MIB, watched

pytestmark = needs_cage

FORK = """
    import mmap, os, sys, time
    def say(word):
        sys.stdout.write(word + "\\n"); sys.stdout.flush()
    def forked(count, work):
        for number in range(count):
            if os.fork() == 0:
                work(number)
                time.sleep(600)
                os._exit(0)
"""


def test_idle_forked_processes_count_once() -> None:
    script = f"""{FORK}
    kept = b"x" * ({100 * MIB})
    say("one")
    forked(300, lambda number: None)
    say("all")
    time.sleep(600)
    """
    with watched(2000 * MIB, script) as run:
        assert run.line() == "one"
        assert run.line() == "all"
        sample = run.until(lambda sample: len(sample.job) == 301, "all processes")
        assert sum(process.rss_bytes for process in sample.job) > 2000 * MIB
        run.until_close()
        # Python itself takes a MiB of its own in each of them.
        assert run.most_bytes() < run.true_bytes() * 1.2 + 50 * MIB


def test_forked_workers_own_what_they_write() -> None:
    script = f"""{FORK}
    kept = bytearray({100 * MIB})
    def write(number):
        kept[:{50 * MIB}:4096] = b"y" * {50 * MIB // 4096}
        more = b"z" * {10 * MIB}
        say("written")
        time.sleep(600)
    forked(8, write)
    time.sleep(600)
    """
    with watched(2000 * MIB, script) as run:
        for _ in range(8):
            assert run.line() == "written"
        sample = run.until_close()
        assert sample.job_bytes > 500 * MIB
        assert run.most_bytes() < run.true_bytes() * 1.2 + 50 * MIB


def test_a_parent_that_ends_leaves_its_memory_to_its_children() -> None:
    script = f"""{FORK}
    kept = b"x" * ({200 * MIB})
    if os.fork() == 0:
        forked(3, lambda number: say("here"))
        os._exit(0)
    del kept
    time.sleep(600)
    """
    with watched(2000 * MIB, script) as run:
        for _ in range(3):
            assert run.line() == "here"
        run.until(lambda sample: sum(process.state != "Z" for process in sample.job) == 4, "the orphans")
        run.until_close()
        assert run.most_bytes() < run.true_bytes() * 1.2 + 50 * MIB


def test_a_reader_of_a_mapped_file_does_not_own_the_file(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        for _ in range(64):
            file.write(bytes(4 * MIB))
    script = """
    import mmap, time
    with open("file", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        sum(mapped[at] for at in range(0, len(mapped), 4096))
    print("read", flush=True)
    time.sleep(600)
    """
    with watched(1000 * MIB, script, folder=tmp_path) as run:
        assert run.line() == "read"
        sample = run.until(lambda sample: sum(process.rss_bytes for process in sample.job) > 250 * MIB, "its RSS")
        run.until_close()
        assert sample.job_bytes < 60 * MIB
        assert run.most_bytes() < 60 * MIB


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(f"mmap.mmap(-1, {200 * MIB})", id="MAP_SHARED-and-anonymous"),
        pytest.param("segment.buf", id="multiprocessing.shared_memory"),
    ],
)
def test_shared_memory_counts_once(make: str) -> None:
    script = f"""{FORK}
    from multiprocessing.shared_memory import SharedMemory
    segment = SharedMemory(create=True, size={200 * MIB})
    segment.unlink()
    shared = {make}
    def touch(number):
        for at in range(0, {200 * MIB}, 4096):
            shared[at] = 1
        say("touched")
    forked(4, touch)
    time.sleep(600)
    """
    with watched(1500 * MIB, script) as run:
        for _ in range(4):
            assert run.line() == "touched"
        sample = run.until_close()
        assert sample.job_bytes > 200 * MIB
        assert run.most_bytes() < run.true_bytes() * 1.2 + 50 * MIB
