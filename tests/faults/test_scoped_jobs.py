"""Jobs in a scope of their own, on a real machine with systemd and cgroup v2 (`make test-vm`): what the guard reads
there is the job's alone, and it does to the job what it should and nothing else."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.model.units import MIB
from tests.benign.run import MOST_PAUSED_S, paused_s
from tests.faults.test_scope import MANAGER, events, only_in_a_guest, total_bytes
from tests.guard.processes import Watched, is_paused, send, wait_until
from tests.guard.test_kill_campaign import fronted, nobody_is_harmed
from tests.helpers import HANG_S, memwatch

# Leaves a file of 60 MiB in RAM, reads another one over and over while the scope may not keep all of it, and has a
# child killed by the kernel at the scope's limit. Then it writes that it is ready, and sleeps.
SUFFERS = """
import os, signal, subprocess, sys, time
# systemd before 253 sends it to all of a scope after an OOM kill, whatever OOMPolicy was asked for.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder = sys.argv[1]
scope = "/sys/fs/cgroup" + open("/proc/self/cgroup").read().strip().removeprefix("0::")

def number(file, key):
    return next(int(line.split()[1]) for line in open(f"{scope}/{file}") if line.split()[0] == key)

def bound(file, value):
    with open(f"{scope}/{file}", "w") as limit:
        limit.write(value)

in_ram = os.memfd_create("in-ram")
for _ in range(60):
    os.write(in_ram, b"x" * (1 << 20))
with open(folder + "/large", "wb") as file:
    for _ in range(120):
        file.write(b"x" * (1 << 20))
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
# When the guard moves the limit, systemd sets both again.
while number("memory.stat", "workingset_refault_file") < 1000:
    bound("memory.high", "100M")
    subprocess.run(["cat", folder + "/large"], stdout=subprocess.DEVNULL, check=True)
bound("memory.high", "max")
while number("memory.events", "oom_kill") < 1:
    bound("memory.max", "100M")
    subprocess.run([sys.executable, "-c", "bytearray(b'x') * (300 << 20)"])
os.rename(folder + "/large", folder + "/ready")
time.sleep(1000)
"""
# Takes so many MiB in one piece, works with them for a while, and exits.
TAKES_AT_ONCE = """
import sys, time
held = bytearray(b"x") * (int(sys.argv[1]) << 20)
end = time.monotonic() + 5
while time.monotonic() < end:
    for at in range(0, len(held), 4096 * 64):
        held[at] = 1
    time.sleep(0.1)
print("worked")
"""
# Takes so many MiB and keeps them.
KEEPS = """
import sys, time
held = bytearray(b"x") * (int(sys.argv[1]) << 20)
print("has it", file=open(sys.argv[2], "w"))
time.sleep(1000)
"""
# Several processes that use pages of a file in no order: those that were dropped are missed soon.
THRASHES = """
import mmap, os, random, sys
os.fork(), os.fork()
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as held:
    while True:
        held[random.randrange(len(held))]
"""


def scope_of(pid: int) -> Path:
    return Path("/sys/fs/cgroup" + Path(f"/proc/{pid}/cgroup").read_text().strip().removeprefix("0::"))


def number(file: Path, key: str) -> int:
    """From a file with lines of a word and a number."""
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[0] == key)


def stalled_us(scope: Path) -> tuple[int, int]:
    some, full = (Path(scope, "memory.pressure").read_text()).splitlines()
    return int(some.partition("total=")[2]), int(full.partition("total=")[2])


def available_bytes() -> int:
    return number(Path("/proc/meminfo"), "MemAvailable:") * 1024


@only_in_a_guest
def test_what_the_guard_reads_of_the_job_are_the_counters_of_its_scope(tmp_path: Path) -> None:
    with Watched(sys.executable, "-c", SUFFERS, tmp_path, on_pressure="warn") as watched:
        job = watched.event("start")["pid"]
        wait_until((tmp_path / "ready").exists, "the job has suffered")
        scope = scope_of(job)
        assert scope.name.startswith("memwatch-")
        watched.events.clear()

        def has_all_of_it() -> bool:
            some_us, full_us = stalled_us(scope)
            counters = {
                "major_faults": number(scope / "memory.stat", "pgmajfault"),
                "refaults": number(scope / "memory.stat", "workingset_refault_file")
                + number(scope / "memory.stat", "workingset_refault_anon"),
                "stall_some_us": some_us,
                "stall_full_us": full_us,
                "oom_kills": number(scope / "memory.events", "oom_kill"),
            }
            assert counters["refaults"] >= 1000
            assert counters["oom_kills"] >= 1
            assert counters["stall_some_us"] > 0
            return watched.has("sample", job_counters=counters) is not None

        wait_until(has_all_of_it, "a sample has the same counters")
        in_ram_bytes = watched.event("sample")["job_files_bytes"]
        assert 60 * MIB <= in_ram_bytes < 64 * MIB
        watched.tell("kill")
        watched.event("exit")


@only_in_a_guest
def test_a_healthy_job_that_takes_most_of_the_ram_at_once_is_left_alone(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    share_mib = int(total_bytes() * 0.6) // MIB
    done = memwatch("run", "--record", record, "--", sys.executable, "-c", TAKES_AT_ONCE, share_mib)
    assert (done.code, done.out) == (0, "worked\n"), done.err
    assert not {"stop", "kill"} & {event["action"] for event in events(record, "action")}
    assert paused_s(events(record, "action")) <= MOST_PAUSED_S


def test_a_paused_job_runs_on_when_all_of_memwatch_is_killed_at_once(tmp_path: Path) -> None:
    with fronted(tmp_path / "pids") as run:
        assert scope_of(run.others[0]).name.startswith("memwatch-")
        run.tell("pause")
        wait_until(lambda: all(map(is_paused, run.others)), "all are paused, also the one in a session of its own")
        for pid in (run.guard, *run.all_watchers(), run.front.pid):
            send(pid, signal.SIGKILL)
        nobody_is_harmed(run, ["pause", "SIGKILL of guard, watchers and front"])


@contextmanager
def thrashing_elsewhere(folder: Path) -> Iterator[Path]:
    """Another program, in a scope with less memory than it uses again and again. Gives its scope."""
    large = folder / "large"
    large.write_bytes(b"x" * (100 * MIB))
    with large.open("rb") as file:  # What is in RAM already would be used there, and is charged to the test.
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    name = f"thrashing-{os.getpid()}.scope"
    command = ["systemd-run", *MANAGER, "--scope", "--quiet", f"--unit={name}", "-p", "MemoryMax=50M"]
    process = subprocess.Popen([*command, sys.executable, "-c", THRASHES, large])
    try:
        wait_until(lambda: scope_of(process.pid).name == name, "it is in its scope")
        yield scope_of(process.pid)
    finally:
        subprocess.run(["systemctl", *MANAGER, "kill", "--signal=KILL", name], check=True)
        process.wait(HANG_S)


@only_in_a_guest
def test_what_thrashes_in_another_cgroup_is_not_the_jobs_fault(tmp_path: Path) -> None:
    with thrashing_elsewhere(tmp_path) as elsewhere:
        # Little is left, and there is traffic, and there are stalls: if the job were the cause, it would be stopped.
        job_mib = (available_bytes() - default_reserve_bytes(total_bytes())) // MIB - 90
        ready = tmp_path / "ready"
        with Watched(sys.executable, "-c", KEEPS, job_mib, ready, pause_timeout_s=2) as watched:
            watched.event("start")
            wait_until(ready.exists, "the job has its memory")
            watched.event("verdict", level="act")
            some_us, _ = stalled_us(elsewhere)
            wait_until(lambda: stalled_us(elsewhere)[0] > some_us + 4_000_000, "it goes on")
            assert not watched.has("action", action="stop")
            assert not watched.has("action", action="kill")
            watched.tell("kill")
            assert watched.event("exit")["by"] == "user"
