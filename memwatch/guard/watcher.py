"""The watcher's process: ends a pause that the guard can no longer end. The guard starts two of them (watchers.py).

- If the guard dies, what it holds by ptrace runs on by itself (hold.py). What it had to stop by SIGSTOP is continued
  by the watcher, which is informed of every such process before it is stopped.
- If the guard is stopped or hangs, the watcher misses its beats and acts on it (decide/dead_man.py).
- If guard and front die, nobody would hold the terminal that the job writes to, and the kernel would send HUP to the
  job. The watcher holds it as well, and reads it until the job has ended.
"""

import os
import select
import signal
import socket
import time
from contextlib import suppress

from memwatch.channel import remove_socket_folder
from memwatch.decide.dead_man import Remedy, remedy
from memwatch.guard import inherited, system
from memwatch.guard.send_signal import ProcessHandle, signal_process
from memwatch.probe.stat import read_stat

LOOK_INTERVAL_S = 0.5
# A watcher that was itself held up for this long cannot say what the guard has done meanwhile.
OVERSLEPT_S = 2.0


def watch(line: socket.socket, guard_pid: int, command_line: bytes) -> None:
    """In the forked child: never returns."""
    try:
        os.setsid()  # Out of reach of the terminal's signals.
        system.set_command_line(command_line)
        _drop_signals()
        _keep_open_only(line.fileno())
        guard = ProcessHandle(guard_pid)
        if os.getppid() == guard_pid:  # Or the guard has died already, and its number may be another's.
            _Watch(line, guard, guard_pid).run()
    finally:
        os._exit(0)


class _Watch:
    """The watcher's own loop, until the guard is gone."""

    def __init__(self, line: socket.socket, guard: ProcessHandle, guard_pid: int) -> None:
        self._line = line
        self._guard = guard
        self._guard_pid = guard_pid
        self._rest = b""
        self._folder: bytes | None = None
        self._stopped: list[tuple[int, int]] = []
        self._is_paused = False
        self._deadline_s: float | None = None
        self._beat_s = 0.0
        self._woken_s: float | None = None
        self._terminal: int | None = None
        self._front: ProcessHandle | None = None

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
        if self._folder is not None:
            remove_socket_folder(os.fsdecode(self._folder))
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
        front_fd = None if self._front is None else self._front.fileno()
        if front_fd is not None:
            poll.register(front_fd, select.POLLIN)
        while True:
            is_asked = self._front is not None and front_fd is None  # No descriptor says when the front ends.
            if is_asked and self._front is not None and not self._front.is_alive():
                self._front = None
                poll.modify(terminal, select.POLLIN)
            for fd, event in poll.poll(LOOK_INTERVAL_S * 1000 if is_asked else None):
                if fd == front_fd:
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
                case [b"folder", folder]:
                    self._folder = folder
                case [b"paused", deadline_s]:
                    self._is_paused = True
                    self._deadline_s = None if deadline_s == b"-" else float(deadline_s)
                case [b"terminal", front_pid]:
                    with suppress(OSError):
                        self._front = ProcessHandle(int(front_pid)) if front_pid != b"0" else None
                case [b"clear"]:
                    self._is_paused = False
                    self._stopped.clear()
        # Whatever it sends, it is alive.
        self._beat_s, self._woken_s = now_s, None

    def _look_at_guard(self, now_s: float) -> None:
        stat = read_stat(self._guard_pid)
        is_stopped = stat is not None and stat.state in "Tt"
        match remedy(now_s, self._deadline_s, self._beat_s, self._woken_s, is_stopped):
            case Remedy.WAKE:
                self._woken_s = now_s
                self._guard.send(signal.SIGCONT)
            case Remedy.KILL:
                self._guard.send(signal.SIGKILL)


def _drop_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _keep_open_only(line: int) -> None:
    """The guard's descriptors must close with the guard: others wait for their end."""
    for fd in inherited.open_descriptors():
        if fd > 2 and fd != line:
            with suppress(OSError):
                os.close(fd)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
