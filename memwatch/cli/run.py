"""memwatch run: run a job and show how it is doing."""

import os
import selectors
import signal
import socket
import subprocess
import sys
from types import FrameType
from typing import Any

import click

from memwatch import job
from memwatch.cli.plain import PlainView
from memwatch.errors import MemwatchError
from memwatch.job import Channel

# These are for the job to act on; the one that started it waits and reports.
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@click.group()
@click.option("--ui", type=click.Choice(["auto", "plain", "none"]), default="auto", show_default=True,
              help="How to show progress: lines on standard error, or not at all.")  # fmt: skip
@click.pass_context
def run(context: click.Context, ui: str) -> None:
    """Run a job and show how it is doing."""
    context.obj = None if ui == "none" else PlainView()


@run.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def tokenize(view: PlainView | None, arguments: tuple[str, ...]) -> int:
    """Turn text into tokens for training (see: memwatch run tokenize --help)."""
    return run_job([sys.executable, "-m", "memwatch.tokenize", *arguments], view)


def run_job(command: list[str], view: PlainView | None) -> int:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        environment = {**os.environ, job.VARIABLE: str(theirs.fileno())}
        try:
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        except OSError as error:
            raise MemwatchError(f"cannot start {command[0]}: {error.strerror}") from error
        theirs.close()
        _pass_signals_on(process)
        _follow(Channel(ours), view)
        code = process.wait()
        if view is not None:
            view.close()
    return code if code >= 0 else 128 - code


def _pass_signals_on(process: subprocess.Popen[bytes]) -> None:
    def pass_on(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    for number in PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)


def _follow(channel: Channel, view: PlainView | None) -> None:
    """Show what the job reports, until it is gone."""
    selector: Any = selectors.DefaultSelector()
    selector.register(channel, selectors.EVENT_READ)
    while channel.is_open:
        selector.select()
        for event in channel.receive():
            if view is not None:
                view.show(event)
