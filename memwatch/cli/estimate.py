"""memwatch estimate."""

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from memwatch.command_line import DOCUMENTS, SHARD_TOKENS, SHARE, SIZE, WORKERS, complete_files
from memwatch.errors import ExitCode
from memwatch.tokenize.formats.format_registry import DEFAULT_FORMAT, FORMATS, format_list
from memwatch.tokenize.input_options import input_options
from memwatch.tokenize.settings import ENGINES, Mode, Resources, TokenizeRequest, TokenizeSettings
from memwatch.tokenize.split_patterns import PRETOKENIZERS

# Where the output is not a terminal.
USUAL_WIDTH = 100


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True, shell_complete=complete_files)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Output folder, as for `run tokenize`.")
@click.option("--format", "kind", type=click.Choice(list(FORMATS)), default=DEFAULT_FORMAT, show_default=True,
              help=f"Output format: {format_list()}.")  # fmt: skip
@click.option("--mode", type=click.Choice(get_args(Mode)), help="Mode, as for `run tokenize`.")
@click.option("--shard-tokens", type=SHARD_TOKENS, help="Tokens per shard.")
@click.option("--index", is_flag=True, help="Also write where each document begins.")
@click.option("--val", metavar="ratio|tail|first-shard|FILE", default="ratio", show_default=True,
              help="Text for validation.")  # fmt: skip
@click.option("--val-ratio", type=SHARE, help="Share of the text for validation [default: 0.0005].")
@click.option("--encoding", metavar="NAME|FILE", default="gpt2", show_default=True, shell_complete=complete_files,
              help="Encoding, as for `run tokenize`.")  # fmt: skip
@click.option("--eot", metavar="TOKEN|ID", help="Token that marks documents, with a vocabulary file.")
@click.option("--pretokenizer", type=click.Choice(PRETOKENIZERS), help="Split pattern of a .tiktoken file.")
@click.option(
    "--documents",
    type=DOCUMENTS,
    metavar="auto|none|line|blank|TEXT",
    default="auto",
    show_default=True,
    help="Separator of documents in text.",
)
@input_options
@click.option("--engine", type=click.Choice(ENGINES), default="auto", show_default=True,
              help="Tokenizer engine.")  # fmt: skip
@click.option(
    "--workers", type=WORKERS, metavar="auto|N", default="auto", show_default=True, help="Number of worker processes."
)
@click.option(
    "--max-memory", type=SIZE, help="Memory limit of the whole job [default: an eighth of what is available]."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def estimate(inputs: tuple[str, ...], out: Path | None, as_json: bool, **options: Any) -> int:
    """Estimate the result and the cost of tokenizing INPUT: tokens, disk space, memory for each method, and time.

    Samples a few hundred pieces of the whole input, so any size takes a second or two. Exit code 0 if the job fits on
    this machine, 3 if memory or disk is too small.
    """
    from memwatch.estimate.outlook import outlook
    from memwatch.estimate.report import as_lines, as_object
    from memwatch.tokenize.command import val_settings
    from memwatch.tokenize.vocabulary_file import with_vocabulary

    output, errors = FORMATS[options["kind"]], options["errors"]
    settings = TokenizeSettings(
        encoding=options["encoding"],
        format=output.name,
        mode=options["mode"] or output.default_mode,
        shard_tokens=options["shard_tokens"] or output.default_shard_tokens,
        **val_settings(options["val"], options["val_ratio"]),
        documents=options["documents"],
        errors=errors or "replace",
        text_column=options["text_column"],
        bad_records=options["bad_records"],
        exact=options["exact"],
        index=options["index"],
    )
    settings = with_vocabulary(settings, options["pretokenizer"], options["eot"])
    resources = Resources(options["engine"], options["workers"], options["max_memory"])
    request = TokenizeRequest(
        inputs,
        out,
        settings,
        resources,
        any_bytes=errors is not None,
        input_format=options["input_format"],
        bad_limit=options["bad_limit"],
    )
    found = outlook(request, _command(inputs))
    if as_json:
        click.echo(json.dumps(as_object(found), indent=2))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else USUAL_WIDTH
        click.echo("\n".join(as_lines(found, width)))
    return ExitCode.PROBLEM_FOUND if found.conclusion.remedy else ExitCode.OK


def _command(inputs: tuple[str, ...]) -> list[str]:
    """The command that does the job, with the options given here; `run tokenize` has all of them."""
    context = click.get_current_context()
    options: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE and name not in ("inputs", "as_json"):
            value = context.params[name]
            options += [parameter.opts[0]]
            if not getattr(parameter, "is_flag", False):
                options += ["auto" if value is None else str(value)]
    return [shlex.quote(word) for word in ("memwatch", "run", "tokenize", *inputs, *options)]
