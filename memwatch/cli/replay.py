"""memwatch replay: a finished run, or the machine's record, on the screen."""

import tempfile
import time

import click

from memwatch.cli.completion import complete_runs
from memwatch.cli.ui import require_screen, screen_options
from memwatch.errors import ExitCode, MemwatchError, printable
from memwatch.journal.events import encode
from memwatch.journal.reader import JournalIndex
from memwatch.journal.record_files import read_machine_events
from memwatch.journal.run_list import journal_of
from memwatch.tui.draw.glyphs import ScreenOptions

MACHINE = "machine"
DEFAULT_HOURS = 24.0


@click.command()
@screen_options
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), default=DEFAULT_HOURS, show_default=True,
              metavar="N", help="Last N hours of the machine's record.")  # fmt: skip
@click.argument("run", default="last", shell_complete=complete_runs("last", MACHINE))
def replay(is_ascii: bool, theme: str, hours: float, run: str) -> int:
    """Replay a run, or the machine's record, on the screen.

    RUN is an id from `memwatch runs`, the beginning of one, `last`, the path of a journal, or `machine` for what
    `memwatch record` has kept.
    """
    require_screen(is_ascii, "memwatch export writes a run to a file")
    is_machine = run == MACHINE
    name = MACHINE if is_machine else str(journal_of(run))
    index = _record(hours) if is_machine else _journal(name)
    from memwatch.tui.replay_app import show_replay

    show_replay(index, name, is_machine, ScreenOptions(is_ascii, theme))
    return ExitCode.OK


def _journal(path: str) -> JournalIndex:
    try:
        index = JournalIndex(path)
    except OSError as error:
        raise MemwatchError(f"cannot read {printable(path)}: {error.strerror}") from error
    if not len(index):
        raise MemwatchError(f"{printable(path)} holds no events; is it a journal of memwatch?")
    return index


def _record(hours: float) -> JournalIndex:
    """The record is in several packed files; to move in it, the requested part is unpacked into one."""
    with tempfile.NamedTemporaryFile(prefix="memwatch-") as file:
        try:
            for event in read_machine_events(time.time() - hours * 3600):
                file.write(encode(event))
            file.flush()
            index = JournalIndex(file.name)  # It keeps the file open; the name may go.
        except OSError as error:
            raise MemwatchError(f"cannot read the machine's record: {error.strerror}") from error
    if not len(index):
        raise MemwatchError(f"nothing was recorded in the last {hours:g} hours; start the recorder: memwatch record")
    return index
