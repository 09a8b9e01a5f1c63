"""memwatch run: run a job under a guard and show its memory and progress."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from memwatch.cli.commands import is_like_tokenize, shown
from memwatch.cli.completion import complete_job
from memwatch.cli.front import Front
from memwatch.cli.ui import chosen_ui, screen_options
from memwatch.command_line import RESERVE, SECONDS, AskedReserve
from memwatch.errors import UsageError
from memwatch.guard.order import GuardConfig
from memwatch.tui.draw.glyphs import ScreenOptions

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

CLUSTER = "memwatch.cluster"  # the module of runs by segments


class RunCommand(click.Command):
    """Remembers whether the job's command line came after `--`, which click takes away."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        rest = super().parse_args(ctx, args)
        job = ctx.params["job"]
        before_job = given[: len(given) - len(job)]
        ctx.params["is_foreign"] = bool(before_job) and before_job[-1] == "--"
        return rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        """Options: those of `run` before the job's name, and those of the job after it."""
        if ctx.params.get("job"):
            return complete_job(ctx, self.params[-1], incomplete)
        return super().shell_complete(ctx, incomplete)


@click.command(
    cls=RunCommand,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS]",
)
@click.option("--reserve", type=RESERVE, help="Memory kept free for other programs, such as 2G or 10% [default: 10%].")
@click.option("--on-pressure", type=click.Choice(["auto", "warn", "shard", "pause", "stop"]), default="auto",
              show_default=True, help="Action allowed; auto shards, else confines, else pauses the job.")  # fmt: skip
@click.option("--pause-timeout", type=SECONDS, default=60.0, show_default=True, metavar="SECS",
              help="Longest pause before the job is stopped.")  # fmt: skip
@click.option("--ui", type=click.Choice(["auto", "full", "plain", "none"]), default="auto", show_default=True,
              help="View: full screen, lines on standard error, or none; auto is full on a terminal.")  # fmt: skip
@screen_options
@click.option("--interval", type=SECONDS, metavar="SECS", help="Sampling interval [default: 0.1 to 1, as needed].")
@click.option("--record", type=click.Path(), metavar="FILE", help="Journal file [default: in ~/.local/state/memwatch].")
@click.option("--no-record", is_flag=True, help="Write no journal.")
@click.option("--priority", type=click.Choice(["low", "normal"]), default="low", show_default=True,
              help="CPU and disk priority of the job; low is nice 5 and a lower I/O priority.")  # fmt: skip
@click.option("--on", "place", type=click.Choice(["local", "ray"]), default="local", show_default=True,
              help="Where the tokenizer runs: on this machine, or as tasks of a Ray cluster.")  # fmt: skip
@click.option("--ray-address", metavar="HOST:PORT", default="auto", show_default=True,
              help="Ray cluster; auto is RAY_ADDRESS, or the cluster of this machine.")  # fmt: skip
@click.option("--unguarded", is_flag=True, help="Run the job without protection if it cannot be watched here.")
@click.argument("job", nargs=-1, type=click.UNPROCESSED, metavar="tokenize INPUT... | -- COMMAND [ARG]...",
                shell_complete=complete_job)  # fmt: skip
def run(
    reserve: AskedReserve | None,
    on_pressure: str,
    pause_timeout: float,
    ui: str,
    is_ascii: bool,
    theme: str,
    interval: float | None,
    record: str | None,
    no_record: bool,
    priority: str,
    place: str,
    ray_address: str,
    unguarded: bool,
    job: tuple[str, ...],
    is_foreign: bool,
) -> int:
    """Run a job under a guard that warns, pauses or stops it before it can freeze the machine.

    \b
    memwatch run tokenize FILE         the tokenizer, which has its own --help
    memwatch run -- COMMAND [ARG]...   any command
    """
    command = _command(job, is_foreign, ray_address if place == "ray" else None)
    ui = chosen_ui(ui, is_ascii, command)
    config = GuardConfig(
        reserve_bytes=None if reserve is None else reserve.size_bytes,
        reserve_fraction=None if reserve is None else reserve.fraction,
        on_pressure="auto" if on_pressure == "shard" else on_pressure,
        pause_timeout_s=pause_timeout,
        interval_s=interval,
        record=None if record is None else os.path.abspath(record),
        keeps_record=not no_record,
        lowers_priority=priority == "low",
        may_be_unguarded=unguarded,
    )
    if ui != "full":
        return _run(Front(config, command, shows_lines=ui == "plain"), command)
    import shutil

    from memwatch.tui.draw.layout import output_columns
    from memwatch.tui.full_screen import FullScreenView

    size = shutil.get_terminal_size()
    columns = output_columns(size.columns)
    config = config._replace(captures_output=True, terminal_rows=size.lines, terminal_columns=columns)
    return _run(Front(config, command, screen=FullScreenView(ScreenOptions(is_ascii, theme), config.record)), command)


def _run(front: Front, command: list[str]) -> int:
    code = front.run()
    if command[1:3] == ["-m", CLUSTER] and front.journal is not None:
        from memwatch.cluster.kept_journals import keep_journal

        keep_journal(front.journal, command[3:])
    return code


def _command(job: tuple[str, ...], is_foreign: bool, ray_address: str | None) -> list[str]:
    if not job:
        raise UsageError("the command is missing; try: memwatch run tokenize FILE, or: memwatch run -- COMMAND")
    if ray_address is not None and (is_foreign or job[0] != "tokenize"):
        raise UsageError("--on ray runs the tokenizer only: memwatch run --on ray tokenize INPUT...")
    if is_foreign:
        return list(job)
    if job[0] == "tokenize":
        ours = {name for option in run.params if isinstance(option, click.Option) for name in option.opts}
        if misplaced := next((word for word in job[1:] if word.partition("=")[0] in ours), None):
            raise UsageError(f"put {misplaced} before tokenize: memwatch run {misplaced} ... tokenize ...")
        if ray_address is not None:
            _tokenizer_for(("--shard-by", "segment", *job[1:]))
            return [sys.executable, "-m", CLUSTER, "--ray-address", ray_address, *job[1:]]
        return [sys.executable, "-m", _tokenizer_for(job[1:]), *job[1:]]
    if is_like_tokenize(job[0]):
        raise UsageError(f"there is no job {job[0]}; did you mean: memwatch run {shown(['tokenize', *job[1:]])}")
    raise UsageError(f"to run a command of your own, put -- before it: memwatch run -- {shown(job)}")


def _tokenizer_for(arguments: Sequence[str]) -> str:
    """The module that runs this command line. Handles --help and usage errors here, without a guard and without a run.
    Raises what click raises for them."""
    from memwatch.tokenize.command import NAME, is_by_segment, tokenize

    context = tokenize.make_context(NAME, list(arguments))
    return CLUSTER if is_by_segment(context.params) else "memwatch.tokenize"
