"""Where systemd could make a scope for the job, found by looking at files, in a fraction of a millisecond.

A scope is a cgroup beside ours, not below it: what the job would leave behind must not hold it back in any way, or it
would escape from it. So a scope is made in the slice that we are in, by the manager that looks after that slice:

    /user.slice/user-1000.slice/session-3.scope             a login: the user's manager, in its app.slice
    /user.slice/user-1000.slice/user@1000.service/app.slice/...   a desktop: the user's manager, in the same slice
    anywhere, as root                                       the system's manager, in the same slice
"""

import os
from typing import NamedTuple

from memwatch.on_linux import IS_LINUX
from memwatch.probe.cgroup_paths import memory_mount, parse_membership
from memwatch.probe.files import read_file

_HOLDING_BACK = ("memory.max", "memory.high", "memory.swap.max", "cpu.max")


class NoScope(Exception):
    """Why the job gets none, in one sentence; `advice` is what to do about it."""

    def __init__(self, why: str, advice: str = "nothing has to be done") -> None:
        super().__init__(why)
        self.advice = advice


class Place(NamedTuple):
    """`slice_name` is None where the manager has one for that purpose."""

    socket_path: str
    slice_name: str | None
    cgroup_folder: str  # where cgroup v2 is mounted


def find_place(
    proc_root: str = "/proc",
    sys_root: str = "/sys",
    run_root: str = "/run",
    user_id: int | None = None,
) -> Place:
    """For what this process starts. Raises NoScope."""
    if not IS_LINUX:
        raise NoScope("only Linux has systemd scopes")
    user_id = os.geteuid() if user_id is None else user_id
    folder = memory_mount(proc_root, sys_root)
    if folder is None:
        raise NoScope("cgroup v2 has no memory controller here", "boot with systemd.unified_cgroup_hierarchy=1")
    path = parse_membership(read_file(f"{proc_root}/self/cgroup") or b"").get(2, "/")
    place, left_behind = _in_slice(path, folder, run_root, user_id)
    if not os.path.exists(place.socket_path):
        raise NoScope("systemd does not run here for this user", "log in as this user, rather than through su or sudo")
    _check_left_behind(folder, path, left_behind)
    return place


def seek_place(proc_root: str = "/proc", sys_root: str = "/sys", run_root: str = "/run") -> Place | NoScope:
    """As `find_place`, but returns why there is none instead of raising it."""
    try:
        return find_place(proc_root, sys_root, run_root)
    except NoScope as error:
        return error


def _in_slice(path: str, folder: str, run_root: str, user_id: int) -> tuple[Place, list[str]]:
    """The place, and the steps of our path that the job would leave behind."""
    login = f"/user.slice/user-{user_id}.slice/"
    manager = f"{login}user@{user_id}.service/"
    users_socket = f"{run_root}/user/{user_id}/systemd/private"
    if path.startswith(manager):
        slices, rest = _leading_slices(path.removeprefix(manager))
        _check_delegation(folder + manager)
        return Place(users_socket, slices[-1] if slices else None, folder), rest
    if user_id == 0:
        slices, rest = _leading_slices(path)
        if not slices or (len(rest) > 1 and not rest[0].startswith("user@")):
            raise NoScope(f"{path} is looked after by something else than systemd")
        return Place(f"{run_root}/systemd/private", slices[-1], folder), rest
    if path.startswith(login):
        _check_delegation(folder + manager)
        return Place(users_socket, None, folder), path.removeprefix(login).split("/")
    advice = "run memwatch from a login of this user, rather than from a service or through su"
    raise NoScope(f"{path} is not part of a login of this user", advice)


def _leading_slices(path: str) -> tuple[list[str], list[str]]:
    steps = [step for step in path.split("/") if step]
    count = next((i for i, step in enumerate(steps) if not step.endswith(".slice")), len(steps))
    return steps[:count], steps[count:]


def _check_delegation(manager_folder: str) -> None:
    controllers = read_file(f"{manager_folder}cgroup.controllers")
    if controllers is not None and b"memory" not in controllers.split():
        advice = "set Delegate=memory for user@.service, and log in again"
        raise NoScope("memory is not among what users may limit here", advice)


def _check_left_behind(folder: str, path: str, left_behind: list[str]) -> None:
    steps = path.strip("/").split("/")
    for count in range(len(steps) - len(left_behind) + 1, len(steps) + 1):
        level = "/" + "/".join(steps[:count])
        for name in _HOLDING_BACK:
            limit = (read_file(f"{folder}{level}/{name}") or b"").split()[:1]
            if limit and limit != [b"max"]:
                raise NoScope(f"{level} has a limit of its own ({name}), which the job must not escape")
