"""memwatch diagnose --script: the lines of a Python script that hold all data in memory.

prepare.py holds all data in memory in 2 places
line 15   all_tokens.extend(enc.encode_ordinary(chunk))
HOLDS     every token of the input, ...
INSTEAD   ...
"""

import difflib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from memwatch.cli.diagnosis_text import block, width
from memwatch.diagnose.collect.fix_proof import FixProof, prove
from memwatch.diagnose.collect.input_forecast import InputForecast, forecast_of
from memwatch.diagnose.scripts.hits import Hit, Pattern
from memwatch.diagnose.scripts.notebooks import read_notebook
from memwatch.diagnose.scripts.read import ScriptReading, follow_script
from memwatch.diagnose.scripts.stream_fix import NotSure, streamed_source
from memwatch.errors import ExitCode, MemwatchError, UsageError, printable
from memwatch.model.units import MIB, format_number, format_size

FIXED_ENDING = "_streamed"
MOST_BYTES = 4 * MIB
SHOWN_NOT_FOLLOWED = 5
_OF_TOKENS = (Pattern.TOKEN_LIST, Pattern.WHOLE_ENCODE, Pattern.LIST_TO_ARRAY)


def show_script(path: str, input_path: str | None, as_json: bool) -> int:
    reading, places = _read(path)
    forecast = None if input_path is None else forecast_of(input_path)
    if as_json:
        found = {
            "schema": 1,
            "script": path,
            "hits": [asdict(hit) for hit in reading.hits],
            "not_followed": [asdict(each) for each in reading.not_followed],
            "input": None if forecast is None else asdict(forecast),
        }
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo("\n".join(lines_of(path, reading, places, forecast, width())))
    return ExitCode.PROBLEM_FOUND if reading.hits else ExitCode.OK


def lines_of(
    path: str, reading: ScriptReading, places: Sequence[str], forecast: InputForecast | None, columns: int
) -> list[str]:
    """`places`: what to call each line, where it is not its number: of a notebook, the cell and the line in it."""
    name, hits = printable(os.path.basename(path)), reading.hits
    if reading.is_all_clear:
        lines = [f"{name}: no line holds all data in memory; every call in it is known"]
    elif not hits:
        lines = [f"{name}: found no line that holds all data in memory, but could not follow all of it"]
    else:
        lines = [f"{name} holds all data in memory in {format_number(len(hits), 'place')}"]
    for hit in hits:
        lines += ["", *block(f"line {hit.line}", [_placed(hit.line, hit.source, places)], columns)]
        lines += block("HOLDS", [hit.holds], columns) + block("INSTEAD", [hit.instead], columns)
    if reading.not_followed:
        shown = [f"line {each.line}: {each.why}" for each in reading.not_followed[:SHOWN_NOT_FOLLOWED]]
        if (left := len(reading.not_followed) - len(shown)) > 0:
            shown.append(f"and {format_number(left, 'more line')} (--json lists them)")
        lines += ["", *block("NOT KNOWN", shown, columns)]
    if forecast is not None:
        lines += ["", *block("INPUT", forecast.sentences(), columns)]
    if hits or reading.not_followed:
        lines += ["", *block("NEXT", [_next(name, hits)], columns)]
    return lines


def _placed(line: int, source: str, places: Sequence[str]) -> str:
    return f"{source}   ({places[line - 1]})" if 0 < line <= len(places) else source


def _next(name: str, hits: Sequence[Hit]) -> str:
    """The advice for this script: only one that makes tokens can be replaced by memwatch's tokenizer."""
    if any(hit.pattern in _OF_TOKENS for hit in hits):
        return "memwatch run tokenize INPUT needs only a few hundred MiB"
    program = "jupyter nbconvert --to notebook --execute" if name.endswith(".ipynb") else "python"
    return f"memwatch run -- {program} {name}: it is paused or stopped before memory runs out"


def _read(path: str) -> tuple[ScriptReading, tuple[str, ...]]:
    try:
        with open(path, "rb") as file:
            source = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error
    if len(source) > MOST_BYTES:
        raise MemwatchError(f"{path} is larger than {MOST_BYTES // MIB} MiB, the limit for --script")
    try:
        if path.endswith(".ipynb"):
            notebook = read_notebook(source)
            return follow_script(notebook.source), notebook.places
        return follow_script(source), ()
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        raise MemwatchError(f"{path} is not valid Python{where}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        kind = "a notebook" if path.endswith(".ipynb") else "Python"
        raise MemwatchError(f"{path} cannot be read as {kind}: it is not text, or nested too deeply") from error


def fix_script(path: str, input_path: str | None) -> int:
    """--fix: write a rewritten copy beside the script, and prove that it makes the same."""
    script = Path(path)
    if input_path is None:
        raise UsageError("--fix needs --input FILE: the rewritten script is proved on a sample of it")
    if script.suffix != ".py":
        raise UsageError("--fix rewrites Python scripts (.py) only")
    target = script.with_name(f"{script.stem}{FIXED_ENDING}.py")
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
