"""Where cgroups are: which one a process is in, where they are mounted, and which ones are above it."""

import os
import re
from typing import NamedTuple

from memwatch.probe.files import read_file


class Mount(NamedTuple):
    """Where a cgroup file system is mounted, and which cgroup its top folder is (`/` unless in a container)."""

    version: int
    root: str
    folder: str


def find_mounts(proc_root: str, sys_root: str) -> list[Mount]:
    """All cgroup mounts that this process sees."""
    return parse_mounts(read_file(f"{proc_root}/self/mountinfo") or b"", sys_root)


def memory_mount(proc_root: str, sys_root: str) -> str | None:
    """Where cgroup v2 is mounted, if memory is among what it controls."""
    for mount in find_mounts(proc_root, sys_root):
        controllers = read_file(f"{mount.folder}/cgroup.controllers") if mount.version == 2 else None
        if controllers is not None and b"memory" in controllers.split():
            return mount.folder
    return None


def parse_membership(text: bytes) -> dict[int, str]:
    """/proc/PID/cgroup: the path in the v1 memory hierarchy, and the one in v2."""
    paths = {}
    for line in text.decode(errors="surrogateescape").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            paths[1] = path
        elif number == "0" and not controllers:
            paths[2] = path
    return paths


def parse_mounts(text: bytes, sys_root: str) -> list[Mount]:
    """The memory cgroup file systems among /proc/self/mountinfo."""
    mounts = {}
    for line in text.decode(errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        if version is None or (version == 1 and "memory" not in options.split(" ")[-1].split(",")):
            continue
        fields = [_unescaped(field) for field in before.split(" ")]
        # By its folder, because a later mount on the same one hides the earlier.
        mounts[fields[4]] = Mount(version, fields[3], _below(sys_root, fields[4]))
    return list(mounts.values())


def ancestors(mount: Mount, path: str) -> list[tuple[str, str]]:
    """(folder, cgroup path) from the process's own cgroup up to the top of what is mounted."""
    steps = [step for step in (_steps_below(mount.root, path) or "").split("/") if step]
    top = mount.root.rstrip("/")
    found = []
    for count in range(len(steps), -1, -1):
        below = "".join(f"/{step}" for step in steps[:count])
        found.append((mount.folder + below, top + below or "/"))
    return found


def seen_from_outside(mount: Mount, path: str, pid: int) -> list[tuple[str, str]]:
    """The ancestors for a process in a cgroup namespace that has kept the mount from before (bubblewrap does so).

    The path then starts at the namespace, whose own name is nowhere to be read: only how deep it lies below the mount.
    """
    from glob import glob

    namespaces = mount.folder + "/*" * mount.root.count("..")
    for members in glob(f"{namespaces}{path.rstrip('/')}/cgroup.procs"):
        if str(pid).encode() in (read_file(members) or b"").split():
            own = os.path.dirname(members).removeprefix(mount.folder)
            return ancestors(Mount(mount.version, "/", mount.folder), own)
    return [(mount.folder, mount.root)]


def widest(mounts: list[Mount], path: str) -> list[Mount]:
    """The mount that shows most of the ancestors; none if the process is in no cgroup that can be seen."""
    showing = [mount for mount in mounts if is_outside(mount) or _steps_below(mount.root, path) is not None]
    return sorted(showing, key=lambda mount: (not is_outside(mount), len(mount.root)))[:1]


def is_outside(mount: Mount) -> bool:
    """Its top is above our cgroup namespace: `/..`, `/../..`."""
    return set(mount.root.split("/")) == {"", ".."}


def _steps_below(root: str, path: str) -> str | None:
    """The rest of `path` after `root`; None if it is not below it."""
    root = root.rstrip("/")
    below = path[len(root) :]
    return below if path.startswith(root) and below[:1] in ("", "/") and not below.startswith("/..") else None


def _below(sys_root: str, folder: str) -> str:
    """Mount points name the machine's own /sys; a recorded tree has it elsewhere."""
    return sys_root + folder.removeprefix("/sys") if folder.startswith("/sys/") else folder


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
