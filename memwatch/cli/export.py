"""memwatch export: a run, or the machine's record, as CSV, JSON or a page."""

import time
from collections.abc import Iterator

import click

from memwatch.cli.completion import complete_runs
from memwatch.errors import ExitCode, MemwatchError, UsageError
from memwatch.journal.events import Event
from memwatch.journal.reader import read_events
from memwatch.journal.record_files import read_machine_events
from memwatch.journal.run_export import without_commands, write_json
from memwatch.journal.run_list import journal_of
from memwatch.whole_file import STANDARD_OUTPUT, output_file

MACHINE = "machine"
_FILE = click.Path(allow_dash=True)


def _tell_columns(ctx: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    if not is_asked or ctx.resilient_parsing:
        return
    from memwatch.journal.run_export import COLUMNS

    width = max(map(len, COLUMNS))
    click.echo("\n".join(f"{name:<{width}}  {meaning}" for name, meaning in COLUMNS.items()))
    ctx.exit()


@click.command()
@click.argument("run", shell_complete=complete_runs("last", MACHINE))
@click.option("--csv", "csv_file", type=_FILE, metavar="FILE", help="Write a table with one row per sample.")
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Write one JSON object with all events.")
@click.option("--html", "html_file", type=_FILE, metavar="FILE", help="Write a page with charts, in one file.")
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), metavar="N",
              help="Last N hours of the machine's record [default: all].")  # fmt: skip
@click.option("--columns", is_flag=True, is_eager=True, expose_value=False, callback=_tell_columns,
              help="List the columns of the table and their meaning, and exit.")  # fmt: skip
@click.option("--show-commands", is_flag=True,
              help="Include command lines, paths, user and host names, and the job's output.")  # fmt: skip
def export(
    run: str,
    csv_file: str | None,
    json_file: str | None,
    html_file: str | None,
    hours: float | None,
    show_commands: bool,
) -> int:
    """Write a run, or the machine's record, as CSV, JSON or HTML.

    RUN is an id from `memwatch runs`, the beginning of one, `last`, the path of a journal, or `machine` for what
    `memwatch record` has kept. An existing FILE is replaced; - is standard output. The names of the CSV columns include
    their units, and an unknown value is empty.
    """
    files = [file for file in (csv_file, json_file, html_file) if file is not None]
    if not files:
        raise UsageError(f"an output is missing: memwatch export {run} --csv FILE, --json FILE or --html FILE")
    if files.count(STANDARD_OUTPUT) > 1:
        raise UsageError("only one of --csv, --json and --html can go to standard output")
    source = _Source(run, hours)
    if csv_file is not None:
        _write_csv(source, csv_file)
    if json_file is not None:
        _write_json(source, json_file, show_commands)
    if html_file is not None:
        _write_html(source, html_file, show_commands)
    return ExitCode.OK


class _Source:
    """The run or the record: looked up once, read again for every file that is written."""

    def __init__(self, run: str, hours: float | None) -> None:
        if hours is not None and run != MACHINE:
            raise UsageError(f"--hours is for the machine's record: memwatch export {MACHINE} --hours {hours:g}")
        self._journal = None if run == MACHINE else journal_of(run)
        self._since_t = None if hours is None else time.time() - 3600 * hours
        if self._journal is None and next(self.events(), None) is None:
            raise MemwatchError("nothing was recorded in this period; start the recorder with: memwatch record")

    def events(self) -> Iterator[Event]:
        try:
            if self._journal is None:
                yield from read_machine_events(self._since_t, None)
            else:
                yield from read_events(self._journal)
        except OSError as error:
            what = error.filename or self._journal or "the record"
            raise MemwatchError(f"cannot read {what}: {error.strerror or error}") from error


def _write_csv(source: _Source, path: str) -> None:
    from memwatch.journal.run_export import write_table

    with output_file(path) as file:
        write_table(source.events(), file)


def _write_json(source: _Source, path: str, show_commands: bool) -> None:
    events = source.events()
    with output_file(path) as file:
        write_json(events if show_commands else without_commands(events), file)


def _write_html(source: _Source, path: str, show_commands: bool) -> None:
    from memwatch.report.page import report_page
    from memwatch.report.privacy import names_of_this_machine

    page = report_page(source.events(), show_commands=show_commands, private_names=names_of_this_machine())
    with output_file(path) as file:
        file.write(page)
