"""The full screen of `memwatch run`. Textual is loaded when the guard and the job have been started, not before."""

import gc
import os
import shutil
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memwatch.channel import Channel
from memwatch.tui.draw.glyphs import ASCII, MONOCHROME, UNICODE, ScreenOptions, shows_unicode
from memwatch.tui.draw.look import Look

if TYPE_CHECKING:
    from memwatch.tui.app import Left, MemwatchApp
    from memwatch.tui.model.picture import Picture
    from memwatch.tui.sources import EventSource

# With a terminal that has hung up, an orderly end may wait for ever.
LAST_S = 1.0


def look_for(options: ScreenOptions) -> Look:
    """The glyphs and colours for this terminal. NO_COLOR switches colours off, whatever its value is."""
    has_colours = not os.environ.get("NO_COLOR")
    if options.is_ascii or not shows_unicode(os.environ):
        return Look(ASCII, has_colours)
    return Look(UNICODE if has_colours else MONOCHROME, has_colours)


def make_app(source: "EventSource", options: ScreenOptions, journal: str | None) -> "MemwatchApp":
    gc.disable()  # Until the first frame (app.py): nothing of what is loaded for it is garbage, and to look takes time.
    from memwatch.tui.app import MemwatchApp
    from memwatch.tui.themes import theme_for

    return MemwatchApp(source, look_for(options), theme_for(options.theme), journal)


def run_app(app: "MemwatchApp") -> "Left | None":
    """Raises what the app failed with. A signal that ends this process restores the terminal first."""
    from memwatch.tui.app import Left

    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda *_: leave(app, Left.QUIT))
    with suppress(termios.error, ValueError, OSError):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # Keys typed before there is a screen are not for it.
    try:
        left = app.run()
    finally:
        gc.enable()
        for number in (signal.SIGTSTP, signal.SIGCONT):
            signal.signal(number, signal.SIG_DFL)  # Textual's handlers fail without their app.
    if app.failure is not None:
        raise app.failure
    return left


def leave(app: "MemwatchApp", left: "Left") -> None:
    """From a signal's handler: the loop may be waiting, and must be woken."""
    from asyncio import get_running_loop

    get_running_loop().call_soon_threadsafe(app.exit, left)


class FullScreenView:
    """A screen on a guard: ours, or one that was joined. `journal` is where the run is recorded, if that is known."""

    def __init__(self, options: ScreenOptions, journal: str | None) -> None:
        self._options = options
        self._journal = journal
        self._app: MemwatchApp | None = None
        self._last: Picture | None = None

    def follow(self, guard: Channel, handle: Callable[[dict[str, Any]], None]) -> bool:
        from memwatch.tui.sources.live import LiveSource

        source = LiveSource(guard, handle, self._journal)
        while source.read():
            pass
        if source.is_over:  # While we were loading: nothing is left to be shown on a screen.
            self._last = source.picture()
            return True
        self._app = make_app(source, self._options, self._journal)
        from memwatch.tui.app import Left

        try:
            left = run_app(self._app)
        finally:
            self._last = source.picture()
            self._app = None
        if left == Left.ENDED:
            return True
        from memwatch.tui.farewell import detached

        print(detached(self._last, self._journal), file=sys.stderr)
        return False

    def hang_up(self) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LAST_S)
        if self._app is None or not self._app.is_running:
            os._exit(128 + signal.SIGHUP)
        from memwatch.tui.app import Left

        leave(self._app, Left.DETACHED)

    def close(self, code: int | None) -> None:
        if self._last is None:
            return
        from memwatch.tui.farewell import summary, tail

        look = look_for(self._options)
        sys.stdout.write(tail(self._last, shutil.get_terminal_size().lines, look.has_colours))
        sys.stdout.flush()
        print(summary(self._last, look.glyphs, code), file=sys.stderr)


def show_machine(interval_s: float | None, options: ScreenOptions) -> None:
    """The screen of `memwatch watch`: the machine itself, without a guard."""
    from memwatch.probe.machine import Machine
    from memwatch.tui.sources.polled_sources import WatchSource

    machine = Machine(others_interval_s=0.9, in_background=True)
    try:
        run_app(make_app(WatchSource(machine, interval_s), options, None))
    finally:
        machine.close()


def show_folder(look: "Callable[[float], list[dict[str, Any]]]", every_s: float, options: ScreenOptions) -> bool:
    """The screen of `memwatch attach OUT`. True: the run is complete; False: the user has left."""
    from memwatch.tui.sources.polled_sources import FolderSource

    source = FolderSource(look, every_s)
    run_app(make_app(source, options, None))
    if source.failure is not None:
        raise source.failure
    return source.is_over
