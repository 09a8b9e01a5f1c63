"""The whole probe: on recorded machines, on this one, and what it costs."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from memwatch.model.sample import Memory, Sample
from memwatch.probe.machine import Machine, disk_free_bytes
from tests.probe import trees
from tests.probe.scripted import ScriptedMachine
from tests.probe.trees import MIB, SELF_PID, Tree, add_process


def recorded(tree: Tree) -> Machine:
    return Machine(tree.proc, tree.sys, self_pid=SELF_PID)


def test_a_sample_carries_the_callers_clocks(tmp_path: Path) -> None:
    sample = recorded(trees.bare(tmp_path)).sample(clock_s=12.5, t=1e9, roots=())
    assert (sample.clock_s, sample.t) == (12.5, 1e9)


def test_a_container_is_tighter_than_its_host(tmp_path: Path) -> None:
    sample = recorded(trees.container_v2(tmp_path)).sample(0.0, 0.0, ())
    assert sample.memory is not None
    assert sample.memory.available_bytes == 9000 * MIB
    assert sample.available_bytes == 312 * MIB


def test_the_limits_are_those_above_the_job_not_the_guard(tmp_path: Path) -> None:
    tree = trees.desktop_v2(tmp_path)
    add_process(tree, 901, SELF_PID)
    tree.write("proc/901/cgroup", "0::/job.scope\n")
    trees.cgroup2(tree, "fs/cgroup/job.scope", str(40 * MIB), current=10 * MIB)
    machine = recorded(tree)
    assert [limit.path for limit in machine.sample(0.0, 0.0, {SELF_PID}).limits] == ["/job.scope"]
    assert [limit.path for limit in machine.sample(0.0, 0.0, ()).limits] == ["/job.scope"]  # It still lives.


@pytest.mark.parametrize(("free_mib", "swap_mib"), [(11096, 3), (12096, 0)], ids=["in-use", "all-free"])
def test_the_jobs_swap_is_known(tmp_path: Path, free_mib: int, swap_mib: int) -> None:
    tree = trees.desktop_with_zram(tmp_path)
    tree.write("proc/meminfo", trees.meminfo(swap_mib=12096, swap_free_mib=free_mib))
    add_process(tree, 901, SELF_PID)
    assert recorded(tree).sample(0.0, 0.0, {901}).job[0].swap_bytes == swap_mib * MIB


def test_nothing_to_read_is_all_unknown_and_all_named(tmp_path: Path) -> None:
    machine = Machine(str(tmp_path / "none"), str(tmp_path / "none"))
    assert machine.sample(0.0, 0.0, {1}) == Sample(t=0.0, clock_s=0.0, memory=None, gpus=())
    assert [what for what, _ in machine.missing()] == [
        "host memory",
        "memory pressure (PSI)",
        "disk pressure (PSI)",
        "swap and fault counters",
        "cgroup limits",
        "a process's children",
    ]


@pytest.mark.parametrize("machine", [trees.container_v1, trees.container_v2, trees.desktop_v2, trees.hybrid])
def test_a_whole_machine_has_nothing_missing(tmp_path: Path, machine: Callable[[Path], Tree]) -> None:
    assert recorded(machine(tmp_path)).missing() == []


def test_a_broken_graphics_driver_is_named(tmp_path: Path) -> None:
    tree = trees.bare(tmp_path)
    trees.add_card(tree, "0000:01:00.0", "0x10de", "nvidia")
    machine = Machine(tree.proc, tree.sys, self_pid=SELF_PID, gpus_in_background=False)
    assert machine.sample(0.0, 0.0, ()).gpus is None
    assert "GPU" in [what for what, _ in machine.missing()]


def test_disk_space_is_that_of_the_folder_to_be_made(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    status = os.statvfs(tmp_path)
    assert disk_free_bytes(str(folder)) == pytest.approx(status.f_bavail * status.f_frsize, abs=64 * MIB)
    assert Machine(output_folder=str(folder)).sample(0.0, 0.0, ()).disk_free_bytes is not None


def test_this_machine_is_read() -> None:
    machine = Machine()
    child = subprocess.Popen(["sleep", "60"])
    try:
        sample = machine.sample(0.0, 0.0, {child.pid})
        again = machine.job(0.1, {child.pid})
    finally:
        child.kill()
        child.wait()
        machine.close()
    assert sample.memory is not None
    assert 0 < sample.memory.available_bytes <= sample.memory.total_bytes
    assert sample.paging is not None
    assert [process.pid for process in sample.job] == [process.pid for process in again] == [child.pid]


def test_pressure_of_this_machine_is_read_or_named() -> None:
    machine = Machine()
    known = machine.sample(0.0, 0.0, ()).pressure is not None
    assert known != ("memory pressure (PSI)" in [what for what, _ in machine.missing()])
    machine.close()


def test_closing_leaves_no_file_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    machine = Machine()
    machine.sample(0.0, 0.0, {os.getppid()})
    assert len(os.listdir("/proc/self/fd")) > before
    machine.close()
    assert len(os.listdir("/proc/self/fd")) == before


def run(code: str) -> list[str]:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def test_the_probe_reaches_nothing_heavy() -> None:
    loaded = run("import memwatch.probe.machine, tests.probe.scripted, sys; print(*sys.modules)")
    assert not {"textual", "numpy", "psutil", "pynvml", "pandas", "click", "ctypes", "asyncio"} & set(loaded)


_COST = """
    def rss_kib():
        return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])

    before_kib = rss_kib()
    from memwatch.probe.machine import Machine
    import os, time

    machine = Machine()
    machine.sample(0.0, 0.0, {os.getppid()})
    used_s = time.process_time()
    for tenths in range(100):
        machine.sample(tenths / 10, 0.0, {os.getpid()})
    print(rss_kib() - before_kib, (time.process_time() - used_s) / 100 * 1e6)
"""


def test_the_probe_is_small_and_cheap() -> None:
    """Measured: 4.9 MiB over a bare interpreter, half of it for dataclasses; 0.25 ms a sample."""
    grown_kib, sample_us = map(float, run(_COST))
    assert grown_kib < 8 * 1024
    assert sample_us < 2000


def script(available_mib: int) -> Sample:
    return Sample(t=0.0, clock_s=0.0, memory=Memory(100 * MIB, available_mib * MIB, 0, 0))


def test_a_script_plays_its_samples_and_stays_at_the_last() -> None:
    machine = ScriptedMachine([script(30), script(20)], missing=[("swap", "there is none")])
    samples = [machine.sample(clock_s, 1000 + clock_s, {1}) for clock_s in (0.5, 1.5, 2.5)]
    assert [sample.available_bytes for sample in samples] == [30 * MIB, 20 * MIB, 20 * MIB]
    assert [(sample.clock_s, sample.t) for sample in samples] == [(0.5, 1000.5), (1.5, 1001.5), (2.5, 1002.5)]
    assert machine.job(3.0, {1}) == ()
    assert machine.missing() == [("swap", "there is none")]


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ScriptedMachine([])
