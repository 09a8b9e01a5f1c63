"""memwatch doctor: what this machine offers, and what is missing.

ok       memory           15.6 GiB, 8.8 GiB of it available
missing  pressure (PSI)   /proc/pressure/memory is empty; PSI is off
                          PSI is the most reliable sign of ...
"""

import json
import shutil
import textwrap
from dataclasses import asdict

import click

from memwatch.errors import ExitCode, printable

WIDTH = 110


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with a list of checks.")
def doctor(as_json: bool) -> int:
    """Show what this machine supports and what is missing.

    Exit code 0 if memwatch can protect this machine, 3 if it cannot ("problem"). "missing" is optional.
    """
    from memwatch.cli.checks import Check, Word, all_checks

    checks: list[Check] = all_checks()
    problems = [check.name for check in checks if check.word == Word.PROBLEM]
    if as_json:
        click.echo(json.dumps({"schema": 1, "checks": [asdict(check) for check in checks]}, indent=2))
    else:
        for check in checks:
            click.echo(shown(check.word, check.name, check.found, [check.why, check.advice]))
        verdict = (
            f"memwatch cannot protect this machine until this is solved: {', '.join(problems)}"
            if problems
            else "memwatch can protect this machine; what is missing above is optional"
            if any(check.word == Word.MISSING for check in checks)
            else "memwatch can protect this machine"
        )
        click.echo(verdict)
    return ExitCode.PROBLEM_FOUND if problems else ExitCode.OK


def shown(word: str, name: str, found: str, remarks: list[str]) -> str:
    """A check in lines that fit into the terminal; what is below the first is indented."""
    head = f"{word:<8} {name:<16} "
    indent = " " * len(head)
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)
    # Names of packages and files have hyphens in them.
    wrapper = textwrap.TextWrapper(width, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False)
    lines = wrapper.wrap(printable(found))
    wrapper.initial_indent = indent
    sentences = ". ".join(_capital(printable(remark)) for remark in remarks if remark)
    return "\n".join([*lines, *wrapper.wrap(f"{sentences}." if sentences else "")])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
