"""The biggest processes beside the job: on a recorded machine, and on this one."""

from pathlib import Path

import psutil

from memwatch.probe.biggest import EMPTY_LOOKS, MOST, ProcessSizes, biggest_processes
from memwatch.probe.machine import Machine
from tests.probe.trees import SELF_PID, Tree, add_process, bare


def with_processes(folder: Path, *sizes_pages: int) -> Tree:
    tree = bare(folder)
    for number, pages in enumerate(sizes_pages):
        add_process(tree, 901 + number, 1)
        tree.write(f"proc/{901 + number}/statm", f"9999 {pages} 200 1 0 90 0\n")
    return tree


def test_the_biggest_come_first_and_kernel_threads_never(tmp_path: Path) -> None:
    tree = with_processes(tmp_path, 100, 300, 0, 200)
    found = biggest_processes(tree.proc, apart_from={SELF_PID}, swap_in_use=False)
    assert found is not None
    assert [process.pid for process in found] == [902, 904, 901]


def test_the_jobs_own_are_left_out(tmp_path: Path) -> None:
    tree = with_processes(tmp_path, 100, 300)
    found = biggest_processes(tree.proc, apart_from={SELF_PID, 902}, swap_in_use=False)
    assert found is not None
    assert [process.pid for process in found] == [901]


def test_what_lies_in_swap_counts(tmp_path: Path) -> None:
    tree = with_processes(tmp_path, 100, 300)
    tree.write("proc/901/status", "Name:\tbig\nVmRSS:\t    2048 kB\nVmSwap:\t  900000 kB\n")
    found = biggest_processes(tree.proc, apart_from={SELF_PID}, swap_in_use=True)
    assert found is not None
    assert [process.pid for process in found] == [901, 902]
    assert found[0].swap_bytes == 900000 * 1024


def test_only_so_many_are_named(tmp_path: Path) -> None:
    tree = with_processes(tmp_path, *range(1, 30))
    assert len(biggest_processes(tree.proc, (), swap_in_use=False) or ()) == MOST


def test_no_proc_is_unknown(tmp_path: Path) -> None:
    assert biggest_processes(str(tmp_path / "nowhere"), (), swap_in_use=False) is None


def test_on_this_machine_nobody_is_bigger_than_the_first() -> None:
    found = biggest_processes("/proc", (), swap_in_use=True)
    assert found
    sizes = [process.rss_bytes + process.swap_bytes for process in found]
    assert max(sizes) >= psutil.Process().memory_info().rss // 2  # of which some may have gone meanwhile
    assert all(process.command for process in found)


def test_a_machine_looks_at_others_only_now_and_then(tmp_path: Path) -> None:
    tree = with_processes(tmp_path, 100)
    machine = Machine(tree.proc, tree.sys, gpus_in_background=False, others_interval_s=10.0)
    looks = [machine.sample(clock_s, 0.0, ()).others is not None for clock_s in (0.0, 1.0, 9.9, 10.0, 11.0)]
    assert looks == [True, False, False, True, False]
    machine.close()


def pids_seen(sizes: ProcessSizes) -> list[int]:
    return [process.pid for process in sizes.biggest_and_growing(swap_in_use=False) or () if process.pid > 900]


def test_what_grows_is_seen_while_it_is_still_small(tmp_path: Path) -> None:
    tree = with_processes(tmp_path, *[1000] * MOST, 100, 200)
    sizes = ProcessSizes(tree.proc)
    growing = 901 + MOST
    assert growing not in pids_seen(sizes)
    tree.write(f"proc/{growing}/statm", "9999 150 200 1 0 90 0\n")
    assert pids_seen(sizes)[MOST:] == [growing]
    assert pids_seen(sizes)[MOST:] == []  # It has stopped.


def test_a_process_that_has_just_come_has_grown_from_nothing(tmp_path: Path) -> None:
    tree = with_processes(tmp_path, *[1000] * MOST)
    sizes = ProcessSizes(tree.proc)
    pids_seen(sizes)
    add_process(tree, 990, 1)
    tree.write("proc/990/statm", "9999 10 200 1 0 90 0\n")
    assert pids_seen(sizes)[MOST:] == [990]


def test_a_pid_that_was_a_kernel_threads_is_looked_at_again(tmp_path: Path) -> None:
    tree = with_processes(tmp_path, 0, 100)
    sizes = ProcessSizes(tree.proc)
    assert pids_seen(sizes) == [902]
    tree.write("proc/901/statm", "9999 500 200 1 0 90 0\n")
    looks = [pids_seen(sizes) for _ in range(EMPTY_LOOKS)]
    assert looks[-1] == [901, 902]


def test_where_processes_are_not_shown_nothing_is_known(tmp_path: Path) -> None:
    assert ProcessSizes(str(tmp_path / "nowhere")).biggest_and_growing(swap_in_use=True) is None
