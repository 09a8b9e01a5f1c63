"""Limits above a process: on recorded machines, and in a memory cgroup of this one."""

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memwatch.model.sample import Limit
from memwatch.probe.cgroup_paths import Mount, ancestors, parse_mounts
from memwatch.probe.cgroups import Limits
from memwatch.probe.procfs import HostMemory
from tests.cage import needs_cage
from tests.probe import trees
from tests.probe.caged_jobs import watched
from tests.probe.trees import MIB, SELF_PID, Tree, bare, cgroup1, cgroup2

MEMORY = Path("/sys/fs/cgroup/memory")


def read(tree: Tree) -> tuple[Limit, ...]:
    limits = Limits(tree.proc, tree.sys)
    try:
        return limits.read([SELF_PID])
    finally:
        limits.close()


def test_a_container_shows_its_limit_without_page_cache_but_with_shared_memory(tmp_path: Path) -> None:
    limit = Limit("/", 512 * MIB, 200 * MIB, swap_used_bytes=5 * MIB, shmem_bytes=50 * MIB)
    assert read(trees.container_v2(tmp_path)) == (limit,)


def test_a_limit_on_an_ancestor_counts_and_max_is_no_limit(tmp_path: Path) -> None:
    assert read(trees.desktop_v2(tmp_path)) == (Limit("/user.slice", 8000 * MIB, 2000 * MIB, 5 * MIB, shmem_bytes=0),)


def test_every_limit_is_listed_the_nearest_first(tmp_path: Path) -> None:
    tree = trees.desktop_v2(tmp_path)
    cgroup2(tree, "fs/cgroup/user.slice/user-1000.slice/session-2.scope", str(70 * MIB), current=9 * MIB)
    assert [limit.limit_bytes for limit in read(tree)] == [70 * MIB, 8000 * MIB]


def test_the_throttling_limit_counts_where_it_is_lower(tmp_path: Path) -> None:
    tree = trees.container_v2(tmp_path)
    tree.write("sys/fs/cgroup/memory.high", f"{400 * MIB}\n")
    assert read(tree)[0].limit_bytes == 400 * MIB


def test_v1_in_a_container_is_found_below_the_mounted_root(tmp_path: Path) -> None:
    assert read(trees.container_v1(tmp_path)) == (Limit("/docker/abc", 256 * MIB, 120 * MIB, shmem_bytes=9),)


def test_v1_limit_on_memory_with_swap_is_a_limit_of_its_own(tmp_path: Path) -> None:
    tree = trees.container_v1(tmp_path)
    tree.write("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", f"{300 * MIB}\n")
    tree.write("sys/fs/cgroup/memory/memory.memsw.usage_in_bytes", f"{290 * MIB}\n")
    memory, with_swap = read(tree)
    assert (memory.available_bytes, memory.swap_used_bytes) == (136 * MIB, 90 * MIB)
    # What is in swap is among what is used.
    assert with_swap == Limit("/docker/abc (with swap)", 300 * MIB, 210 * MIB, 0, shmem_bytes=9)


def test_v2_a_page_in_swap_and_in_ram_is_not_swapped_out(tmp_path: Path) -> None:
    tree = trees.container_v2(tmp_path)
    tree.write("sys/fs/cgroup/memory.stat", f"anon 1\nswapcached {3 * MIB}\n")
    (limit,) = read(tree)
    assert (limit.swap_used_bytes, limit.swapped_out_bytes) == (5 * MIB, 2 * MIB)


def test_hybrid_takes_the_limit_from_where_the_memory_controller_is(tmp_path: Path) -> None:
    assert read(trees.hybrid(tmp_path)) == (Limit("/jobs", 128 * MIB, 100 * MIB, None, shmem_bytes=9),)


def test_no_cgroup_is_no_limit_and_named(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    assert read(tree) == ()
    assert Limits(tree.proc, tree.sys).missing()[0][0] == "cgroup limits"


@pytest.mark.parametrize("machine", [trees.container_v1, trees.container_v2, trees.desktop_v2, trees.hybrid])
def test_a_memory_controller_is_not_missing(tmp_path: Path, machine: Callable[[Path], Tree]) -> None:
    tree = machine(tmp_path)
    assert Limits(tree.proc, tree.sys).missing() == []


def test_v2_without_the_memory_controller_is_named(tmp_path: Path) -> None:
    tree = trees.container_v2(tmp_path)
    tree.write("sys/fs/cgroup/cgroup.controllers", "cpu pids\n")
    assert Limits(tree.proc, tree.sys).missing()


def test_a_limit_set_changed_and_lifted_is_followed(tmp_path: Path) -> None:
    tree = trees.desktop_v2(tmp_path)
    limits = Limits(tree.proc, tree.sys)
    seen = []
    for value in (str(8000 * MIB), str(90 * MIB), "max"):
        tree.write("sys/fs/cgroup/user.slice/memory.max", value)
        seen.append([limit.limit_bytes for limit in limits.read([SELF_PID])])
    assert seen == [[8000 * MIB], [90 * MIB], []]


def test_a_process_moved_to_another_cgroup_is_followed(tmp_path: Path) -> None:
    tree = trees.hybrid(tmp_path)
    cgroup1(tree, "fs/cgroup/memory/other", 64 * MIB, usage=MIB)
    limits = Limits(tree.proc, tree.sys)
    limits.read([SELF_PID])
    tree.write(f"proc/{SELF_PID}/cgroup", "4:memory:/other\n0::/\n")
    assert [limit.path for limit in limits.read([SELF_PID])] == ["/other"]


def test_an_ancestor_of_two_processes_is_listed_once(tmp_path: Path) -> None:
    tree = trees.desktop_v2(tmp_path)
    tree.write("proc/901/cgroup", "0::/user.slice/user-1001.slice\n")
    limits = Limits(tree.proc, tree.sys)
    assert [limit.path for limit in limits.read([SELF_PID, 901])] == ["/user.slice"]


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        pytest.param("/", "/a/b", [("/m/a/b", "/a/b"), ("/m/a", "/a"), ("/m", "/")], id="whole-hierarchy"),
        pytest.param("/a", "/a/b", [("/m/b", "/a/b"), ("/m", "/a")], id="bind-mount"),
        pytest.param("/a", "/a", [("/m", "/a")], id="bind-mount-of-its-own"),
    ],
)
def test_ancestors_end_at_the_mounted_root(root: str, path: str, expected: list[tuple[str, str]]) -> None:
    assert ancestors(Mount(1, root, "/m"), path) == expected


@pytest.mark.parametrize(
    ("root", "path"),
    [
        pytest.param("/job", "/jobs", id="a-longer-name"),
        pytest.param("/elsewhere", "/jobs", id="another-branch"),
        pytest.param("/", "/../jobs", id="outside-the-namespace"),
    ],
)
def test_a_limit_that_is_not_above_the_process_does_not_count(tmp_path: Path, root: str, path: str) -> None:
    tree = trees.container_v2(tmp_path)
    tree.write("proc/self/mountinfo", f"31 23 0:27 {root} /sys/fs/cgroup ro - cgroup2 cgroup rw\n")
    tree.write(f"proc/{SELF_PID}/cgroup", f"0::{path}\n")
    assert read(tree) == ()


@pytest.mark.parametrize("listed", [True, False], ids=["found-among-the-members", "or-else-the-top-alone"])
def test_a_namespace_that_kept_the_mount_from_before_is_looked_for(tmp_path: Path, listed: bool) -> None:
    tree = bare(tmp_path)
    tree.write("proc/self/mountinfo", "31 23 0:27 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    tree.write(f"proc/{SELF_PID}/cgroup", "0::/inner\n")
    cgroup2(tree, "fs/cgroup", str(900 * MIB))
    for name in ("a/b", "a/c"):
        cgroup2(tree, f"fs/cgroup/{name}/inner", str(70 * MIB))
        tree.write(f"sys/fs/cgroup/{name}/inner/cgroup.procs", f"1{SELF_PID}\n")
    if listed:
        tree.write("sys/fs/cgroup/a/c/inner/cgroup.procs", f"7\n{SELF_PID}\n")
    found = [limit.path for limit in read(tree)]
    assert found == (["/a/c/inner", "/"] if listed else ["/../.."])


def test_a_mount_on_top_of_another_hides_it(tmp_path: Path) -> None:
    tree = trees.container_v1(tmp_path)
    over = Path(tree.proc, "self/mountinfo").read_text()
    tree.write("proc/self/mountinfo", over.replace(" /docker/abc ", " / ") + over)
    assert [limit.path for limit in read(tree)] == ["/docker/abc"]


def test_mount_points_with_spaces_are_read() -> None:
    line = b"35 31 0:32 / /mnt/my\\040cgroups rw - cgroup2 cgroup2 rw\n"
    assert parse_mounts(line, "/sys") == [Mount(2, "/", "/mnt/my cgroups")]


def test_the_mount_that_shows_most_ancestors_is_chosen(tmp_path: Path) -> None:
    tree = trees.hybrid(tmp_path)
    bind = "50 31 0:32 /jobs /elsewhere rw - cgroup cgroup rw,memory\n"
    tree.write("proc/self/mountinfo", bind + Path(tree.proc, "self/mountinfo").read_text())
    assert [limit.path for limit in read(tree)] == ["/jobs"]


@pytest.fixture
def real_cgroup() -> Iterator[Path]:
    """An empty memory cgroup of this machine; whatever is put into it is ended."""
    folder = MEMORY / f"memwatch-test-{uuid.uuid4().hex[:12]}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"cannot make a v1 memory cgroup here: {error.strerror}")
    yield folder
    (folder / "memory.force_empty").write_text("0")
    deadline_s = time.monotonic() + 5
    while True:
        try:
            return folder.rmdir()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.02)


class Confined:
    """A shell inside a cgroup."""

    def __init__(self, cgroup: Path, script: str = "true") -> None:
        line = f"echo $$ > {cgroup}/cgroup.procs; {script}; echo ready; exec sleep 60"
        self.process = subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE)

    def __enter__(self) -> int:
        assert self.process.stdout is not None
        self.process.stdout.readline()
        return self.process.pid

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def real_limits(pid: int, cgroup: Path) -> dict[str, Limit]:
    limits = Limits("/proc", "/sys")
    try:
        return {limit.path: limit for limit in limits.read([pid]) if cgroup.name in limit.path}
    finally:
        limits.close()


def test_a_real_limit_is_seen_from_inside(real_cgroup: Path) -> None:
    (real_cgroup / "memory.limit_in_bytes").write_text(str(64 * MIB))
    with Confined(real_cgroup) as pid:
        limit = real_limits(pid, real_cgroup)[f"/{real_cgroup.name}"]
    assert limit.limit_bytes == 64 * MIB
    assert 0 <= limit.used_bytes < 8 * MIB


def test_a_real_cgroup_without_a_limit_is_not_listed(real_cgroup: Path) -> None:
    with Confined(real_cgroup) as pid:
        assert real_limits(pid, real_cgroup) == {}


def test_a_real_limit_of_the_parent_is_seen(real_cgroup: Path) -> None:
    inner = real_cgroup / "inner"
    inner.mkdir()
    (real_cgroup / "memory.limit_in_bytes").write_text(str(64 * MIB))
    try:
        with Confined(inner) as pid:
            assert list(real_limits(pid, real_cgroup)) == [f"/{real_cgroup.name}"]
    finally:
        inner.rmdir()


def test_a_real_limit_with_swap_is_seen(real_cgroup: Path) -> None:
    if not (real_cgroup / "memory.memsw.limit_in_bytes").exists():
        pytest.skip("this kernel does not account for swap in v1 cgroups")
    (real_cgroup / "memory.limit_in_bytes").write_text(str(64 * MIB))
    (real_cgroup / "memory.memsw.limit_in_bytes").write_text(str(96 * MIB))
    with Confined(real_cgroup) as pid:
        limits = real_limits(pid, real_cgroup)
    assert limits[f"/{real_cgroup.name} (with swap)"].limit_bytes == 96 * MIB


def test_real_page_cache_is_not_use(real_cgroup: Path, tmp_path: Path) -> None:
    (real_cgroup / "memory.limit_in_bytes").write_text(str(64 * MIB))
    with Confined(real_cgroup, f"head -c {24 * MIB} /dev/zero > {tmp_path}/file") as pid:
        usage = int((real_cgroup / "memory.usage_in_bytes").read_text())
        limit = real_limits(pid, real_cgroup)[f"/{real_cgroup.name}"]
    assert usage > 20 * MIB
    assert limit.used_bytes < 8 * MIB


def test_real_shared_memory_is_use(real_cgroup: Path) -> None:
    (real_cgroup / "memory.limit_in_bytes").write_text(str(64 * MIB))
    file = Path(f"/dev/shm/{real_cgroup.name}")
    if not os.access(file.parent, os.W_OK):
        pytest.skip("there is no /dev/shm to write to")
    try:
        with Confined(real_cgroup, f"head -c {24 * MIB} /dev/zero > {file}") as pid:
            assert real_limits(pid, real_cgroup)[f"/{real_cgroup.name}"].used_bytes > 20 * MIB
    finally:
        file.unlink()


def test_a_real_cgroup_namespace_shows_the_limits_above_it(real_cgroup: Path) -> None:
    """GIVEN limits on two levels WHEN a process enters a namespace of its own THEN it still finds both."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare to make a namespace with")
    inner = real_cgroup / "inner"
    inner.mkdir()
    (real_cgroup / "memory.limit_in_bytes").write_text(str(64 * MIB))
    (inner / "memory.limit_in_bytes").write_text(str(48 * MIB))
    code = "import os; from memwatch.probe.cgroups import Limits; print(Limits('/proc', '/sys').read([os.getpid()]))"
    line = f'echo $$ > {inner}/cgroup.procs; exec unshare -C {sys.executable} -c "{code}"'
    try:
        done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, text=True, check=True)
    finally:
        inner.rmdir()
    paths = [limit.path for limit in eval(done.stdout, {"Limit": Limit})]
    assert paths[:2] == [f"/{real_cgroup.name}/inner", f"/{real_cgroup.name}"]


def test_v2_slab_that_can_be_reclaimed_is_free(tmp_path: Path) -> None:
    tree = trees.container_v2(tmp_path)
    stat = Path(tree.sys, "fs/cgroup/memory.stat")
    stat.write_text(stat.read_text() + f"slab_reclaimable {60 * MIB}\nslab_unreclaimable {7 * MIB}\n")
    assert read(tree)[0].used_bytes == 140 * MIB


@pytest.mark.parametrize(
    ("kernel_mib", "reclaimable_mib"),
    [
        pytest.param(130, 80, id="four-fifths-of-what-is-slab"),
        pytest.param(30, 0, id="stacks-and-page-tables-are-not-slab"),
        pytest.param(1, 0, id="too-little-to-look"),
    ],
)
def test_v1_slab_that_can_be_reclaimed_is_estimated(tmp_path: Path, kernel_mib: int, reclaimable_mib: int) -> None:
    tree = trees.container_v1(tmp_path)
    kib = 1024
    more = f"SReclaimable: {400 * kib} kB\nSUnreclaim: {100 * kib} kB\nKernelStack: {10 * kib} kB\n"
    tree.write("proc/meminfo", trees.meminfo() + more + f"PageTables: {20 * kib} kB\n")
    tree.write("sys/fs/cgroup/memory/memory.kmem.usage_in_bytes", f"{kernel_mib * MIB}\n")
    assert read(tree)[0].used_bytes == (120 - reclaimable_mib) * MIB


@needs_cage
def test_a_walk_over_many_files_fills_no_limit(tmp_path: Path) -> None:
    """GIVEN a job that makes tens of thousands of files WHEN its limit is read THEN their inodes are free memory."""
    script = """
    import os, sys, time
    for folder in range(60):
        os.mkdir(f"{folder}")
        for name in range(1000):
            os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY))
    print("made", flush=True)
    time.sleep(600)
    """
    with watched(512 * MIB, script, folder=tmp_path) as run:
        assert run.line() == "made"
        kernel_bytes = run.cage.number("memory.kmem.usage_in_bytes")
        host = HostMemory("/proc").kernel()
        if host is None or kernel_bytes < 2 * host.other_bytes:
            pytest.skip("the rest of the machine has so many page tables that nothing can be told of the cage")
        without_slab = run.cage.number("memory.usage_in_bytes") - run.cage.cache_bytes()
        limit = next(limit for limit in run.sample().limits if "memwatch-test" in limit.path)
        assert limit.used_bytes < without_slab - kernel_bytes // 5
    shutil.rmtree(tmp_path)
