"""The job's command line: `memwatch run tokenize ...` runs `python -m memwatch.tokenize ...`."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from memwatch import job
from memwatch.command_line import (
    ADDRESS,
    DOCUMENTS,
    OUTPUT_NAME,
    SECONDS,
    SHARD_TOKENS,
    SHARE,
    SIZE,
    WORKERS,
    complete_files,
    invoke,
)
from memwatch.errors import ExitCode, UsageError, printable
from memwatch.model.units import format_count, format_duration, format_size
from memwatch.storage.address import is_remote
from memwatch.tokenize.formats.format_registry import DEFAULT_FORMAT, FORMATS, defaults_list, format_list
from memwatch.tokenize.input_options import input_options, readable_inputs
from memwatch.tokenize.progress_report import time_shares
from memwatch.tokenize.settings import (
    DEFAULT_BLOCK_BYTES,
    ENGINES,
    VAL_RULES,
    Mode,
    Resources,
    TokenizeRequest,
    TokenizeSettings,
)
from memwatch.tokenize.split_patterns import PRETOKENIZERS

if TYPE_CHECKING:
    from memwatch.tokenize.session import Result

NAME = "memwatch run tokenize"
_HELP = f"""Tokenize text for training, in little memory. The tokens are exactly those of tiktoken.

INPUT is a file ({readable_inputs()}), a quoted pattern such as 'data/*.jsonl', or - for standard input. To resume an
interrupted run, repeat the same command.
"""


@click.command(name="tokenize", help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("inputs", type=ADDRESS, metavar="INPUT...", nargs=-1, required=True, shell_complete=complete_files)
@click.option(
    "--out",
    type=ADDRESS,
    metavar="DIR",
    shell_complete=complete_files,
    help="Output folder, or an address such as s3://bucket/folder [default: the folder of the first input].",
)
@click.option(
    "--mode",
    type=click.Choice(get_args(Mode)),
    help=f"One file, shards, or all in memory until the end [default: {defaults_list('default_mode')}].",
)
@click.option("--shard-tokens", type=SHARD_TOKENS,
              help=f"Tokens per shard [default: {defaults_list('default_shard_tokens')}].")  # fmt: skip
@click.option("--shard-by", type=click.Choice(["tokens", "segment"]),
              help="Shards of equal size, or a shard for each segment of the input, made by any number of processes "
                   "on any number of machines [default: tokens; segment if --out is in a bucket].")  # fmt: skip
@click.option("--format", "kind", type=click.Choice(list(FORMATS)), default=DEFAULT_FORMAT, show_default=True,
              help=f"Output format: {format_list()}.")  # fmt: skip
@click.option("--name", type=OUTPUT_NAME, help="First part of the names of llmc and npy files [default: the input's].")
@click.option("--shuffle", type=click.IntRange(0, 2**64 - 1), metavar="SEED",
              help="Shuffle the documents for training: the same order for the same seed.")  # fmt: skip
@click.option("--index", is_flag=True,
              help="Also write where each document begins; megatron has an index of its own.")  # fmt: skip
@click.option("--encoding", metavar="NAME|FILE", default="gpt2", show_default=True, shell_complete=complete_files,
              help="Encoding: tiktoken's name, a tokenizer.json, a SentencePiece or a .tiktoken file.")  # fmt: skip
@click.option("--eot", metavar="TOKEN|ID",
              help="Token that marks documents, with a vocabulary file [default: found in the file].")  # fmt: skip
@click.option("--pretokenizer", type=click.Choice(PRETOKENIZERS), help="Split pattern of a .tiktoken file.")
@click.option("--val", metavar="ratio|tail|first-shard|FILE", default="ratio", show_default=True,
              shell_complete=complete_files,
              help="Text for validation: units spread over the input, its end, first tokens, or a file.")  # fmt: skip
@click.option("--val-ratio", type=SHARE, help="Share of the text for validation [default: 0.0005].")
@click.option("--documents", type=DOCUMENTS, metavar="auto|none|line|blank|TEXT", default="auto", show_default=True,
              help="Separator of documents in text; elsewhere a record is a document.")  # fmt: skip
@click.option("--engine", type=click.Choice(ENGINES), default="auto", show_default=True,
              help="Tokenizer engine; gigatoken is faster, with the same tokens as the reference.")  # fmt: skip
@click.option("--workers", type=WORKERS, metavar="auto|N", default="auto", show_default=True,
              help="Number of worker processes.")  # fmt: skip
@click.option(
    "--max-memory", type=SIZE, help="Memory limit of the whole job [default: an eighth of what is available]."
)
@input_options
@click.option("--rank", type=click.IntRange(0), metavar="N",
              help="Number of this process among those that share the output folder [default: from Slurm or a "
                   "Kubernetes Indexed Job].")  # fmt: skip
@click.option("--world-size", type=click.IntRange(1), metavar="M", help="Number of these processes.")
@click.option("--fresh", is_flag=True, help="Delete a partial run and start over.")
@click.option("--resume-changed", is_flag=True,
              help="Resume although an input has changed, if what was read of it is still the same.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace finished output in the folder.")
@click.option("--block-size", type=SIZE, default=DEFAULT_BLOCK_BYTES, hidden=True)
@click.option("--segment-size", type=SIZE, hidden=True)
@click.option("--beat", type=SECONDS, hidden=True)
def tokenize(**options: Any) -> int:
    if is_by_segment(options):
        raise UsageError("segments are made by: memwatch run tokenize")
    request = request_from(options)
    # Not before: `memwatch run` loads this file to check the command line, and its job must not wait for the rest.
    from memwatch.tokenize.interrupts import Signals
    from memwatch.tokenize.session import Session, show_note

    channel = job.channel()
    if options["shard_tokens"] is not None and request.settings.mode != "shard":
        show_note(
            channel, "--shard-tokens has no effect unless the run switches to shards; --mode shard starts with them"
        )
    result = Session(request, channel, Signals()).run()
    # The work is done and on disk; whether anybody reads about it is another matter.
    with suppress(OSError):
        click.echo(summary(result))
    return ExitCode.OK


def is_by_segment(options: Mapping[str, Any]) -> bool:
    """Whether memwatch.cluster runs this command line. Also raises for options that cannot go together."""
    shard_by, mode, out = options["shard_by"], options["mode"], options["out"]
    to_bucket = is_remote(options["inputs"][0] if out is None else out)
    if to_bucket and (shard_by == "tokens" or mode in ("stream", "memory")):
        raise UsageError(
            f"a run into a bucket makes a shard for each segment; leave out {_option(shard_by, mode)}, "
            "or give a folder with --out"
        )
    by_segment = shard_by == "segment" or to_bucket
    if not by_segment and (options["rank"] is not None or options["world_size"] is not None):
        raise UsageError("--rank and --world-size need --shard-by segment")
    if by_segment and mode in ("stream", "memory"):
        raise UsageError(f"--shard-by segment makes shards; leave out --mode {mode}")
    if by_segment and options["resume_changed"]:
        raise UsageError("--resume-changed has no effect with segments, which are planned from the sizes of the inputs")
    if by_segment and options["shard_tokens"] is not None:
        raise UsageError("--shard-tokens has no effect with --shard-by segment; leave it out")
    return by_segment


def _option(shard_by: str | None, mode: str | None) -> str:
    return f"--shard-by {shard_by}" if shard_by == "tokens" else f"--mode {mode}"


def request_from(options: Mapping[str, Any]) -> TokenizeRequest:
    """The options of a command line as values; a vocabulary file is read for them. Raises UsageError."""
    output = FORMATS[options["kind"]]
    settings = TokenizeSettings(
        encoding=options["encoding"],
        format=output.name,
        mode="shard" if is_by_segment(options) else options["mode"] or output.default_mode,
        shard_tokens=options["shard_tokens"] or output.default_shard_tokens,
        **val_settings(options["val"], options["val_ratio"]),
        documents=options["documents"],
        errors=options["errors"] or "replace",
        text_column=options["text_column"],
        name=options["name"],
        bad_records=options["bad_records"],
        exact=options["exact"],
        shuffle=options["shuffle"],
        index=options["index"] and not output.has_own_index,
    )
    from memwatch.tokenize.vocabulary_file import with_vocabulary  # Not before the command line is checked.

    settings = with_vocabulary(settings, options["pretokenizer"], options["eot"])
    resources = Resources(options["engine"], options["workers"], options["max_memory"], options["block_size"])
    out = None if options["out"] is None else Path(options["out"])
    return TokenizeRequest(
        inputs=options["inputs"],
        out=out,
        settings=settings,
        resources=resources,
        any_bytes=options["errors"] is not None,
        input_format=options["input_format"],
        bad_limit=options["bad_limit"],
        resume_changed=options["resume_changed"],
        fresh=options["fresh"],
        force=options["force"],
    )


def val_settings(val: str, ratio: str | None) -> dict[str, Any]:
    """What --val and --val-ratio say; `estimate` has them too."""
    if val in ("ratio", "tail"):
        return {"val": val, **({} if ratio is None else {"val_ratio": ratio})}
    if ratio is not None:
        raise UsageError(f"--val-ratio has no effect with --val {val}; leave it out")
    # Processes of one run may have different working folders.
    return {"val": val if val in VAL_RULES or is_remote(val) else os.path.abspath(val)}


def summary(result: "Result") -> str:
    """What a finished run prints: tokens, files, time, and remarks."""
    totals = result.totals
    lines = [f"{format_count(totals.tokens)} tokens in {format_duration(totals.seconds)}, {', '.join(totals.engines)}"]
    shown = result.files if len(result.files) <= 6 else (*result.files[:3], None, *result.files[-2:])
    for record in shown:
        if record is None:
            lines.append(f"  ... {len(result.files) - 5} more")
        else:
            path = printable(result.folder / record.name)
            held = "document index" if record.holds == "index" else f"{record.tokens:,} tokens"
            lines.append(f"  {path}  {held}  {format_size(record.size_bytes)}")
    if shares := time_shares(totals.time_s):
        lines.append(f"  time of the workers: {shares}")
    remarks = {
        "bytes replaced or dropped that are not UTF-8": totals.replaced_bytes,
        "inexact cuts in text without safe places to cut": totals.inexact_cuts,
        "records without text": totals.missing_texts,
        "bad records skipped, listed in manifest.json": totals.bad_records,
    }
    lines += [f"  note: {what}: {count:,}" for what, count in remarks.items() if count]
    lines += [f"  note: {note}" for note in result.notes]
    return "\n".join(lines)


def main() -> int:
    """Run the command line of this process and return its exit code."""
    return invoke(tokenize, NAME, sys.argv[1:])
