"""memwatch diagnose --script FILE --input FILE --fix: writes a rewritten copy beside the script, and proves it."""

import difflib
from pathlib import Path

import click

from memwatch.diagnose.collect.fix_proof import FixProof, prove
from memwatch.diagnose.scripts.stream_fix import NotSure, streamed_source
from memwatch.errors import ExitCode, MemwatchError, UsageError, printable
from memwatch.model.units import format_size

ENDING = "_streamed"


def fix_script(path: str, input_path: str | None) -> int:
    script = Path(path)
    if input_path is None:
        raise UsageError("--fix needs --input FILE: the rewritten script is proved on a sample of it")
    if script.suffix != ".py":
        raise UsageError("--fix rewrites Python scripts (.py) only")
    target = script.with_name(f"{script.stem}{ENDING}.py")
    if target.exists():
        raise MemwatchError(f"{target} exists already; remove or rename it, and run this again")
    try:
        with open(script, encoding="utf-8", newline="") as file:
            source = file.read()
        fixed = streamed_source(source)
        proof = prove(script, source, fixed, Path(input_path))
    except NotSure as reason:
        raise MemwatchError(f"{path} is not rewritten: {reason}") from reason
    except (SyntaxError, UnicodeDecodeError, OSError) as error:
        raise MemwatchError(f"cannot rewrite {path}: {error}") from error
    try:
        with open(target, "x", encoding="utf-8", newline="") as file:
            file.write(fixed)
    except OSError as error:
        raise MemwatchError(f"cannot write {target}: {error.strerror}") from error
    click.echo("\n".join([*_diff(source, fixed, script.name, target.name), "", *_told(proof, target)]))
    return ExitCode.OK


def _diff(source: str, fixed: str, name: str, new_name: str) -> list[str]:
    lines = difflib.unified_diff(source.splitlines(), fixed.splitlines(), name, new_name, lineterm="")
    return [printable(line) for line in lines]


def _told(proof: FixProof, target: Path) -> list[str]:
    grew = f"{format_size(max(proof.fixed_growth_bytes, 0))} instead of {format_size(proof.original_growth_bytes)}"
    return [
        f"Written: {printable(str(target))}; the original is unchanged.",
        f"Proved on {format_size(proof.sample_bytes)} of the input: same bytes in {', '.join(proof.outputs)};"
        f" from one sample to eight, peak memory grew by {grew}.",
    ]
