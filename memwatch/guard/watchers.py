"""The guard's end of its watchers: two small processes that undo a pause if the guard dies or hangs (watcher.py).

There are two because a watcher and the guard may be killed together: `pkill -f memwatch` hits every process with that
name in its command line. The second watcher has another one, so it is left, continues what was stopped and holds the
job's terminal. A watcher that dies is replaced, and the new one is informed again.
"""

import os
import signal
import socket
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from memwatch.channel import NO_SIGNAL
from memwatch.guard.send_signal import ProcessHandle
from memwatch.guard.watcher import watch

if TYPE_CHECKING:
    from memwatch.model.sample import Process

# Their command lines, as ps shows them (model/programs.py knows them too).
COMMAND_LINES = ("memwatch-watcher", "keeper-of-job")
# Room for a tree of fifty thousand processes, where the system allows it.
BUFFER_BYTES = 1 << 20
BEAT_INTERVAL_S = 0.5


class _WatcherProcess:
    """One of them. Nothing here ever waits for it, but `end`."""

    def __init__(self, command_line: str) -> None:
        self._command_line = command_line
        self._start()

    def _start(self) -> None:
        self._line, theirs = socket.socketpair()
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._line.setblocking(False)  # A watcher that was stopped must not stop the guard.
        guard_pid = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            watch(theirs, guard_pid, self._command_line.encode())
        theirs.close()
        # Before anybody can reap it: the pid alone may be another's one day.
        self._handle: ProcessHandle | None = ProcessHandle(self.pid)

    def restart(self) -> None:
        """It has been killed, and reaped."""
        self._line.close()
        self._close_handle()
        try:
            self._start()
        except OSError:  # No room for another process: the guard goes on without.
            self.pid = 0

    def send(self, text: str) -> None:
        # Somebody may have killed or stopped it; what is held by ptrace needs no watcher.
        with suppress(OSError):
            self._line.send(text.encode(), NO_SIGNAL)

    def send_terminal(self, front_pid: int, fd: int) -> None:
        with suppress(OSError):
            socket.send_fds(self._line, [f"terminal {front_pid}\n".encode()], [fd])

    def wake(self) -> None:
        if self._handle is not None:
            self._handle.send(signal.SIGCONT)

    def end(self) -> None:
        self._line.close()
        if self._handle is not None:
            self._handle.send(signal.SIGKILL)  # It may be stopped, and would not end by itself.
        self._close_handle()
        with suppress(ChildProcessError):  # Killed before, and reaped with the job's orphans.
            if self.pid:
                os.waitpid(self.pid, 0)

    def _close_handle(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


class Watchers:
    """The guard's side of its two watchers (watcher.py): starts them, replaces one that dies, and informs them about
    pauses."""

    def __init__(self) -> None:
        self._paused = ""
        self._stopped = ""
        self._left_over = ""
        self._terminal_fd: int | None = None
        self._front_pid = os.getppid()
        self._beaten_s = float("-inf")
        self._processes = [_WatcherProcess(COMMAND_LINES[0])]

    def add_second(self) -> None:
        """Called once the job has started, which need not wait for it."""
        with suppress(OSError):  # No room for another process.
            self._processes.append(_WatcherProcess(COMMAND_LINES[1]))
            self._inform(self._processes[-1])

    @property
    def pids(self) -> set[int]:
        return {process.pid for process in self._processes if process.pid}

    def paused(self, deadline_s: float | None) -> None:
        """A pause begins; it is to end by `deadline_s` (monotonic), if it has a deadline."""
        self._paused = f"paused {'-' if deadline_s is None else deadline_s}\n"
        self._send(self._paused)

    def will_stop(self, processes: "Iterable[Process]") -> None:
        """Called before SIGSTOP is sent to these processes, so that a watcher can continue them."""
        text = "".join(f"stop {process.pid} {process.start_ticks}\n" for process in processes)
        self._stopped += text
        self._send(text)

    def all_continued(self) -> None:
        """Nothing is stopped any more."""
        self._paused = self._stopped = ""
        self._send("clear\n")

    def remove_left_over(self, folder: str) -> None:
        """A folder with sockets, which a guard that is killed could not remove."""
        self._left_over = f"folder {folder}\n"
        self._send(self._left_over)

    def keep_terminal(self, fd: int) -> None:
        """`fd` is our end of the job's terminal; the front has it too."""
        self._terminal_fd = fd
        for process in self._processes:
            self._send_terminal(process)

    def beat(self, now_s: float) -> None:
        """Called whenever the guard's loop comes round; says that it still does."""
        if self._paused and now_s - self._beaten_s >= BEAT_INTERVAL_S:
            self._beaten_s = now_s
            self._send("beat\n")

    @property
    def due_s(self) -> float:
        """When `beat` is to be called again."""
        return self._beaten_s + BEAT_INTERVAL_S if self._paused else float("inf")

    def replace(self, gone: Collection[int]) -> None:
        """Start others for those that were killed and reaped; they get to know what these knew."""
        for process in self._processes:
            if process.pid in gone:
                process.restart()
                self._inform(process)

    def wake(self, stopped: Collection[int]) -> None:
        """Send SIGCONT to watchers that somebody has stopped."""
        for process in self._processes:
            if process.pid in stopped:
                process.wake()

    def dismiss(self) -> None:
        """The guard ends in good order."""
        for process in self._processes:
            process.end()

    def _inform(self, process: _WatcherProcess) -> None:
        self._send_terminal(process)
        process.send(self._left_over + self._paused + self._stopped)

    def _send(self, text: str) -> None:
        for process in self._processes:
            process.send(text)

    def _send_terminal(self, process: _WatcherProcess) -> None:
        if self._terminal_fd is not None:
            front_pid = self._front_pid if os.getppid() == self._front_pid else 0  # 0: it is gone.
            process.send_terminal(front_pid, self._terminal_fd)
