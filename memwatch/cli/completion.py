"""What the shell completes after Tab: run ids, and the job of `memwatch run`. README.md says how to switch it on.

click completes commands, options and choices by itself. For the rest it calls the functions here, which are the
`shell_complete` of a parameter.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from memwatch.command_line import complete_files
from memwatch.errors import MemwatchError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem[str]]"]


def complete_runs(*words: str) -> Complete:
    """Run ids, the newest first, after `words` such as "last". A folder that cannot be read has no ids."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
        from pathlib import Path

        from click.shell_completion import CompletionItem

        from memwatch.journal.folder import runs_path
        from memwatch.journal.run_list import journals

        try:
            ids = [path.stem for path in reversed(journals(Path(runs_path())))]
        except (OSError, MemwatchError):
            ids = []
        return [CompletionItem(word) for word in (*words, *ids) if word.startswith(incomplete)]

    return complete


def complete_job(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """What comes after the options of `memwatch run`: `tokenize` and its command line, or any command after `--`."""
    from click.shell_completion import CompletionItem, ShellComplete

    job = ctx.params.get("job") or ()
    if ctx.params.get("is_foreign"):
        return complete_files(ctx, param, incomplete)
    if not job:
        return [CompletionItem("tokenize")] if "tokenize".startswith(incomplete) else []
    if job[0] != "tokenize":
        return []
    from memwatch.tokenize.command import NAME, tokenize

    return ShellComplete(tokenize, {}, NAME, "").get_completions(list(job[1:]), incomplete)
