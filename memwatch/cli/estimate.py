"""memwatch estimate: how many tokens, how much disk and RAM, how long, and what to do, before a job is started."""

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memwatch.cli.parameters import DOCUMENTS, SIZE, WORKERS
from memwatch.errors import ExitCode

if TYPE_CHECKING:
    from memwatch.core.outlook import Outlook

# Elsewhere than on a terminal nobody minds a long line, and few programs make a wide one.
USUAL_WIDTH = 100


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the output, as for `run tokenize`.")
@click.option("--format", "kind", type=click.Choice(["bin", "llmc", "npy"]), default="bin", show_default=True,
              help="Of the output.")  # fmt: skip
@click.option("--encoding", default="gpt2", show_default=True, help="tiktoken's name of the encoding.")
@click.option("--documents", type=DOCUMENTS, default="auto", show_default=True, help="What ends a document in text.")
@click.option("--text-column", default="text", show_default=True, help="Field or column that holds the text.")
@click.option("--errors", type=click.Choice(["replace", "ignore", "strict"]), help="For bytes that are not UTF-8.")
@click.option("--engine", type=click.Choice(["auto", "gigatoken", "tiktoken"]), default="auto", show_default=True,
              help="That would do the job.")  # fmt: skip
@click.option("--workers", type=WORKERS, default="auto", show_default=True, help="Processes that would encode.")
@click.option("--max-memory", type=SIZE, help="Memory for the whole job [default: 512M].")
@click.option("--json", "as_json", is_flag=True, help="For programs: one object.")
def estimate(
    inputs: tuple[str, ...], out: Path | None, kind: Any, encoding: str, documents: str, text_column: str,
    errors: Any, engine: Any, workers: int | None, max_memory: int | None, as_json: bool,
) -> int:  # fmt: skip
    """Tell what tokenizing INPUT would make and take: tokens, disk, RAM for each way of doing it, and time.

    Looks at a few hundred pieces spread over the whole input, so it takes a second or two for any size. Exit code 0 if
    what it advises is safe, 3 if nothing fits on this machine.
    """
    from memwatch.cli import estimate_json, estimate_report
    from memwatch.core.estimate import Verdict
    from memwatch.tokenize.outlook import outlook
    from memwatch.tokenize.settings import DEFAULT_MODE, DEFAULT_SHARD_TOKENS, Request, Resources, Settings

    settings = Settings(
        encoding=encoding,
        format=kind,
        mode=DEFAULT_MODE[kind],
        shard_tokens=DEFAULT_SHARD_TOKENS[kind],
        documents=documents,
        errors=errors or "replace",
        text_column=text_column,
    )
    resources = Resources(engine, workers, max_memory)
    request = Request(inputs, out, settings, resources, any_bytes=errors is not None)
    found: Outlook = outlook(request, _command(inputs))
    if as_json:
        click.echo(json.dumps(estimate_json.as_object(found), indent=2))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else USUAL_WIDTH
        click.echo("\n".join(estimate_report.lines(found, width)))
    return ExitCode.PROBLEM_FOUND if found.conclusion.verdict in (Verdict.DISK, Verdict.MEMORY) else ExitCode.OK


def _command(inputs: tuple[str, ...]) -> list[str]:
    """The command that does the job, with the options that were given here; all of them are its options too."""
    context = click.get_current_context()
    options: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE and name not in ("inputs", "as_json"):
            value = context.params[name]
            options += [parameter.opts[0], "auto" if value is None else str(value)]
    return [shlex.quote(word) for word in ("memwatch", "run", "tokenize", *inputs, *options)]
