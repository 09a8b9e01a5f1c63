"""The command line of a rank: the options of `tokenize`, with another way to carry them out."""

import os
import sys
from contextlib import suppress
from typing import Any

import click

from memwatch import job
from memwatch.cluster.joining import RunResult
from memwatch.cluster.nodes import BEAT_S
from memwatch.cluster.planning import worker_means
from memwatch.cluster.rank_run import RunTiming
from memwatch.cluster.rank_session import RankSession
from memwatch.cluster.ranks import Rank, rank_of
from memwatch.cluster.shared_vocabulary import local_vocabulary
from memwatch.command_line import invoke
from memwatch.errors import ExitCode, UsageError, printable
from memwatch.model.units import format_count, format_duration, format_size
from memwatch.tokenize.command import NAME, request_from, tokenize
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.loader_notes import finished_notes
from memwatch.tokenize.session import show_note
from memwatch.tokenize.settings import TokenizeSettings

SHARDS_IN_BUCKET = (
    "an object in a bucket is written as a whole, so this run makes a shard for each segment (--shard-by segment); "
    "joined in the order of their names they are the train file of one machine"
)


def run_segments(**options: Any) -> int:
    """As a rank, or, with a Ray address, as the driver of Ray tasks."""
    result = _as_rank(options) if options["ray_address"] is None else _by_ray(options)
    with suppress(OSError):
        click.echo(summary(result))
    return ExitCode.OK


def _by_ray(options: dict[str, Any]) -> RunResult:
    from memwatch.cluster.ray_run import RayRun

    if options["rank"] is not None or options["world_size"] is not None:
        raise UsageError("--rank and --world-size are for runs without Ray; leave them out with --on ray")
    if options["shard_by"] == "tokens":
        raise UsageError("--on ray makes a shard for each segment; leave out --shard-by tokens")
    options["shard_by"] = "segment"
    beat_s = options["beat"] or BEAT_S
    signals, request = Signals(), request_from(options)
    address, size = options["ray_address"], options["segment_size"]
    return RayRun(request, options["out"], size, address, beat_s, job.channel(), signals).run()


def _as_rank(options: dict[str, Any]) -> RunResult:
    options["encoding"] = local_vocabulary(options["out"], options["encoding"])
    request = request_from(options)
    rank = rank_of(options["rank"], options["world_size"], os.environ) or Rank()
    if options["shard_by"] is None:
        show_note(job.channel(), SHARDS_IN_BUCKET)
    timing = RunTiming() if options["beat"] is None else RunTiming(options["beat"])
    session = RankSession(
        request,
        options["out"],
        rank,
        options["segment_size"],
        timing,
        lambda inputs, engine: worker_means(request, inputs, engine),
        job.channel(),
        Signals(),
    )
    return session.run()


def summary(result: RunResult) -> str:
    manifest = result.manifest
    files = manifest["files"]
    tokens = sum(manifest["tokens"].values())
    by = "" if result.wrote_manifest else ", finished by another process"
    first = f"{format_count(tokens)} tokens in {format_duration(manifest['seconds'])}, {manifest['engine']}{by}"
    size = format_size(sum(record["size_bytes"] for record in files))
    return "\n".join([f"{first}\n  {printable(result.out)}  {len(files)} files  {size}", *_notes(manifest)])


def _notes(manifest: dict[str, Any]) -> list[str]:
    settings = TokenizeSettings(**manifest["settings"])
    held = [record for record in manifest["files"] if record.get("holds") != "index"]
    train, val = ([record["tokens"] for record in held if record["split"] == split] for split in ("train", "val"))
    return [f"  note: {note}" for note in finished_notes(settings, train, val, by_segment=True)]


RANK_COMMAND = click.Command(
    "tokenize",
    params=[*tokenize.params, click.Option(["--ray-address"], hidden=True)],
    callback=run_segments,
    context_settings=tokenize.context_settings,
)


def main() -> int:
    return invoke(RANK_COMMAND, NAME, sys.argv[1:])
