"""The job's own scope: a cgroup that systemd makes for it, with a memory limit which the kernel enforces.

The limit is for the moment when the guard cannot act; limit.py says how large it is and when it moves.
The properties that are requested of systemd:

    MemoryMax       never MemoryHigh, above which a job that grows is slowed down until it stands still, for ever
    MemorySwapMax   half of the free swap: not 0, because a paused job that is swapped out makes room
    TasksMax        none: a scope has one by default where a login has none, and a job may have many threads
    OOMPolicy       continue: a job sees one of its processes killed, as it would anywhere, and memwatch sees the job
                    (a systemd that does not know this for scopes ends the rest of the scope)
    CollectMode     a scope that has failed is forgotten, too

systemd-oomd is left as it is set up: it kills by cgroup, and finds the job in one of its own.
"""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, replace

from memwatch.decide.reserve import Reserve
from memwatch.guard.scope.dbus import Connection
from memwatch.guard.scope.dbus_message import DBusError, Target, Value
from memwatch.guard.scope.limit import kept_bytes, memory_max_bytes, new_limit_bytes, swap_max_bytes
from memwatch.guard.scope.placement import NoScope, Place
from memwatch.model.sample import Limit, Sample
from memwatch.probe.cgroup_paths import parse_membership
from memwatch.probe.files import read_file, read_number

# systemd takes some milliseconds; one that hangs must not keep the job from starting. A machine that is slow already
# needs the limit most.
PATIENCE_S = 2.0
CHANGE_EVERY_S = 5.0
SEND_S = 0.5  # nothing is waited for but the socket; a guard on a busy machine is late by itself
HEARD_S = 1.0  # by then systemd has read what was sent, and the connection can be closed

_MANAGER = Target("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
_NO_LIMIT = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class ScopeFacts:
    """What is in force, as read back; or why nothing is, in one sentence."""

    name: str | None = None
    memory_max_bytes: int | None = None
    swap_max_bytes: int | None = None
    missing: str | None = None

    def as_json(self) -> dict[str, object]:
        if self.name is None:
            return {"scope": None, "scope_missing": self.missing}
        return {"scope": self.name, "memory_max_bytes": self.memory_max_bytes, "swap_max_bytes": self.swap_max_bytes}


class JobScope:
    """It takes the job in before it runs, and then follows the machine's memory."""

    def __init__(self, place: Place | NoScope, proc_root: str = "/proc") -> None:
        self._proc_root = proc_root
        self._place = place if isinstance(place, Place) else None
        self._name = f"memwatch-{os.getpid()}-{time.time_ns():x}.scope"
        self._pending: list[tuple[float, Connection]] = []
        self._changed_s = float("-inf")
        self._cgroup_folder: str | None = None
        self.facts = ScopeFacts(missing=None if isinstance(place, Place) else str(place))

    def take_in(self, pid: int, machine: Sample, reserve: Reserve) -> None:
        """Move a process into a new scope, before it runs; `machine` is a sample of now. `facts` has the result."""
        if self._place is None:
            return
        limit_bytes = _wanted_bytes(machine, [], reserve)
        if limit_bytes is None:
            self.facts = ScopeFacts(missing="the size of the memory is unknown")
            return
        deadline_s = time.monotonic() + PATIENCE_S
        swap = None if machine.memory is None else swap_max_bytes(machine.memory)
        try:
            connection = Connection(self._place.socket_path, deadline_s)
            try:
                self._start(connection, self._place, pid, limit_bytes, swap)
            finally:
                connection.close()
            self.facts = self._read_back(self._place, pid)
        except DBusError as error:
            self.facts = ScopeFacts(missing=f"systemd made no scope: {error}")

    @property
    def top_folder(self) -> str | None:
        """Where cgroup v2 is mounted."""
        return None if self._place is None else self._place.cgroup_folder

    def own_limit(self, sample: Sample) -> Limit | None:
        """The scope's, as the sample shows it."""
        return next((limit for limit in sample.limits if self._is_own(limit)), None)

    @property
    def cgroup_folder(self) -> str | None:
        """Where the kernel counts what the job alone uses and suffers; None without a scope."""
        return self._cgroup_folder

    def seen(self, sample: Sample, reserve: Reserve) -> Sample:
        """The sample, with `kept_bytes` in the scope's own limit: the part of the reserve that it keeps itself."""
        own = self.own_limit(sample)
        if self._place is None or own is None:
            return sample
        if self._cgroup_folder is None:  # systemd has made it after all, later than the start of the job waited for.
            self._cgroup_folder = f"{self._place.cgroup_folder}{own.path}"
            self.facts = ScopeFacts(self._name, own.limit_bytes)
        return replace(sample, limits=tuple(self._with_what_it_keeps(limit, reserve) for limit in sample.limits))

    def follow(self, sample: Sample, reserve: Reserve) -> None:
        """Move the limit if it should be another by now. Nothing is waited for: the samples show what came of it."""
        own = [limit for limit in sample.limits if self._is_own(limit)]
        if self._place is None or not own or sample.clock_s - self._changed_s < CHANGE_EVERY_S:
            return
        wanted = _wanted_bytes(sample, own, reserve)
        outside = _outside(sample, own).capacity
        charged = read_number(f"{self._place.cgroup_folder}{own[0].path}/memory.current")
        if wanted is None or outside is None or charged is None:
            return
        reserve_bytes = reserve.of(outside[0])
        is_short = (sample.available_bytes or 0) <= reserve_bytes
        limit_bytes = new_limit_bytes(own[0].limit_bytes, wanted, charged, reserve_bytes, is_short)
        if limit_bytes is not None:
            self._changed_s = sample.clock_s
            self.change(MemoryMax=limit_bytes)

    def change(self, **properties: int) -> None:
        """Change properties of the scope, in bytes or weights. Nothing is waited for."""
        if self._place is None:
            return
        now_s = time.monotonic()
        self._close_older(now_s - HEARD_S)
        with suppress(DBusError):
            connection = Connection(self._place.socket_path, now_s + SEND_S)
            self._pending.append((now_s, connection))
            asked = [(name, ("t", value)) for name, value in properties.items()]
            connection.send(_MANAGER, "SetUnitProperties", "sba(sv)", self._name, True, asked, wants_reply=False)

    def close(self) -> None:
        """Close the connections to systemd. The scope lives as long as what is in it."""
        self._close_older(float("inf"))

    def _close_older(self, than_s: float) -> None:
        for _, connection in (old := [entry for entry in self._pending if entry[0] <= than_s]):
            connection.close()
        self._pending = [entry for entry in self._pending if entry not in old]

    def _with_what_it_keeps(self, limit: Limit, reserve: Reserve) -> Limit:
        return replace(limit, kept_bytes=kept_bytes(reserve.of(limit.limit_bytes))) if self._is_own(limit) else limit

    def _is_own(self, limit: Limit) -> bool:
        return limit.path.endswith(f"/{self._name}")

    def _start(self, connection: Connection, place: Place, pid: int, limit_bytes: int, swap_bytes: int | None) -> None:
        asked: list[tuple[str, Value]] = [
            ("PIDs", ("au", [pid])),
            ("Description", ("s", "A job under the guard of memwatch")),
            ("CollectMode", ("s", "inactive-or-failed")),
            ("TasksMax", ("t", _NO_LIMIT)),
            ("MemoryMax", ("t", limit_bytes)),
        ]
        if swap_bytes is not None:
            asked.append(("MemorySwapMax", ("t", swap_bytes)))
        if place.slice_name is not None:
            asked.append(("Slice", ("s", place.slice_name)))
        try:
            job = self._ask(connection, [*asked, ("OOMPolicy", ("s", "continue"))])
        except DBusError as error:
            if "OOMPolicy" not in str(error):
                raise
            job = self._ask(connection, asked)
        # number, job, unit, result
        *_, result = connection.signal("JobRemoved", lambda body: body[1:2] == (job,))
        if result != "done":
            raise DBusError(f"the start of {self._name} has {result}")

    def _ask(self, connection: Connection, asked: list[tuple[str, Value]]) -> Value:
        reply = connection.call(_MANAGER, "StartTransientUnit", "ssa(sv)a(sa(sv))", self._name, "fail", asked, [])
        return reply.body[0] if reply.body else None

    def _read_back(self, place: Place, pid: int) -> ScopeFacts:
        """Only what the kernel says is in force."""
        path = parse_membership(read_file(f"{self._proc_root}/{pid}/cgroup") or b"").get(2, "")
        if not path.endswith(f"/{self._name}"):
            return ScopeFacts(missing=f"systemd made a scope, but the job is in {path or 'no cgroup'}")
        self._cgroup_folder = f"{place.cgroup_folder}{path}"
        limit_bytes = read_number(f"{self._cgroup_folder}/memory.max")
        if limit_bytes is None:
            return ScopeFacts(missing="systemd made a scope, but it limits no memory")
        return ScopeFacts(self._name, limit_bytes, read_number(f"{self._cgroup_folder}/memory.swap.max"))


def _wanted_bytes(sample: Sample, own: list[Limit], reserve: Reserve) -> int | None:
    """The limit that follows from the room outside the scope; None if that is unknown."""
    outside = _outside(sample, own)
    if outside.available_bytes is None or outside.capacity is None:
        return None
    capacity_bytes, _ = outside.capacity
    job_bytes = own[0].used_bytes if own else 0
    return memory_max_bytes(job_bytes, outside.available_bytes, reserve.of(capacity_bytes), capacity_bytes)


def _outside(sample: Sample, own: list[Limit]) -> Sample:
    return replace(sample, limits=tuple(limit for limit in sample.limits if limit not in own))
