"""Where a scope can be made, and where not: by recorded trees."""

from pathlib import Path

import pytest

from memwatch.guard.scope.placement import NoScope, Place, find_place
from tests.probe import trees
from tests.probe.trees import Tree

LOGIN = "/user.slice/user-1000.slice"
DESKTOP = f"{LOGIN}/user@1000.service"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A machine with systemd on cgroup v2: its manager, that of user 1000, and that of nobody else."""
    tree = trees.bare(tmp_path)
    tree.write("proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n")
    tree.write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")
    tree.write(f"sys/fs/cgroup{DESKTOP}/cgroup.controllers", "cpu memory pids\n")
    for folder in ("run/systemd", "run/user/1000/systemd"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "private").touch()
    return tree


def place(tree: Tree, path: str, user_id: int = 1000) -> Place:
    tree.write("proc/self/cgroup", f"0::{path}\n")
    return find_place(tree.proc, tree.sys, _run(tree), user_id)


def refusal(tree: Tree, path: str, user_id: int = 1000) -> str:
    with pytest.raises(NoScope) as raised:
        place(tree, path, user_id)
    assert raised.value.advice
    return str(raised.value)


def _run(tree: Tree) -> str:
    return str(Path(tree.proc).parent / "run")


@pytest.mark.parametrize(
    ("path", "user_id", "manager", "slice_name"),
    [
        pytest.param(f"{LOGIN}/session-3.scope", 1000, "user/1000/", None, id="a login"),
        pytest.param(f"{DESKTOP}/app.slice/code.scope", 1000, "user/1000/", "app.slice", id="a desktop"),
        pytest.param(f"{DESKTOP}/app.slice/app-x.slice/a.scope", 1000, "user/1000/", "app-x.slice", id="a slice in it"),
        pytest.param(f"{DESKTOP}/init.scope", 1000, "user/1000/", None, id="the manager's own"),
        pytest.param("/user.slice/user-0.slice/session-1.scope", 0, "", "user-0.slice", id="root"),
        pytest.param(f"{LOGIN}/session-3.scope", 0, "", "user-1000.slice", id="sudo in a login"),
        pytest.param(f"{DESKTOP}/app.slice/code.scope", 0, "", "user-1000.slice", id="sudo in a desktop"),
        pytest.param("/system.slice/ssh.service", 0, "", "system.slice", id="root, in a service"),
    ],
)
def test_the_manager_and_the_slice_are_those_that_the_job_is_in_already(
    tree: Tree, path: str, user_id: int, manager: str, slice_name: str | None
) -> None:
    found = place(tree, path, user_id)
    assert found.socket_path == f"{_run(tree)}/{manager}systemd/private"
    assert found.slice_name == slice_name


def test_a_job_is_not_taken_out_of_what_others_look_after(tree: Tree) -> None:
    assert "not part of a login" in refusal(tree, "/system.slice/cron.service")
    assert "not part of a login" in refusal(tree, f"{LOGIN}/session-3.scope", user_id=1001)
    assert "something else than systemd" in refusal(tree, "/system.slice/slurmstepd.scope/job_7/step_0", user_id=0)
    assert "something else than systemd" in refusal(tree, "/", user_id=0)  # A container.


@pytest.mark.parametrize(
    ("name", "text"),
    [("memory.max", "1048576\n"), ("memory.high", "9\n"), ("memory.swap.max", "0\n"), ("cpu.max", "50000 100000\n")],
)
def test_a_job_does_not_escape_a_limit(tree: Tree, name: str, text: str) -> None:
    path = f"{DESKTOP}/app.slice/limited.scope"
    tree.write(f"sys/fs/cgroup{path}/{name}", text)
    assert refusal(tree, path) == f"{path} has a limit of its own ({name}), which the job must not escape"
    assert "limited.scope has a limit" in refusal(tree, f"{path}/inner")
    assert "limited.scope has a limit" in refusal(tree, path, user_id=0)


def test_a_limit_of_the_slice_goes_on_to_hold(tree: Tree) -> None:
    tree.write(f"sys/fs/cgroup{DESKTOP}/app.slice/memory.max", "4000000000\n")
    tree.write(f"sys/fs/cgroup{LOGIN}/memory.max", "8000000000\n")
    tree.write(f"sys/fs/cgroup{DESKTOP}/app.slice/a.scope/cpu.max", "max 100000\n")
    assert place(tree, f"{DESKTOP}/app.slice/a.scope").slice_name == "app.slice"


def test_without_systemd_there_is_none(tree: Tree) -> None:
    Path(_run(tree), "user/1000/systemd/private").unlink()
    assert "systemd does not run here for this user" in refusal(tree, f"{LOGIN}/session-3.scope")


def test_memory_must_be_delegated_to_users(tree: Tree) -> None:
    tree.write(f"sys/fs/cgroup{DESKTOP}/cgroup.controllers", "cpu pids\n")
    assert "memory is not among" in refusal(tree, f"{LOGIN}/session-3.scope")


def test_on_v1_and_on_hybrid_machines_there_is_none(tmp_path: Path) -> None:
    for made in (trees.container_v1(tmp_path / "v1"), trees.hybrid(tmp_path / "hybrid"), trees.bare(tmp_path / "none")):
        assert "cgroup v2" in refusal(made, "/user.slice/user-1000.slice/session-3.scope")
