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
    head = f"{word:<8} {name:<16} "
    sentences = ". ".join(_capital(printable(remark)) for remark in remarks if remark)
    lines = [head + printable(found)]
    if sentences:
        indent = " " * len(head)
        width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)
        lines.append(textwrap.fill(f"{sentences}.", width, initial_indent=indent, subsequent_indent=indent))
    return "\n".join(lines)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
