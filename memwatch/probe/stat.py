"""/proc/PID/stat, and where there is no /proc, what psutil knows of it."""

import os
from functools import cache
from typing import NamedTuple

from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import read_file

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Of the fields after the name: startcode, startstack and arg_start of proc(5).
_CODE, _STACK, _ARG_START = 23, 25, 45


class Stat(NamedTuple):
    """The fields of /proc/PID/stat that memwatch needs."""

    pid: int
    comm: bytes
    state: str
    parent_pid: int
    group: int
    session: int
    cpu_s: float
    threads: int
    start_ticks: int
    major_faults: int = 0
    children_major_faults: int = 0  # of children that ended and were waited for
    minor_faults: int = 0  # with those of such children
    # Where the kernel put code, stack and arguments at the last exec. A forked process has those of its parent, and
    # after an exec they are others. b"" where only the owner may see them.
    image: bytes = b""


@cache
def shows_own_processes(proc_root: str = "/proc") -> bool:
    """False in a PID namespace that has kept the /proc of another one (`unshare --pid` without --mount-proc).

    There a process has another number than the one that it knows of itself and of its children, and what stands under
    their numbers are strangers. A tree without such a link, as a recorded one, is believed.
    """
    try:
        return os.readlink(f"{proc_root}/self") == str(os.getpid())
    except OSError:
        return not os.path.islink(f"{proc_root}/self")  # The kernel's link leads nowhere for who is not shown at all.


def read_stat(pid: int, proc_root: str = "/proc") -> Stat | None:
    """None if there is no such process, or none that can be told from strangers."""
    if not IS_LINUX:
        from memwatch.probe.psutil_process import portable_stat

        return portable_stat(pid)
    text = read_file(f"{proc_root}/{pid}/stat") if shows_own_processes(proc_root) else None
    return parse_stat(text) if text else None


def is_same_start(one_ticks: int, other_ticks: int) -> bool:
    """psutil computes start times, and two readings may differ by rounding."""
    return abs(one_ticks - other_ticks) <= (0 if IS_LINUX else 1)


def parse_stat(text: bytes) -> Stat:
    """The content of /proc/PID/stat."""
    # The name may hold spaces, parentheses and newlines: it ends at the last parenthesis of all.
    opening, closing = text.index(b"("), text.rindex(b")")
    fields = text[closing + 2 :].split()
    return Stat(
        pid=int(text[:opening]),
        comm=text[opening + 1 : closing],
        state=fields[0].decode(),
        parent_pid=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS_PER_S,
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
        major_faults=int(fields[9]),
        children_major_faults=int(fields[10]),
        minor_faults=int(fields[7]) + int(fields[8]),
        image=_image(fields),
    )


def _image(fields: list[bytes]) -> bytes:
    if len(fields) <= _ARG_START or fields[_STACK] == b"0":
        return b""
    return b" ".join((fields[_CODE], fields[_STACK], fields[_ARG_START]))
