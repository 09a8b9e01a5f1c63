"""memwatch diagnose --script: the lines of a Python script that hold everything in memory.

prepare.py holds everything in memory in 2 places
line 15   all_tokens.extend(enc.encode_ordinary(chunk))
HOLDS     every token of the input, ...
INSTEAD   ...
"""

import json
import os
from dataclasses import asdict

import click

from memwatch.cli.diagnosis_text import block, width
from memwatch.diagnose.collect.input_forecast import forecast_of
from memwatch.diagnose.scripts.hits import Hit
from memwatch.diagnose.scripts.read import read_script
from memwatch.diagnose.scripts.script_forecast import InputForecast
from memwatch.errors import ExitCode, MemwatchError, printable
from memwatch.model.units import MIB

MOST_BYTES = 4 * MIB


def show_script(path: str, input_path: str | None, as_json: bool) -> int:
    hits = _hits(path)
    forecast = None if input_path is None else forecast_of(input_path)
    if as_json:
        its_input = None if forecast is None else asdict(forecast)
        found = {"schema": 1, "script": path, "hits": [asdict(hit) for hit in hits], "input": its_input}
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo("\n".join(lines_of(path, hits, forecast, width())))
    return ExitCode.PROBLEM_FOUND if hits else ExitCode.OK


def lines_of(path: str, hits: list[Hit], forecast: InputForecast | None, columns: int) -> list[str]:
    name = printable(os.path.basename(path))
    if not hits:
        lines = [f"{name}: no line was found that holds everything in memory"]
    else:
        places = "1 place" if len(hits) == 1 else f"{len(hits)} places"
        lines = [f"{name} holds everything in memory in {places}"]
    for hit in hits:
        lines += ["", *block(f"line {hit.line}", [hit.source], columns)]
        lines += block("HOLDS", [hit.holds], columns) + block("INSTEAD", [hit.instead], columns)
    if forecast is not None:
        lines += ["", *block("INPUT", forecast.sentences(), columns)]
    if hits:
        lines += ["", *block("NEXT", ["memwatch run tokenize INPUT makes train.bin in a few hundred MiB"], columns)]
    return lines


def _hits(path: str) -> list[Hit]:
    try:
        with open(path, "rb") as file:
            source = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error
    if len(source) > MOST_BYTES:
        raise MemwatchError(f"{path} has more than {MOST_BYTES // MIB} MiB; that is no script that a person wrote")
    try:
        return read_script(source)
    except SyntaxError as error:
        where = f" in line {error.lineno}" if error.lineno else ""
        raise MemwatchError(f"{path} is not Python that can be read{where}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise MemwatchError(f"{path} is not Python that can be read: it is no text, or nested too deeply") from error
