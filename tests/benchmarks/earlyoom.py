"""earlyoom beside a caged job, made to see the cage as if it were the machine, and unable to see anything else.

earlyoom looks at /proc/meminfo and kills the worst process it can find. Here it is the first process of a PID
namespace, which holds nothing but the caged processes, so no other can be hit; and a file that follows the cage's
figures is bound over its /proc/meminfo, as lxcfs does it for containers.
"""

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.corpus import unpacked
from tests.benchmarks.measure import NotMeasured
from tests.benchmarks.report import MIB
from tests.cage import Cage

REFRESH_S = 0.05
START_S = 10
KILLS = "sending SIG"
BIND = 'mount --bind "$1" /proc/meminfo && shift && exec "$@"'


def binary(folder: Path) -> Path:
    """The installed one, else the Debian package's, unpacked and not installed: installing would start the service."""
    if found := shutil.which("earlyoom"):
        return Path(found)
    path = folder / "earlyoom" / "usr/bin/earlyoom"
    if not path.exists():
        try:
            unpacked("earlyoom", folder)
        except (OSError, subprocess.CalledProcessError, StopIteration):
            raise NotMeasured("earlyoom is not installed, and its Debian package cannot be had") from None
    return path


def meminfo(made: Cage, swap_bytes: int) -> str:
    """Always of the same length, so that it can be written over while it is read."""
    limit = made.number("memory.limit_in_bytes")
    cache = made.stat("total_inactive_file") + made.stat("total_active_file")
    available = max(limit - made.number("memory.usage_in_bytes") + cache, 0)
    values = {
        "MemTotal": limit,
        "MemFree": max(limit - made.number("memory.usage_in_bytes"), 0),
        "MemAvailable": available,
        "SwapTotal": swap_bytes,
        "SwapFree": max(swap_bytes - made.stat("total_swap"), 0),
    }
    return "".join(f"{name + ':':<16}{value // 1024:>8} kB\n" for name, value in values.items())


class Beside:
    """A running earlyoom: `command` runs something where it can see it."""

    def __init__(self, pid: int, log: Path) -> None:
        self._pid = pid
        self._log = log

    def command(self, *command: object) -> list[str]:
        return ["nsenter", f"--target={self._pid}", "--pid", "--mount", "--", *map(str, command)]

    def has_killed(self) -> bool:
        return KILLS in self._log.read_text()


@contextmanager
def earlyoom(program: Path, options: tuple[str, ...], made: Cage, folder: Path, swap_bytes: int) -> Iterator[Beside]:
    shown, log = folder / "meminfo", folder / "earlyoom.log"
    shown.write_text(meminfo(made, swap_bytes))
    over = threading.Event()
    follower = threading.Thread(target=follow, args=(shown, lambda: meminfo(made, swap_bytes), over))
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c", BIND, "sh"]
    with log.open("w") as output:
        outer = subprocess.Popen([*alone, shown, program, *options], stdout=output, stderr=output)
    follower.start()
    try:
        yield Beside(first_process(outer, log, made), log)
    finally:
        outer.kill()
        outer.wait()
        over.set()
        follower.join()


def follow(shown: Path, figures: Callable[[], str], over: threading.Event) -> None:
    with shown.open("r+") as file:
        while not over.wait(REFRESH_S):
            try:
                text = figures()
            except OSError:
                return  # The cage is gone.
            file.seek(0)
            file.write(text)
            file.flush()


def first_process(outer: "subprocess.Popen[bytes]", log: Path, made: Cage) -> int:
    """Once earlyoom has said that it sees as much memory as the cage has."""
    seen = f"mem total: {made.number('memory.limit_in_bytes') // MIB} MiB"
    deadline = time.monotonic() + START_S
    while " ".join(log.read_text().split()).find(seen) < 0:
        if outer.poll() is not None or time.monotonic() > deadline:
            raise NotMeasured("earlyoom cannot be made to see the cage's limit here")
        time.sleep(0.05)
    return int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()[0])
