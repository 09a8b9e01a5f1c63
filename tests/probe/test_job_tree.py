"""The job's process tree: on recorded machines, and with real processes."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.model.sample import Process
from memwatch.probe.job_tree import DEAR_INTERVAL_S, JobTree, most_kept_open
from memwatch.probe.procpid import ProcessFiles
from memwatch.probe.slow_files import COMMAND_CHARACTERS
from memwatch.probe.stat import parse_stat
from tests.helpers import HANG_S
from tests.probe.trees import MIB, SELF_PID, Tree, add_process, bare, stat_line


@given(comm=st.binary(max_size=15).filter(lambda comm: b"\0" not in comm))
def test_any_name_is_parsed(comm: bytes) -> None:
    stat = parse_stat(stat_line(77, 5, comm, start_ticks=123))
    assert (stat.pid, stat.comm, stat.state, stat.parent_pid, stat.start_ticks) == (77, comm, "S", 5, 123)


def pids(job: tuple[Process, ...]) -> list[int]:
    return [process.pid for process in job]


@pytest.fixture
def recorded(tmp_path: Path) -> Tree:
    """A job of three: 901 is the parent of 902, 902 of 903. 950 is a stranger."""
    tree = bare(tmp_path)
    for pid, parent in ((901, SELF_PID), (902, 901), (903, 902), (950, 1)):
        add_process(tree, pid, parent, group=950 if pid == 950 else 901)
    return tree


def test_a_process_is_read_whole(recorded: Tree) -> None:
    process = JobTree(recorded.proc, SELF_PID).read({901}, 0.0)[0]
    expected = Process(901, 5000, SELF_PID, "S", 512 * 4096, 3 * MIB, 3.0, 4096, 8192, "job --fast", 312 * 4096, 1)
    assert process == expected


def test_descendants_count_and_parents_come_first(recorded: Tree) -> None:
    assert pids(JobTree(recorded.proc, SELF_PID).read({901}, 0.0)) == [901, 902, 903]


def test_the_reader_itself_never_counts(recorded: Tree) -> None:
    tree = JobTree(recorded.proc, SELF_PID)
    assert pids(tree.read({SELF_PID}, 0.0)) == [901, 902, 903]
    assert pids(tree.read({SELF_PID, 901}, 0.0)) == [901, 902, 903]


def test_spared_processes_and_their_children_do_not_count(recorded: Tree) -> None:
    assert pids(JobTree(recorded.proc, SELF_PID).read({SELF_PID}, 0.0, spared={902})) == [901]


def test_without_children_files_everyone_is_scanned(recorded: Tree) -> None:
    recorded.remove("proc/thread-self/children")
    tree = JobTree(recorded.proc, SELF_PID)
    assert pids(tree.read({901}, 0.0)) == [901, 902, 903]
    assert tree.missing()[0][0] == "a process's children"
    add_process(recorded, 904, 903, group=901)
    assert pids(tree.read({901}, 0.1)) == [901, 902, 903]
    assert pids(tree.read({901}, 0.1, thorough=True)) == [901, 902, 903, 904]


def test_a_new_root_pid_of_a_stranger_does_not_count(recorded: Tree) -> None:
    tree = JobTree(recorded.proc, SELF_PID)
    tree.read({901}, 0.0)
    add_process(recorded, 901, 1, start_ticks=9999)
    assert 901 not in pids(tree.read({901}, 0.1))


def test_an_orphan_counts_until_its_pid_is_a_strangers(recorded: Tree) -> None:
    tree = JobTree(recorded.proc, SELF_PID)
    tree.read({901}, 0.0)
    shutil.rmtree(Path(recorded.proc, "901"))
    recorded.write("proc/902/stat", stat_line(902, 1, group=901))
    tree.close()  # A removed folder's files stay readable here, unlike those of an ended process.
    assert pids(tree.read({901}, 0.1)) == [902, 903]
    recorded.write("proc/902/stat", stat_line(902, 1, start_ticks=9999, group=902))
    assert pids(tree.read({901}, 0.2)) == [903]


def test_a_group_whose_number_went_to_a_stranger_is_not_the_jobs(recorded: Tree) -> None:
    tree = JobTree(recorded.proc, SELF_PID)
    tree.read({901}, 0.0)
    for pid in (901, 902, 903):
        shutil.rmtree(Path(recorded.proc, str(pid)))
    tree.close()
    add_process(recorded, 901, 1, start_ticks=9999)
    add_process(recorded, 990, 901, group=901, start_ticks=9999)
    assert tree.read({901}, 100.0) == ()


def test_children_of_other_threads_count(recorded: Tree) -> None:
    recorded.write("proc/903/stat", stat_line(903, 902, threads=2, group=901))
    add_process(recorded, 904, 903, group=901)
    recorded.write("proc/903/task/903/children", "")
    recorded.write("proc/903/task/9031/children", "904 ")
    tree = JobTree(recorded.proc, SELF_PID)
    assert pids(tree.read({901}, 0.0)) == [901, 902, 903, 904]


def test_threads_are_looked_through_once_a_second_or_when_it_matters(recorded: Tree) -> None:
    recorded.write("proc/903/stat", stat_line(903, 902, threads=2, group=901))
    tree = JobTree(recorded.proc, SELF_PID)
    tree.read({SELF_PID}, 0.0)
    add_process(recorded, 904, 903, group=901)
    recorded.write("proc/903/task/903/children", "")
    recorded.write("proc/903/task/9031/children", "904 ")
    assert 904 not in pids(tree.read({SELF_PID}, DEAR_INTERVAL_S / 2))
    assert 904 in pids(tree.read({SELF_PID}, DEAR_INTERVAL_S / 2, thorough=True))


def test_a_process_that_ends_between_two_reads_is_not_there(recorded: Tree) -> None:
    recorded.remove("proc/902/statm")
    assert pids(JobTree(recorded.proc, SELF_PID).read({901}, 0.0)) == [901, 903]


def test_swap_is_not_looked_up_while_none_is_used(recorded: Tree) -> None:
    recorded.remove("proc/901/status")
    assert JobTree(recorded.proc, SELF_PID).read({901}, 0.0, swap_in_use=False)[0].swap_bytes == 0


def test_transfers_that_may_not_be_read_are_unknown(recorded: Tree) -> None:
    recorded.remove("proc/901/io")
    process = JobTree(recorded.proc, SELF_PID).read({901}, 0.0)[0]
    assert (process.read_bytes, process.written_bytes) == (None, None)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        pytest.param(b"python\0-c\0a\nb\x1b[2J\0", "python -c a\\nb\\x1b[2J", id="control-characters"),
        pytest.param(b"", "[kworker/0:1]", id="none-so-the-name"),
        pytest.param(b"caf\xe9\0", "caf\ufffd", id="not-utf-8"),
        pytest.param(b"x" * 5000, "x" * (COMMAND_CHARACTERS - 1) + "…", id="long"),
    ],
)
def test_a_command_is_fit_to_be_shown(recorded: Tree, raw: bytes, shown: str) -> None:
    recorded.write("proc/901/stat", stat_line(901, SELF_PID, b"kworker/0:1"))
    recorded.write("proc/901/cmdline", raw)
    assert JobTree(recorded.proc, SELF_PID).read({901}, 0.0)[0].command == shown


@pytest.fixture
def shell() -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts sh -c in a process group of its own. Everything in its session is ended afterwards."""
    started: list[subprocess.Popen[bytes]] = []

    def start(script: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
            stat = ProcessFiles("/proc", pid, keep=False).stat()
            if stat is not None and stat.session == process.pid:
                os.kill(pid, signal.SIGKILL)
        process.communicate()


Shell = Callable[[str], subprocess.Popen[bytes]]


def printed_pid(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_a_real_tree_is_found(shell: Shell) -> None:
    top = shell("sh -c 'sleep 60 & echo $!; wait' & wait")
    sleeper = printed_pid(top)
    wait_until(lambda: state_of(sleeper) == "S")
    job = JobTree("/proc").read({top.pid}, 0.0)
    assert len(job) == 3
    assert (job[0].pid, job[-1].pid) == (top.pid, sleeper)
    assert job[-1].command == "sleep 60"
    assert job[-1].parent_pid == job[1].pid
    assert job[-1].rss_bytes > 0


def test_real_memory_is_exact(shell: Shell) -> None:
    top = shell("echo $$; exec sleep 60")
    printed_pid(top)
    wait_until(lambda: state_of(top.pid) == "S")
    process = JobTree("/proc").read({top.pid}, 0.0)[0]
    rollup = Path(f"/proc/{top.pid}/smaps_rollup").read_text().splitlines()
    assert f"Rss: {process.rss_bytes // 1024} kB" in [" ".join(line.split()) for line in rollup]


def test_a_real_name_with_parentheses_is_read(shell: Shell, tmp_path: Path) -> None:
    name = "a) R 1 (b c"
    shutil.copy(shutil.which("sleep") or "", tmp_path / name)
    top = shell(f"'{tmp_path}/{name}' 60 & echo $!; wait")
    pid = printed_pid(top)
    wait_until(lambda: Path(f"/proc/{pid}/comm").read_text() == f"{name}\n" and state_of(pid) == "S")
    process = next(process for process in JobTree("/proc").read({top.pid}, 0.0) if process.pid == pid)
    assert (process.parent_pid, process.state) == (top.pid, "S")


def test_a_real_forked_process_has_the_name_that_it_gave_itself(shell: Shell) -> None:
    fork = "import os, time; child = os.fork()\nif not child: open('/proc/self/comm', 'w').write('memwatch-hasher')\n"
    in_one_piece = "os.write(1, b'%d\\n' % os.getpid())"  # print writes the line end apart where it has no buffer
    top = shell(f'exec "{sys.executable}" -c "{fork}{in_one_piece}; time.sleep(60)"')
    assert {printed_pid(top), printed_pid(top)} > {top.pid}
    parent, child = JobTree("/proc").read({top.pid}, 0.0)
    assert (parent.name, child.name) == (None, "memwatch-hasher")


def test_a_real_grandchild_counts_after_its_parent_has_ended(shell: Shell) -> None:
    top = shell("sh -c 'sleep 60 & echo $!; wait' & wait; exec sleep 60")
    sleeper = printed_pid(top)
    tree = JobTree("/proc")
    before = tree.read({top.pid}, 0.0)
    middle = next(process.parent_pid for process in before if process.pid == sleeper)
    os.kill(middle, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{middle}").exists())
    assert parent_of(sleeper) != middle
    assert sleeper in pids(tree.read({top.pid}, 0.1))
    assert middle not in pids(tree.read({top.pid}, 0.2))


def test_a_real_orphan_never_seen_before_is_known_by_its_session(shell: Shell) -> None:
    top = shell("(sleep 60 & echo $!); exec sleep 60")
    sleeper = printed_pid(top)
    wait_until(lambda: parent_of(sleeper) != top.pid)
    assert sleeper in pids(JobTree("/proc").read({top.pid}, 0.0))


def test_a_real_orphan_is_found_when_the_root_has_ended(shell: Shell) -> None:
    top = shell("echo $$; sleep 0.2; (sleep 60 & echo $!); exec sleep 60")
    printed_pid(top)
    tree = JobTree("/proc")
    tree.read({top.pid}, 0.0)
    sleeper = printed_pid(top)
    os.kill(top.pid, signal.SIGKILL)
    top.wait()
    assert sleeper in pids(tree.read({top.pid}, 0.1))


def test_a_subreaper_finds_a_real_daemon_that_left_its_session() -> None:
    """GIVEN a guard that adopts orphans WHEN the job forks away into a new session THEN it still counts."""
    script = """
        import ctypes, os, signal, subprocess, time
        from memwatch.probe.job_tree import JobTree
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        job = subprocess.run(["sh", "-c", "setsid sh -c 'sleep 60 >&- 2>&- & echo $!'"], stdout=subprocess.PIPE)
        daemon = int(job.stdout)
        found = [process.pid for process in JobTree("/proc").read({os.getpid()}, 0.0)]
        os.kill(daemon, signal.SIGKILL)
        assert found == [daemon], (found, daemon)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_another_users_transfers_are_unknown_and_the_rest_is_read(shell: Shell) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become someone else")
    top = shell("echo $$; exec sleep 60")
    printed_pid(top)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        process = JobTree("/proc").read({top.pid}, 0.0)[0]
        os.write(writer, repr((process.read_bytes, process.written_bytes, process.rss_bytes > 0)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"(None, None, True)"
    os.close(reader)
    os.close(writer)


def test_ended_processes_leave_no_file_open(shell: Shell) -> None:
    tree = JobTree("/proc")
    before = len(os.listdir("/proc/self/fd"))
    for clock_s in range(5):
        children = [subprocess.Popen(["sleep", "60"]) for _ in range(4)]
        assert len(tree.read({child.pid for child in children}, float(clock_s))) == 4
        for child in children:
            child.kill()
            child.wait()
        assert tree.read({child.pid for child in children}, clock_s + 0.5) == ()
    assert len(os.listdir("/proc/self/fd")) == before


def test_more_processes_than_are_kept_open_are_all_read(shell: Shell) -> None:
    top = shell("for i in $(seq 80); do sleep 60 & done; echo $$; wait")
    printed_pid(top)
    tree = JobTree("/proc")
    assert len(tree.read({top.pid}, 0.0)) == 81
    assert len(tree.read({top.pid}, 0.1)) == 81
    tree.close()


def test_all_are_read_where_few_files_may_be_open(shell: Shell) -> None:
    # GIVEN a limit (ulimit -n) that leaves no room for three files of each process
    top = shell("for i in $(seq 40); do sleep 60 & done; echo $$; wait")
    printed_pid(top)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 40, limits[1]))
    try:
        tree = JobTree("/proc")
        # WHEN it is read THEN nobody is missing
        assert len(tree.read({top.pid}, 0.0)) == 41
        assert len(tree.read({top.pid}, 0.1)) == 41
        tree.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize(
    ("files_limit", "kept"),
    [(0, 0), (64, 0), (100, 12), (256, 64), (1024, 96), (1 << 20, 96), (resource.RLIM_INFINITY, 96)],
)
def test_files_are_kept_open_as_far_as_the_limit_allows(files_limit: int, kept: int) -> None:
    assert most_kept_open(files_limit) == kept


def parent_of(pid: int) -> int:
    return parse_stat(Path(f"/proc/{pid}/stat").read_bytes()).parent_pid


def state_of(pid: int) -> str:
    return parse_stat(Path(f"/proc/{pid}/stat").read_bytes()).state


def wait_until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)
