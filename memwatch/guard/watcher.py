"""The watcher: a second small process that ends a pause that the guard can no longer end.

- If the guard dies, what it holds by ptrace runs on by itself (hold.py). What it had to stop by SIGSTOP is continued
  by the watcher, which is informed of every such process before it is stopped.
- If the guard is stopped or hangs, the watcher misses its beats and acts on it (decide/dead_man.py).
- If guard and front die, nobody would hold the terminal that the job writes to, and the kernel would send HUP to the
  job. The watcher holds it as well, and reads it until the job has ended.

A watcher that dies is replaced, and the new one is informed again. It has another command line than the guard, so that
`pkill -f` with the name of one does not hit both.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from memwatch.decide.dead_man import Remedy, remedy
from memwatch.guard import system
from memwatch.guard.send_signal import signal_process

if TYPE_CHECKING:
    from memwatch.model.sample import Process

COMMAND_LINE = b"memwatch-watcher"
# Room for a tree of fifty thousand processes, where the system allows it.
BUFFER_BYTES = 1 << 20
BEAT_INTERVAL_S = 0.5
LOOK_INTERVAL_S = 0.5
# A watcher that was itself held up for this long cannot say what the guard has done meanwhile.
OVERSLEPT_S = 2.0


class Watcher:
    """The guard's end of it. Nothing here ever waits for the other process."""

    def __init__(self) -> None:
        self._paused = ""
        self._stopped = ""
        self._terminal_fd: int | None = None
        self._front_pid = os.getppid()
        self._beaten_s = float("-inf")
        self._start()

    def _start(self) -> None:
        self._line, theirs = socket.socketpair()
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._line.setblocking(False)  # A watcher that was stopped must not stop the guard.
        guard_pid = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            _watch(theirs, guard_pid)
        theirs.close()
        self._pidfd = os.pidfd_open(self.pid)  # Before anybody can reap it: the pid alone may be another's one day.

    def paused(self, deadline_s: float | None) -> None:
        """A pause begins; it is to end by `deadline_s` (monotonic), if it has a deadline."""
        self._paused = f"paused {'-' if deadline_s is None else deadline_s}\n"
        self._send(self._paused)

    def will_stop(self, processes: "Iterable[Process]") -> None:
        text = "".join(f"stop {process.pid} {process.start_ticks}\n" for process in processes)
        self._stopped += text
        self._send(text)

    def all_continued(self) -> None:
        self._paused = self._stopped = ""
        self._send("clear\n")

    def keep_terminal(self, fd: int) -> None:
        """`fd` is our end of the job's terminal; the front has it too."""
        self._terminal_fd = fd
        self._send_terminal()

    def beat(self, now_s: float) -> None:
        """Called whenever the guard's loop comes round; says that it still does."""
        if self._paused and now_s - self._beaten_s >= BEAT_INTERVAL_S:
            self._beaten_s = now_s
            self._send("beat\n")

    @property
    def due_s(self) -> float:
        """When `beat` is to be called again."""
        return self._beaten_s + BEAT_INTERVAL_S if self._paused else float("inf")

    def replace(self) -> None:
        """It has been killed, and reaped: start another, which knows what this one knew."""
        self._line.close()
        os.close(self._pidfd)
        try:
            self._start()
        except OSError:  # No room for another process: the guard goes on without.
            self.pid, self._pidfd = 0, os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._send_terminal()
        self._send(self._paused + self._stopped)

    def wake(self) -> None:
        """Somebody has stopped it."""
        with suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGCONT)

    def dismiss(self) -> None:
        """The guard ends in good order."""
        self._line.close()
        with suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)  # It may be stopped, and would not end by itself.
        os.close(self._pidfd)
        with suppress(ChildProcessError):  # Killed before, and reaped with the job's orphans.
            if self.pid:
                os.waitpid(self.pid, 0)

    def _send(self, text: str) -> None:
        # Somebody may have killed or stopped it; what is held by ptrace needs no watcher.
        with suppress(OSError):
            self._line.send(text.encode(), socket.MSG_NOSIGNAL)

    def _send_terminal(self) -> None:
        if self._terminal_fd is not None:
            front_pid = self._front_pid if os.getppid() == self._front_pid else 0  # 0: it is gone.
            with suppress(OSError):
                socket.send_fds(self._line, [f"terminal {front_pid}\n".encode()], [self._terminal_fd])


def _watch(line: socket.socket, guard_pid: int) -> None:
    """In the forked child: never returns."""
    try:
        os.setsid()  # Out of reach of the terminal's signals.
        system.set_command_line(COMMAND_LINE)
        _drop_signals()
        _keep_open_only(line.fileno())
        guard = os.pidfd_open(guard_pid)
        if os.getppid() == guard_pid:  # Or the guard has died already, and its number may be another's.
            _Watch(line, guard, guard_pid).run()
    finally:
        os._exit(0)


class _Watch:
    """The watcher's own loop, until the guard is gone."""

    def __init__(self, line: socket.socket, guard: int, guard_pid: int) -> None:
        self._line = line
        self._guard = guard
        self._guard_pid = guard_pid
        self._rest = b""
        self._stopped: list[tuple[int, int]] = []
        self._is_paused = False
        self._deadline_s: float | None = None
        self._beat_s = 0.0
        self._woken_s: float | None = None
        self._terminal: int | None = None
        self._front: int | None = None

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._line, select.POLLIN)
        looked_s = time.monotonic()
        while True:
            ready = poll.poll(LOOK_INTERVAL_S * 1000 if self._is_paused else None)
            now_s = time.monotonic()
            if ready:
                data, fds = self._receive()
                if not data:
                    break
                self._terminal = fds[0] if fds else self._terminal
                self._take(data, now_s)
            if now_s - looked_s > OVERSLEPT_S:
                self._beat_s, self._woken_s = now_s, None
            looked_s = now_s
            if self._is_paused:
                self._look_at_guard(now_s)
        for pid, start_ticks in self._stopped:
            signal_process(pid, start_ticks, signal.SIGCONT)
        if self._terminal is not None:
            self._read_terminal(self._terminal)

    def _receive(self) -> tuple[bytes, list[int]]:
        try:
            data, fds, _, _ = socket.recv_fds(self._line, 65536, 1)
        except ConnectionResetError:  # The guard died before it had read all; it reads nothing.
            return b"", []
        return data, fds

    def _read_terminal(self, terminal: int) -> None:
        """Once the front is gone, which reads it as long as it lives; until the job's end is closed."""
        poll = select.poll()
        poll.register(terminal, 0 if self._front is not None else select.POLLIN)
        if self._front is not None:
            poll.register(self._front, select.POLLIN)
        while True:
            for fd, event in poll.poll():
                if fd == self._front:
                    poll.unregister(fd)
                    poll.modify(terminal, select.POLLIN)
                elif event & select.POLLIN:
                    with suppress(BlockingIOError):
                        os.read(terminal, 65536)
                else:
                    return

    def _take(self, data: bytes, now_s: float) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            match line.split():
                case [b"stop", pid, start_ticks] if pid.isdigit() and start_ticks.isdigit():
                    self._stopped.append((int(pid), int(start_ticks)))
                case [b"paused", deadline_s]:
                    self._is_paused = True
                    self._deadline_s = None if deadline_s == b"-" else float(deadline_s)
                case [b"terminal", front_pid]:
                    with suppress(OSError):
                        self._front = os.pidfd_open(int(front_pid)) if front_pid != b"0" else None
                case [b"clear"]:
                    self._is_paused = False
                    self._stopped.clear()
        # Whatever it sends, it is alive.
        self._beat_s, self._woken_s = now_s, None

    def _look_at_guard(self, now_s: float) -> None:
        state = _state_of(self._guard_pid)
        match remedy(now_s, self._deadline_s, self._beat_s, self._woken_s, is_stopped=state in ("T", "t")):
            case Remedy.WAKE:
                self._woken_s = now_s
                self._signal_guard(signal.SIGCONT)
            case Remedy.KILL:
                self._signal_guard(signal.SIGKILL)

    def _signal_guard(self, number: signal.Signals) -> None:
        with suppress(OSError):
            signal.pidfd_send_signal(self._guard, number)


def _drop_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _keep_open_only(line: int) -> None:
    """The guard's descriptors must close with the guard: others wait for their end."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != line:
            with suppress(OSError):
                os.close(int(name))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def _state_of(pid: int) -> str | None:
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        text = file.read()
        return text[text.rindex(b")") + 2 :][:1].decode()
    return None
