"""The front: starts the guard, shows its events, passes signals on, and returns the job's exit code.

What is shown is a screen, plain lines or nothing. With lines or nothing the front stands for the job: it holds none of
the job's streams, passes on every signal, stops when the job stops, and the job ends if the front is killed
(guard/stand_in.py, docs/DIFFERENCES.md). With a screen it is a view, which the job outlives; a screen that fails is
replaced by lines. If the guard dies, the front inherits the job and waits for it, so that a script still gets its exit
code.
"""

import os
import select
import selectors
import signal
import sys
from contextlib import nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from memwatch.channel import Channel
from memwatch.cli.orphan_job import LOOK_INTERVAL_S, NO_EXIT_CODE, OrphanJob
from memwatch.cli.signal_reader import HandlerReader, SignalReader
from memwatch.errors import Broken, ExitCode, printable
from memwatch.guard import inherited, start_guard, system
from memwatch.guard.order import GuardConfig, give_order
from memwatch.guard.start_guard import StartedGuard
from memwatch.on_linux import IS_LINUX
from memwatch.probe.process_waits import ENDING

if TYPE_CHECKING:
    from memwatch.cli.plain import PlainView

STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2
# Stopped because it reads from a terminal that it was not given, or sets it.
WANTS_TERMINAL = (signal.SIGTTIN, signal.SIGTTOU)
# With a screen these are not for the job: faults of our own, our children, and what Textual does on the terminal.
NOT_PASSED_ON_WITH_SCREEN = frozenset(
    {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH, *WANTS_TERMINAL}
    | {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS, signal.SIGABRT}
    | {signal.SIGPIPE, signal.SIGXFSZ}
)
DRAIN_INTERVAL_S = 0.2


class FullScreen(Protocol):
    """Shows a run on the whole terminal. The job then has no terminal of its own."""

    def follow(self, guard: Channel, handle: "EventHandler") -> bool:
        """Until the guard is gone (True) or the user has left (False). Raises whatever goes wrong with a screen."""

    def hang_up(self) -> None:
        """The terminal has gone away."""

    def close(self, code: int | None) -> None:
        """The screen is left: what should stay on the terminal is written to it."""


class EventHandler(Protocol):
    def __call__(self, event: dict[str, Any]) -> None: ...


class Front:
    def __init__(
        self, config: GuardConfig, command: list[str], shows_lines: bool = False, screen: FullScreen | None = None
    ) -> None:
        self._config = config
        self._command = command
        self._shows_lines = shows_lines
        self._view: PlainView | None = None
        self._screen = screen
        self._job_pid: int | None = None
        self._guard_pid: int | None = None  # our child, until it is waited for
        self._code: int | None = None
        self.journal: str | None = None  # the path of the run's journal, if it has one
        self._guard_failed = False
        self._refusal: str | None = None
        self._job_terminal: int | None = None
        self._terminal = _controlling_terminal() if screen is None else None
        self._stopped_by_guard: list[tuple[int, int]] = []  # pid and start time, where a pause takes SIGSTOP
        # In a pipeline another program (less) may need the terminal; the job gets it when it reads from it.
        is_ours = os.isatty(STANDARD_INPUT) and os.isatty(STANDARD_OUTPUT)
        self._has_terminal = screen is None and is_ours and self._is_in_foreground()
        self._wants_terminal = self._has_terminal
        self._signals: SignalReader | HandlerReader | None = None
        self._is_our_child = False  # The job; the guard is gone.
        self._orphan: OrphanJob | None = None  # The job, where only its guard can be its parent.
        self._undelivered: list[tuple[int, bool]] = []  # The guard went before it could pass them on.

    def run(self) -> int:
        system.adopt_orphans()
        # Until the guard has its order, a signal cannot be passed on: it stays blocked.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        guard = self._start_guard()
        self._guard_pid = guard.pid
        # What shows it is loaded while the job starts.
        if self._shows_lines:
            self._view = _plain_view()
        self._guard = Channel(guard.view)
        if self._screen is None:
            self._signals = SignalReader() if IS_LINUX else HandlerReader()
            self._release_streams()
        else:
            self._handle_signals(self._screen)
            if not self._follow_on_screen(self._screen):
                return ExitCode.OK  # Job and guard run on without us.
        self._follow()
        self._continue_what_guard_stopped()
        _, status = os.waitpid(guard.pid, 0)
        self._guard_pid = None
        if self._code is None and not self._guard_failed and os.WIFEXITED(status):
            self._code = os.WEXITSTATUS(status)  # We were stopped, and missed what it said last.
        code = self._code if self._code is not None else self._wait_without_guard()
        self._take_terminal()
        # Nobody is left to pass a signal on to; the code is known.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        if self._screen is not None:
            self._screen.close(code)
        if self._view is not None:
            self._view.close()
        elif self._refusal is not None:
            print(f"memwatch: {printable(self._refusal)}", file=sys.stderr)
        return code

    def _start_guard(self) -> StartedGuard:
        started_with = inherited.noted()
        config = self._config._replace(
            front_pid=os.getpid() if self._screen is None else None,
            takes_terminal=self._has_terminal,
            closed_streams=started_with.closed_streams,
            ignored_signals=started_with.ignored_signals,
            blocked_signals=started_with.blocked_signals,
        )
        try:
            guard = start_guard.take()
            self._job_terminal = give_order(guard.view, config, self._command)
        except OSError as error:
            raise Broken(f"cannot start the guard: {error.strerror}") from error
        return guard

    def _release_streams(self) -> None:
        """The guard has its own copies for the job; ours would delay the end of file for who reads the job's output."""
        inherited.release_standard_streams((STANDARD_INPUT, STANDARD_OUTPUT))

    def _release_standard_error(self) -> None:
        """When the job runs; until then a refusal is written there. With plain lines it is needed to the end."""
        if self._screen is None and self._view is None and not os.isatty(STANDARD_ERROR):
            inherited.release_standard_streams((STANDARD_ERROR,))

    def _handle_signals(self, screen: FullScreen) -> None:
        """By Python's handlers, which a screen's event loop can live with."""

        def pass_on(number: int, frame: FrameType | None) -> None:
            if number == signal.SIGHUP:
                # Our terminal is gone; the job has another.
                screen.hang_up()
            else:
                self._send_signal(number)

        for number in signal.valid_signals() - NOT_PASSED_ON_WITH_SCREEN:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, pass_on)
        signal.pthread_sigmask(signal.SIG_SETMASK, inherited.noted().blocked_signals)

    def _read_signals(self) -> None:
        for received in [] if self._signals is None else self._signals.read():
            if received.number == signal.SIGCONT:
                self._go_on()
            else:
                self._send_signal(received.number, received.is_from_kernel)

    def _send_signal(self, number: int, to_group: bool = False) -> None:
        """To the job: by way of the guard, or directly if the guard is gone and the job is our child."""
        if self._guard.is_open and self._guard.send({"command": "signal", "number": number, "to_group": to_group}):
            if self._guard_pid is not None:
                os.kill(self._guard_pid, signal.SIGCONT)  # One that somebody has stopped would not pass it on.
            return
        if self._is_our_child and self._orphan is not None:
            self._orphan.send(number, to_group)
        elif not self._is_our_child:
            self._undelivered.append((number, to_group))
        elif self._job_pid is not None:
            is_for_group = to_group or number in (*ENDING, signal.SIGCONT)
            with suppress(OSError):
                (os.killpg if is_for_group else os.kill)(self._job_pid, number)

    def _follow_on_screen(self, screen: FullScreen) -> bool:
        """False if the user detached: then the front does not wait for the job."""
        try:
            has_ended = screen.follow(self._guard, self._update_state)
            if has_ended and self._code is None:
                self._view = _plain_view()  # The guard is gone, and with it what a screen could show.
            return has_ended
        except Exception as error:
            if os.environ.get("MEMWATCH_DEBUG"):
                raise
            self._screen, self._view = None, _plain_view()
            what = printable(f"{type(error).__name__}: {error}")
            self._view.show({"event": "note", "text": f"the screen failed ({what}); the job keeps running"})
            return True

    def _follow(self) -> None:
        """Show the guard's events and pass signals on, until the guard exits."""
        selector = selectors.DefaultSelector()
        selector.register(self._guard, selectors.EVENT_READ)
        if self._signals is not None:
            selector.register(self._signals, selectors.EVENT_READ)
        while self._guard.is_open:
            with nullcontext() if self._signals is None else self._signals.receiving():
                selector.select()
            self._read_signals()
            for event in self._guard.receive():
                self._handle_event(event)
        selector.close()

    def _update_state(self, event: dict[str, Any]) -> None:
        match event.get("event"):
            case "spawned" | "start" | "failed":
                self._job_pid = event["pid"]
                self._guard_failed = event["event"] == "failed"
                if not IS_LINUX and self._orphan is None:
                    self._orphan = OrphanJob(event["pid"])
                self._release_standard_error()
                self.journal = event.get("journal") or self.journal
            case "exit":
                self._code = event["code"]
            case "refused":
                self._code, self._refusal = event["code"], event["text"]
            case "suspended":
                self._suspend(event.get("signal"))
            case "stopping":
                new = [(pid, start_ticks) for pid, start_ticks in event["processes"]]
                self._stopped_by_guard = [*self._stopped_by_guard, *new] if new else []
                if not IS_LINUX:
                    self._mind_terminal(is_paused=bool(new))

    def _mind_terminal(self, is_paused: bool) -> None:
        """Where pending signals of a stopped job cannot be read, Ctrl-C in a pause must reach this process instead."""
        if is_paused and self._has_terminal:
            self._take_terminal()
            self._has_terminal = False
        elif not is_paused:
            self._give_terminal()

    def _handle_event(self, event: dict[str, Any]) -> None:
        self._update_state(event)
        if self._view is not None:
            self._view.show(event)
        elif event.get("event") == "failed":
            print(f"memwatch: {printable(event['text'])}", file=sys.stderr)

    def _continue_what_guard_stopped(self) -> None:
        """The guard has died. If its watcher died too, no other process ends the pause (watcher.py)."""
        from memwatch.guard.send_signal import signal_process

        for pid, start_ticks in self._stopped_by_guard:
            signal_process(pid, start_ticks, signal.SIGCONT)
        self._stopped_by_guard.clear()

    def _suspend(self, number: int | None) -> None:
        """The job has stopped (Ctrl-Z, SIGSTOP): stop as well, by the same signal, so that the shell takes over.

        SIGCONT continues us and, by `_go_on`, the job. A job that only asks for the terminal gets it if it is ours.
        """
        if self._screen is not None or number is None:
            return
        self._wants_terminal = self._has_terminal or number in WANTS_TERMINAL
        if number in WANTS_TERMINAL and not self._has_terminal and self._is_in_foreground():
            self._go_on()
            return
        self._take_terminal()
        self._has_terminal = False
        _stop_by(number)
        if signal.SIGCONT not in signal.sigpending():
            # The kernel does not stop a process group that no shell looks after. Nor may the job stay stopped then; one
            # that needs a terminal which it cannot get is hung up, as the kernel does with such a group.
            if number in WANTS_TERMINAL:
                self._send_signal(signal.SIGHUP)
            self._go_on()

    def _go_on(self) -> None:
        self._give_terminal()
        self._send_signal(signal.SIGCONT)

    def _give_terminal(self) -> None:
        self._has_terminal = self._wants_terminal and self._is_in_foreground()
        if self._has_terminal and self._job_pid is not None and self._terminal is not None:
            with suppress(OSError):
                os.tcsetpgrp(self._terminal, self._job_pid)

    def _take_terminal(self) -> None:
        """Make this process group the foreground one. SIGTTOU, which a background process gets for that, is blocked."""
        if self._has_terminal and self._terminal is not None:
            with suppress(OSError):
                os.tcsetpgrp(self._terminal, os.getpgrp())

    def _is_in_foreground(self) -> bool:
        try:
            return self._terminal is not None and os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:
            return False

    def _wait_without_guard(self) -> int:
        if self._job_pid is None:
            raise Broken("the guard ended before it could start the job")
        if self._view is not None and not self._guard_failed:
            self._view.show({"event": "note", "text": "the guard was killed; the job keeps running without protection"})
        self._is_our_child = True
        for number, to_group in self._undelivered:
            self._send_signal(number, to_group)
        if self._orphan is not None:
            return self._wait_for_orphan(self._orphan)
        try:
            self._drain_terminal(self._job_pid)
            status = self._wait_for_job(self._job_pid)
        except ChildProcessError:
            return ExitCode.BROKEN
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _wait_for_orphan(self, orphan: OrphanJob) -> int:
        while orphan.is_alive():
            with nullcontext() if self._signals is None else self._signals.receiving():
                self._show_terminal(LOOK_INTERVAL_S)
            self._read_signals()
        if self._view is not None:
            self._view.show({"event": "note", "text": NO_EXIT_CODE})
        return ExitCode.BROKEN

    def _wait_for_job(self, pid: int) -> int:
        """SIGCHLD wakes us, because it is read like every other signal."""
        if self._signals is None:
            return os.waitpid(pid, 0)[1]
        while True:
            changed, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
            if changed and not os.WIFSTOPPED(status):
                return status
            if changed:
                self._suspend(os.WSTOPSIG(status))
            else:
                with self._signals.receiving():
                    select.select([self._signals], [], [])
            self._read_signals()

    def _drain_terminal(self, pid: int) -> None:
        """Read the terminal of the job to the end: if it is not read, the job blocks when it writes."""
        while self._job_terminal is not None and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if not self._show_terminal(DRAIN_INTERVAL_S):
                return

    def _show_terminal(self, seconds: float) -> bool:
        """Show what the job writes to its own terminal within this time. False: no more output will come."""
        waited_for = [fd for fd in (self._job_terminal, self._signals) if fd is not None]
        ready, _, _ = select.select(waited_for, [], [], seconds)
        if self._job_terminal is None or self._job_terminal not in ready:
            return True
        try:
            data = os.read(self._job_terminal, 65536)
        except OSError:
            self._job_terminal = None
            return False
        if data and self._view is not None:
            self._view.show({"event": "output", "text": data.decode(errors="replace")})
        return True


def _plain_view() -> "PlainView":
    from memwatch.cli.plain import PlainView

    return PlainView()


def _controlling_terminal() -> int | None:
    """Whatever standard input is: a job that reads a pipe may still ask the terminal for a password."""
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return None


def _stop_by(number: int) -> None:
    """Stop this process as the signal would. Returns when it is continued; at once if the kernel does not stop it."""
    if number == signal.SIGSTOP:
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    before = signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    if callable(before):  # A HandlerReader's.
        signal.signal(number, before)
