"""memwatch watch: the machine's memory, without a job."""

import click

from memwatch.cli.ui import require_screen, screen_options
from memwatch.command_line import SECONDS
from memwatch.errors import ExitCode
from memwatch.tui.draw.glyphs import ScreenOptions


@click.command()
@screen_options
@click.option("--interval", type=SECONDS, metavar="SECS", help="Sampling interval [default: 0.5 to 1, as needed].")
def watch(is_ascii: bool, theme: str, interval: float | None) -> int:
    """Show memory, swap, pressure and the largest processes of this machine, and a forecast of when memory is full."""
    require_screen(is_ascii, "memwatch doctor describes the machine in plain lines")
    from memwatch.tui.full_screen import show_machine

    show_machine(interval, ScreenOptions(is_ascii, theme))
    return ExitCode.OK
