"""/proc/PID/stat."""

import os
from typing import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Stat(NamedTuple):
    """What memwatch needs of it."""

    pid: int
    comm: bytes
    state: str
    parent_pid: int
    group: int
    session: int
    cpu_s: float
    threads: int
    start_ticks: int


def parse_stat(text: bytes) -> Stat:
    # The name may hold spaces, parentheses and newlines: it ends at the last parenthesis of all.
    opening, closing = text.index(b"("), text.rindex(b")")
    fields = text[closing + 2 :].split(None, 20)
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
    )
