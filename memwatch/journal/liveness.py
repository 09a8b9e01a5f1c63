"""Which guard writes a journal, and whether it is still there.

A pid alone names nothing for long. With the time it was started at, since boot, it does; with the boot, for ever.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import read_file
from memwatch.probe.stat import is_same_start, read_stat

# A journal that says nothing of its guard may be about to; one whose guard cannot be seen from here has a day.
NEW_S = 60.0
UNSEEN_S = 86400.0


@dataclass(frozen=True, slots=True)
class GuardId:
    pid: int
    start_ticks: int | None
    boot_id: str | None = None
    pid_namespace: int | None = None  # in another one the same pid is another process

    @classmethod
    def this(cls, proc_root: str = "/proc") -> "GuardId":
        pid = os.getpid()
        return cls(pid, _start_ticks(proc_root, pid), _boot_id(proc_root), _pid_namespace(proc_root))

    @classmethod
    def from_json(cls, value: object) -> "GuardId | None":
        if not isinstance(value, Mapping) or type(value.get("pid")) is not int:
            return None
        ticks, boot_id, namespace = (value.get(key) for key in ("start_ticks", "boot_id", "pid_namespace"))
        return cls(
            value["pid"],
            ticks if isinstance(ticks, int) else None,
            boot_id if isinstance(boot_id, str) else None,
            namespace if isinstance(namespace, int) else None,
        )

    def as_json(self) -> dict[str, object]:
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}

    def is_alive(self, proc_root: str = "/proc") -> bool | None:
        """Whether this guard is running; None if it cannot be seen from here, for example in a container."""
        boot_id, namespace = _boot_id(proc_root), _pid_namespace(proc_root)
        if None not in (self.boot_id, boot_id) and self.boot_id != boot_id:
            return False
        if None not in (self.pid_namespace, namespace) and self.pid_namespace != namespace:
            return None
        found = _start_ticks(proc_root, self.pid)
        return found is not None and self.start_ticks is not None and is_same_start(found, self.start_ticks)


def may_be_alive(guard: GuardId | None, age_s: float) -> bool:
    """Whether the guard that wrote a journal may still be alive; without its id, by the age of the journal."""
    if guard is None:
        return age_s < NEW_S
    alive = guard.is_alive()
    return age_s < UNSEEN_S if alive is None else alive


def _start_ticks(proc_root: str, pid: int) -> int | None:
    """The start time of a process; None if there is none, or only a zombie."""
    stat = read_stat(pid, proc_root)
    return None if stat is None or stat.state in "ZX" else stat.start_ticks


def _boot_id(proc_root: str) -> str | None:
    text = read_file(f"{proc_root}/sys/kernel/random/boot_id") if IS_LINUX else None
    return text.decode(errors="replace").strip() if text else None


def _pid_namespace(proc_root: str) -> int | None:
    if not IS_LINUX:
        return None
    try:
        return os.stat(f"{proc_root}/self/ns/pid").st_ino
    except OSError:
        return None
