"""Every module can be imported where Python lacks what only Linux has, and Linux's guard loads no psutil."""

import subprocess
import sys

from tests.helpers import HANG_S, memwatch

# Written down here, not taken from memwatch: what CPython does not have on macOS.
_IMPORT_ALL = """
import os, select, signal, socket, sys, time
gone = {
    os: "pidfd_open memfd_create eventfd sched_getaffinity sched_setaffinity posix_fadvise posix_fallocate fdatasync "
        "pipe2 waitid copy_file_range splice O_PATH O_TMPFILE O_DIRECT P_PID P_PIDFD getrandom",
    select: "epoll EPOLLIN EPOLLOUT EPOLLPRI EPOLLERR EPOLLHUP POLLRDHUP",
    signal: "pidfd_send_signal sigwaitinfo sigtimedwait SIGRTMIN SIGRTMAX SIGPWR SIGSTKFLT SIGPOLL",
    time: "CLOCK_BOOTTIME",
}
for module, names in gone.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for name in "SO_PEERCRED MSG_NOSIGNAL SOCK_CLOEXEC SOCK_NONBLOCK SO_PASSCRED AF_NETLINK".split():
    if hasattr(socket, name):
        delattr(socket, name)
import selectors
selectors.DefaultSelector = selectors.PollSelector
import pkgutil, importlib
import memwatch
count = 0
for found in pkgutil.walk_packages(memwatch.__path__, "memwatch."):
    if not found.name.endswith(".__main__"):
        importlib.import_module(found.name)
        count += 1
print(count)
"""


def test_every_module_can_be_imported_without_the_names_that_macos_lacks() -> None:
    command = [sys.executable, "-c", _IMPORT_ALL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_on_linux_guard_and_job_load_no_psutil() -> None:
    """The guard of a real run, seen from its job: its parent has mapped no file of psutil."""
    script = "import os; print('psutil' in open(f'/proc/{os.getppid()}/maps').read())"
    done = memwatch(
        "run", "--no-record", "--ui", "none", "--", sys.executable, "-c", f"import time; time.sleep(1); {script}"
    )
    assert (done.code, done.out) == (0, "False\n"), done.err


def test_the_commands_that_a_linux_user_starts_load_no_psutil() -> None:
    code = (
        "import sys, memwatch.guard.__main__, memwatch.guard.loop, memwatch.guard.watcher, memwatch.cli.front\n"
        "import memwatch.probe.machine, memwatch.probe.biggest, memwatch.recorder.__main__\n"
        "from memwatch.probe.machine import Machine\n"
        "machine = Machine(); machine.sample(0.0, 0.0, ()); machine.close()\n"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'psutil']"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
