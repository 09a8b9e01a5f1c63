"""The job's command line: `memwatch run tokenize ...` runs `python -m memwatch.tokenize ...`."""

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import click

from memwatch import job
from memwatch.core.units import format_count, format_duration, format_size, parse_count, parse_size
from memwatch.errors import ExitCode, exit_with_sentence, printable
from memwatch.tokenize.session import Result, Session
from memwatch.tokenize.settings import (
    DEFAULT_BLOCK_BYTES,
    DEFAULT_MODE,
    DEFAULT_SHARD_TOKENS,
    Errors,
    Format,
    Mode,
    Request,
    Resources,
    Settings,
)
from memwatch.tokenize.signals import Signals


class _Parsed(click.ParamType):
    """A value with a parser of its own, whose ValueError is the message."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _at_least_one(parse: Callable[[str], int]) -> Callable[[str], int]:
    def parsed(text: str) -> int:
        value = parse(text)
        if value < 1:
            raise ValueError(f"{text} is too little")
        return value

    return parsed


def _ratio(text: str) -> str:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is not a share; write it as 0.0005 or 1/2000") from None
    if not 0 <= value < 1:
        raise ValueError(f"{text} is not a share; it must be at least 0 and less than 1")
    return str(value)


def _workers(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a number of workers; write auto or a number from 1")
    return int(text)


def _documents(text: str) -> str:
    if not text:
        raise ValueError("the text between documents cannot be empty")
    return text.encode().decode("unicode_escape") if "\\" in text else text


SIZE = _Parsed("size", _at_least_one(parse_size))
COUNT = _Parsed("count", _at_least_one(parse_count))


@click.command(name="tokenize", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the output [default: that of the first input].")
@click.option("--mode", type=click.Choice(get_args(Mode)), help="One file, shards, or all in memory until the end.")
@click.option("--shard-tokens", type=COUNT, help="Tokens in a shard [default: 500M; 100M for llmc and npy].")
@click.option("--format", "kind", type=click.Choice(get_args(Format)), default="bin", show_default=True,
              help="nanoGPT's, llm.c's or build-nanogpt's files.")  # fmt: skip
@click.option("--encoding", default="gpt2", show_default=True, help="tiktoken's name of the encoding.")
@click.option("--val-ratio", type=_Parsed("share", _ratio), default="0.0005", show_default=True,
              help="Share of the text that goes to validation.")  # fmt: skip
@click.option("--documents", type=_Parsed("auto|none|line|blank|TEXT", _documents), default="auto", show_default=True,
              help="What ends a document: in text a line, blank lines or TEXT; in jsonl and parquet every record.")  # fmt: skip
@click.option("--engine", type=click.Choice(["auto", "gigatoken", "tiktoken"]), default="auto", show_default=True,
              help="gigatoken is fast; tiktoken is the reference.")  # fmt: skip
@click.option("--workers", type=_Parsed("auto|number", _workers), default="auto", show_default=True,
              help="Processes that encode.")  # fmt: skip
@click.option("--max-memory", type=SIZE, help="Memory for the whole job [default: 512M].")
@click.option("--errors", type=click.Choice(get_args(Errors)), help="For bytes that are not UTF-8 [default: replace].")
@click.option("--text-column", default="text", show_default=True, help="Field or column that holds the text.")
@click.option("--fresh", is_flag=True, help="Drop a partial run and start over.")
@click.option("--force", is_flag=True, help="Replace finished output.")
@click.option("--block-size", type=SIZE, default=DEFAULT_BLOCK_BYTES, hidden=True)
def tokenize(
    inputs: tuple[str, ...], out: Path | None, mode: Mode | None, shard_tokens: int | None, kind: Format,
    encoding: str, val_ratio: str, documents: str, engine: Any, workers: int | None, max_memory: int | None,
    errors: Errors | None, text_column: str, fresh: bool, force: bool, block_size: int,
) -> int:  # fmt: skip
    """Turn text into tokens for training: exact, fast, in little memory, and safe to interrupt.

    INPUT is a text, jsonl or parquet file, plain or packed (.gz, .zst); a quoted pattern such as 'data/*.jsonl'; or -
    for standard input. An interrupted run is continued by the same command.
    """
    settings = Settings(
        encoding=encoding,
        format=kind,
        mode=mode or DEFAULT_MODE[kind],
        shard_tokens=shard_tokens or DEFAULT_SHARD_TOKENS[kind],
        val_ratio=val_ratio,
        documents=documents,
        errors=errors or "replace",
        text_column=text_column,
    )
    resources = Resources(engine, workers, max_memory, block_size)
    request = Request(inputs, out, settings, resources, errors is not None, fresh, force)
    result = Session(request, job.channel(), Signals()).run()
    print(summary(result))
    return ExitCode.OK


def summary(result: Result) -> str:
    totals = result.totals
    lines = [f"{format_count(totals.tokens)} tokens in {format_duration(totals.seconds)}, {', '.join(totals.engines)}"]
    shown = result.files if len(result.files) <= 6 else (*result.files[:3], None, *result.files[-2:])
    for record in shown:
        if record is None:
            lines.append(f"  ... {len(result.files) - 5} more")
        else:
            path = printable(result.folder / record.name)
            lines.append(f"  {path}  {record.tokens:,} tokens  {format_size(record.size_bytes)}")
    remarks = {
        "bytes that are not UTF-8 were replaced or left out": totals.replaced_bytes,
        "inexact cuts in text without a place to cut": totals.inexact_cuts,
        "records without a text": totals.missing_texts,
    }
    lines += [f"  note: {count:,} {what}" for what, count in remarks.items() if count]
    return "\n".join(lines)


def main() -> int:
    def command() -> int:
        code: int = tokenize.main(prog_name="memwatch run tokenize", standalone_mode=False)
        return code or 0

    def with_usage() -> int:
        try:
            return command()
        except click.ClickException as error:
            error.show()
            return ExitCode.USAGE
        except click.exceptions.Exit as end:
            return end.exit_code
        except click.Abort:
            return 130

    return exit_with_sentence(with_usage)


if __name__ == "__main__":
    sys.exit(main())
