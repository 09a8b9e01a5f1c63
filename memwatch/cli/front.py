"""The front: starts the guard, shows what it tells, passes signals on, and returns the job's exit code.

What is shown is a screen, plain lines or nothing. A screen that fails is replaced by lines. If the guard dies, the
front inherits the job and waits for it, so that a script still gets its exit code.
"""

import os
import select
import selectors
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from memwatch.channel import Channel
from memwatch.errors import Broken, ExitCode, printable
from memwatch.guard import starting, system
from memwatch.guard.config import GuardConfig
from memwatch.guard.order import give_order
from memwatch.guard.starting import StartedGuard

if TYPE_CHECKING:
    from memwatch.cli.plain import PlainView

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
STANDARD_INPUT, STANDARD_OUTPUT = 0, 1
# Stopped because it reads from a terminal that it was not given, or sets it.
WANTS_TERMINAL = (signal.SIGTTIN, signal.SIGTTOU)
DRAIN_INTERVAL_S = 0.2


class FullScreen(Protocol):
    """Shows a run on the whole terminal. The job then has no terminal of its own."""

    def follow(self, guard: Channel, heed: "Heed") -> bool:
        """Until the guard is gone (True) or the user has left (False). Raises whatever goes wrong with a screen."""

    def hang_up(self) -> None:
        """The terminal has gone away."""

    def close(self, code: int | None) -> None:
        """The screen is left: what should stay on the terminal is written to it."""


class Heed(Protocol):
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
        self._code: int | None = None
        self._guard_failed = False
        self._refusal: str | None = None
        self._job_terminal: int | None = None
        self._stopped_by_guard: list[tuple[int, int]] = []  # pid and start time, where a pause takes SIGSTOP
        # Of a pipeline, others may want it more (less); the job gets it when it asks for it.
        self._has_terminal = screen is None and os.isatty(STANDARD_OUTPUT) and _is_in_foreground()

    def run(self) -> int:
        system.adopt_orphans()
        # Until the guard is told what to run, a signal would find nobody to be passed on to: it waits.
        signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
        guard = self._start_guard()
        # What shows it is loaded while the job starts.
        if self._shows_lines:
            self._view = _plain_view()
        self._guard = Channel(guard.view)
        self._pass_signals_on()
        if self._screen is not None and not self._follow_on_screen(self._screen):
            return ExitCode.OK  # Job and guard run on without us.
        self._follow()
        self._continue_what_guard_stopped()
        _, status = os.waitpid(guard.pid, 0)
        if self._code is None and not self._guard_failed and os.WIFEXITED(status):
            self._code = os.WEXITSTATUS(status)  # We were stopped, and missed what it said last.
        code = self._code if self._code is not None else self._wait_without_guard()
        self._take_terminal()
        for number in PASSED_ON:
            signal.signal(number, signal.SIG_IGN)  # Nobody is left to pass it on to; the code is known.
        if self._screen is not None:
            self._screen.close(code)
        if self._view is not None:
            self._view.close()
        elif self._refusal is not None:
            print(f"memwatch: {printable(self._refusal)}", file=sys.stderr)
        return code

    def _start_guard(self) -> StartedGuard:
        ignored = tuple(int(n) for n in PASSED_ON if signal.getsignal(n) is signal.SIG_IGN)
        terminal_fd = STANDARD_INPUT if self._has_terminal else None
        config = self._config._replace(terminal_fd=terminal_fd, ignored_signals=ignored)
        try:
            guard = starting.take()
            self._job_terminal = give_order(guard.view, config, self._command)
        except OSError as error:
            raise Broken(f"cannot start the guard: {error.strerror}") from error
        return guard

    def _pass_signals_on(self) -> None:
        def pass_on(number: int, frame: FrameType | None) -> None:
            if number == signal.SIGHUP and self._screen is not None:
                # Our terminal is gone; the job has another.
                self._screen.hang_up()
            else:
                self._guard.send({"command": "signal", "number": number})

        for number in PASSED_ON:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, pass_on)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)

    def _follow_on_screen(self, screen: FullScreen) -> bool:
        """False if the user has left, and nobody is to wait for the job."""
        try:
            has_ended = screen.follow(self._guard, self._heed_silently)
            if has_ended and self._code is None:
                self._view = _plain_view()  # The guard is gone, and with it what a screen could show.
            return has_ended
        except Exception as error:
            if os.environ.get("MEMWATCH_DEBUG"):
                raise
            self._screen, self._view = None, _plain_view()
            what = printable(f"{type(error).__name__}: {error}")
            self._view.show({"event": "note", "text": f"the screen failed ({what}); the job goes on, in plain lines"})
            return True

    def _follow(self) -> None:
        """Show what the guard tells, until it is gone."""
        selector = selectors.DefaultSelector()
        selector.register(self._guard, selectors.EVENT_READ)
        while self._guard.is_open:
            selector.select()
            for event in self._guard.receive():
                self._heed(event)

    def _heed_silently(self, event: dict[str, Any]) -> None:
        match event.get("event"):
            case "spawned" | "start" | "failed":
                self._job_pid = event["pid"]
                self._guard_failed = event["event"] == "failed"
            case "exit":
                self._code = event["code"]
            case "refused":
                self._code, self._refusal = event["code"], event["text"]
            case "suspended":
                self._suspend(event.get("signal"))
            case "stopping":
                new = [(pid, start_ticks) for pid, start_ticks in event["processes"]]
                self._stopped_by_guard = [*self._stopped_by_guard, *new] if new else []

    def _heed(self, event: dict[str, Any]) -> None:
        self._heed_silently(event)
        if self._view is not None:
            self._view.show(event)
        elif event.get("event") == "failed":
            print(f"memwatch: {printable(event['text'])}", file=sys.stderr)

    def _continue_what_guard_stopped(self) -> None:
        """The guard is gone; if it has died in a pause, and its watcher with it, nobody else would (watcher.py)."""
        from memwatch.guard.signals import signal_process

        for pid, start_ticks in self._stopped_by_guard:
            signal_process(pid, start_ticks, signal.SIGCONT)
        self._stopped_by_guard.clear()

    def _suspend(self, number: int | None) -> None:
        """Ctrl-Z stopped the job: stop as well, so that the shell takes over, and go on together."""
        if self._screen is not None:
            return
        wants_it = self._has_terminal or number in WANTS_TERMINAL
        if self._has_terminal or number not in WANTS_TERMINAL or not _is_in_foreground():
            self._take_terminal()
            os.kill(os.getpid(), signal.SIGSTOP)
        self._has_terminal = wants_it and _is_in_foreground()  # Or the shell has let us go on in the background.
        if self._has_terminal and self._job_pid is not None:
            with suppress(OSError):
                os.tcsetpgrp(STANDARD_INPUT, self._job_pid)
        self._guard.send({"command": "signal", "number": signal.SIGCONT})

    def _take_terminal(self) -> None:
        if self._has_terminal:
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            with suppress(OSError):
                os.tcsetpgrp(STANDARD_INPUT, os.getpgrp())

    def _wait_without_guard(self) -> int:
        if self._job_pid is None:
            raise Broken("the guard ended before it could start the job")
        if self._view is not None and not self._guard_failed:
            self._view.show({"event": "note", "text": "the guard was killed; the job goes on without it"})
        try:
            self._drain_terminal(self._job_pid)
            _, status = os.waitpid(self._job_pid, 0)
        except ChildProcessError:
            return ExitCode.BROKEN
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _drain_terminal(self, pid: int) -> None:
        """A job whose terminal nobody reads would soon wait for ever to write; so it is read here, to the end."""
        while self._job_terminal is not None and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            ready, _, _ = select.select([self._job_terminal], [], [], DRAIN_INTERVAL_S)
            try:
                data = os.read(self._job_terminal, 65536) if ready else b""
            except OSError:
                return
            if data and self._view is not None:
                self._view.show({"event": "output", "text": data.decode(errors="replace")})


def _plain_view() -> "PlainView":
    from memwatch.cli.plain import PlainView

    return PlainView()


def _is_in_foreground() -> bool:
    try:
        return os.isatty(STANDARD_INPUT) and os.tcgetpgrp(STANDARD_INPUT) == os.getpgrp()
    except OSError:
        return False
