"""memwatch replay: a run that is over, as it was."""

import click

from memwatch.cli.ui import ScreenOptions, chosen_ui, screen_options
from memwatch.errors import ExitCode, MemwatchError, UsageError, printable
from memwatch.record.find import journal_of


@click.command()
@screen_options
@click.argument("run", default="last")
def replay(is_ascii: bool, theme: str, run: str) -> int:
    """Play a run again, from its journal.

    RUN is an id as `memwatch runs` shows it, the beginning of one, a journal's path, or "last".
    """
    if chosen_ui("auto", is_ascii) != "full":
        raise UsageError("a replay needs a terminal to be shown on; memwatch export writes a run to a file")
    path = journal_of(run)
    from memwatch.record.index import JournalIndex
    from memwatch.tui.machine_screens import show_replay

    try:
        index = JournalIndex(path)
    except OSError as error:
        raise MemwatchError(f"cannot read {printable(path)}: {error.strerror}") from error
    if not len(index):
        raise MemwatchError(f"{printable(path)} has no events in it; is it a journal of memwatch?")
    show_replay(index, str(path), ScreenOptions(is_ascii, theme))
    return ExitCode.OK
