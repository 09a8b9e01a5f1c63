"""The commands of memwatch, each loaded only when it is used: a wrapped command must not wait for the others."""

import importlib
from collections.abc import Sequence

import click

from memwatch import __version__
from memwatch.errors import UsageError

# In the order in which help shows them, with the line it shows.
COMMANDS = {
    "run": "Run a job under a guard.",
    "estimate": "Estimate tokens, disk space, memory and time.",
    "diagnose": "Explain why the machine froze or a job was killed.",
    "attach": "Watch a running job.",
    "watch": "Show the machine's memory, without a job.",
    "runs": "List runs and how they ended.",
    "replay": "Replay a run on the screen.",
    "export": "Write a run as CSV, JSON or HTML.",
    "record": "Record the machine's memory, for a later diagnose.",
    "verify": "Check tokenized output against its manifest.",
    "doctor": "Show what this machine supports and what is missing.",
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"memwatch.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *rest = args
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise UsageError(f"there is no command {name}; {suggestion(name, rest)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def suggestion(name: str, rest: list[str]) -> str:
    """A suggestion for `memwatch NAME REST...`, which is no command."""
    import difflib
    import shutil

    if is_like_tokenize(name):
        return f"did you mean: memwatch run {shown(['tokenize', *rest])}"
    if close := difflib.get_close_matches(name, COMMANDS, 1):
        return f"did you mean: memwatch {shown([close[0], *rest])}"
    if shutil.which(name) is not None:
        return f"to run a command under guard: memwatch run -- {shown([name, *rest])}"
    return "memwatch --help lists the commands"


def is_like_tokenize(name: str) -> bool:
    """Whether `tokenize` was meant: tokenise, tokenizer, Tokenize, tokeniz."""
    return name.lower().startswith("token")


def shown(words: Sequence[str]) -> str:
    """A command line that can be pasted into a shell."""
    import shlex

    return shlex.join(words)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="memwatch %(version)s")
def memwatch() -> None:
    """Run memory-hungry jobs without freezing your machine."""
