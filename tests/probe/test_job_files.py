"""Memory of the job that no process shows: tmpfs and memfd files, written by real processes in a cage."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cage import needs_cage
from tests.helpers import HANG_S
from tests.probe.caged_jobs import MIB, watched

pytestmark = needs_cage

SHM = Path("/dev/shm")


@pytest.fixture
def folder() -> Iterator[Path]:
    """In RAM."""
    made = Path(tempfile.mkdtemp(prefix="memwatch-test-", dir=SHM))
    yield made
    shutil.rmtree(made)


def test_a_file_in_tmpfs_is_the_jobs_also_after_its_writer_ended(folder: Path) -> None:
    write = f"read line; dd if=/dev/zero of={folder}/file bs=1M count=300 2>/dev/null; echo written; sleep 600"
    with watched(1000 * MIB, "sh", "-c", write) as run:
        run.let_it_begin()
        assert run.line() == "written"
        sample = run.until_close()
        assert sample.job_files_bytes is not None
        assert sample.job_files_bytes > 280 * MIB
        (folder / "file").unlink()
        run.until(lambda sample: sample.job_bytes < 20 * MIB, "that it was given back")


def test_a_memfd_is_the_jobs() -> None:
    script = """
    import os, sys, time
    sys.stdin.readline()
    fd = os.memfd_create("hidden")
    for _ in range(300):
        os.write(fd, bytes(1 << 20))
    print("written", flush=True)
    time.sleep(600)
    """
    with watched(1000 * MIB, script) as run:
        run.let_it_begin()
        assert run.line() == "written"
        sample = run.until_close()
        assert sample.job_bytes > 280 * MIB


def test_files_that_were_filled_through_mappings_are_the_jobs(folder: Path) -> None:
    """As processes leave them to each other: made, filled, closed, and forgotten by whoever should remove them."""
    script = f"""
    import mmap, sys, time
    sys.stdin.readline()
    for name in range(15):
        with open(f"{folder}/{{name}}", "w+b") as file:
            file.truncate(20 << 20)
            with mmap.mmap(file.fileno(), 20 << 20) as pages:
                pages[:] = bytes(20 << 20)
                time.sleep(0.15)
    print("written", flush=True)
    time.sleep(600)
    """
    with watched(1000 * MIB, script) as run:
        run.let_it_begin()
        assert run.line() == "written"
        run.until(lambda sample: (sample.job_files_bytes or 0) > 250 * MIB, "that they are the job's")


def test_a_neighbour_that_fills_tmpfs_is_not_blamed_on_the_job(folder: Path) -> None:
    with watched(1000 * MIB, "sh", "-c", "echo started; exec sleep 600") as run:
        assert run.line() == "started"
        run.until(lambda sample: sample.job_files_bytes == 0, "the first estimate")
        # In the same cage: nothing but what the two of them do tells them apart.
        fill = run.cage.command("dd", "if=/dev/zero", f"of={folder}/file", "bs=1M", "count=300")
        subprocess.run(fill, check=True, stderr=subprocess.DEVNULL, timeout=HANG_S)
        assert run.cage.stat("shmem") > 280 * MIB
        for _ in range(20):
            assert run.sample().job_bytes < 20 * MIB


def test_a_job_that_writes_to_a_pipe_is_blamed_for_no_more_than_it_wrote(folder: Path) -> None:
    """The known weakness: what goes into a pipe looks like what goes into tmpfs. It stays bounded by both."""
    script = """
    import os, sys, time
    reader, writer = os.pipe()
    for _ in range(1600):
        os.write(writer, bytes(65536)); os.read(reader, 65536)
    print("written", flush=True)
    time.sleep(600)
    """
    with watched(1000 * MIB, script) as run:
        assert run.line() == "written"
        run.until(lambda sample: sample.job_files_bytes == 0, "the first estimate")
        fill = run.cage.command("dd", "if=/dev/zero", f"of={folder}/file", "bs=1M", "count=300")
        subprocess.run(fill, check=True, stderr=subprocess.DEVNULL, timeout=HANG_S)
        for _ in range(20):
            assert (run.sample().job_files_bytes or 0) <= 101 * MIB


def test_nothing_is_left_in_shared_memory() -> None:
    """So that a leak of these tests is seen here, and not as another test's failure."""
    assert not [name for name in os.listdir(SHM) if name.startswith("memwatch-test-")]
