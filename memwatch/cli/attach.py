"""memwatch attach: show a run that was started elsewhere, or detached from."""

import os
import selectors
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import click

from memwatch.channel import Channel
from memwatch.cli.commands import shown
from memwatch.cli.completion import complete_runs
from memwatch.cli.plain import PlainView
from memwatch.cli.ui import chosen_ui, screen_options
from memwatch.errors import ExitCode
from memwatch.guard.attach_socket import connect
from memwatch.journal.reader import lines_of, parse_event
from memwatch.journal.run_list import changes_pause, journal_of
from memwatch.model.units import format_duration
from memwatch.storage.address import is_remote
from memwatch.tui.draw.glyphs import ScreenOptions

FOLDER_EVERY_S = 2.0  # as often as the screen of a folder is read
GREETING_CHARACTERS = 200  # of a greeting

Show = Callable[[dict[str, Any]], None]


@click.command()
@click.option("--ui", type=click.Choice(["auto", "full", "plain"]), default="auto", show_default=True,
              help="View: full screen, or lines on standard error; auto is full on a terminal.")  # fmt: skip
@screen_options
@click.argument("run", default="last", metavar="[RUN]", shell_complete=complete_runs("last"))
def attach(ui: str, is_ascii: bool, theme: str, run: str) -> int:
    """Watch a running job until it ends.

    RUN is an id from `memwatch runs`, the beginning of one, or `last`; or the output folder of a run by segments, to
    see its processes on all machines. The exit code is the job's. To detach while the job keeps running, press d on the
    full screen, or Ctrl-C in plain lines.
    """
    if is_remote(run) or os.path.isdir(run):
        return _follow_folder(run, chosen_ui(ui, is_ascii), ScreenOptions(is_ascii, theme))
    path = os.fspath(journal_of(run))
    if chosen_ui(ui, is_ascii) == "full":
        return _on_screen(path, ScreenOptions(is_ascii, theme))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    view = PlainView(is_jobs_terminal=False)
    with closing(connect(path)) as guard:
        try:
            return follow(path, guard, view.show, lambda past: _greet(view, past))
        except KeyboardInterrupt:
            return ExitCode.OK
        finally:
            view.close()


def _follow_folder(out: str, ui: str, options: ScreenOptions) -> int:
    from memwatch.cluster.run_view import RunView, show_until_finished

    signal.signal(signal.SIGINT, signal.default_int_handler)
    if ui == "full":
        from memwatch.tui.full_screen import show_folder

        is_over = show_folder(RunView(out).events, FOLDER_EVERY_S, options)
        click.echo(f"{out} is complete" if is_over else f"detached; the run goes on: memwatch attach {shown([out])}")
        return ExitCode.OK
    with suppress(KeyboardInterrupt):
        show_until_finished(out, click.echo)
    return ExitCode.OK


def _on_screen(path: str, options: ScreenOptions) -> int:
    codes: list[int] = []

    def handle(event: dict[str, Any]) -> None:
        if event.get("event") == "exit":
            codes.append(int(event["code"]))

    with closing(connect(path)) as guard:
        from memwatch.tui.full_screen import FullScreenView

        screen = FullScreenView(options, path)
        if not screen.follow(guard, handle):
            return ExitCode.OK
    code = codes[0] if codes else int(ExitCode.BROKEN)
    screen.close(code)
    return code


def follow(path: str, guard: Channel, show: Show, catch_up: Callable[[list[dict[str, Any]]], None]) -> int:
    """First the past, all at once, from the journal; then what happens, until it is over. Returns the job's code."""
    code = int(ExitCode.BROKEN)
    for event in messages(guard):
        match event.get("event"):
            case "joined":
                catch_up(past_events(path, int(event["journal_bytes"])))
                continue
            case "exit":
                code = int(event["code"])
        show(event)
    return code


def messages(guard: Channel) -> Iterator[dict[str, Any]]:
    with selectors.DefaultSelector() as selector:
        selector.register(guard, selectors.EVENT_READ)
        while guard.is_open:
            selector.select()
            yield from guard.receive()


def past_events(path: str, journal_bytes: int) -> list[dict[str, Any]]:
    """The events up to the moment of attaching; later ones come from the guard."""
    with open(path, "rb") as file:
        events = []
        for line in lines_of(file):
            journal_bytes -= len(line)
            if journal_bytes < 0:
                break
            if (event := parse_event(line)) is not None:
                events.append(event)
    return events


def _greet(view: PlainView, past: list[dict[str, Any]]) -> None:
    start = next((event for event in past if event["event"] == "start"), None)
    if start is None:
        return
    words = start.get("command")
    command = " ".join(map(str, words if isinstance(words, list) else ()))[:GREETING_CHARACTERS]
    view.show(start)
    ran = format_duration(float(past[-1]["t"]) - float(start["t"]))
    state = "paused" if _is_paused(past) else "running"
    view.show({"event": "note", "text": f"attached: {command}, {state}, started {ran} ago; Ctrl-C detaches"})
    for kind in ("verdict", "progress"):
        last = next((event for event in reversed(past) if event["event"] == kind), None)
        if last is not None:
            view.show(last)


def _is_paused(past: list[dict[str, Any]]) -> bool:
    changes = [event for event in past if event["event"] == "action" and changes_pause(event)]
    return bool(changes) and changes[-1]["action"] == "pause"
