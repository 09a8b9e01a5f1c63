"""Finds the journal of a run, by what people call it."""

from pathlib import Path

from memwatch.errors import MemwatchError, UsageError
from memwatch.journal.folder import SUFFIX, runs_path
from memwatch.journal.reader import parse_event
from memwatch.journal.run_list import journals
from memwatch.model.units import MIB

LAST = "last"
HEAD_BYTES = MIB


def journal_of(run: str) -> Path:
    """`run` is an id as `memwatch runs` shows it or the unique beginning of one, "last", or a journal's path."""
    if run.endswith(SUFFIX) or "/" in run:
        return _file(Path(run), is_named_so=run.endswith(SUFFIX))
    found = journals(Path(runs_path()))
    if run == LAST:
        if not found:
            raise MemwatchError(f"no runs yet: {runs_path()} has no journals")
        return found[-1]
    matching = [path for path in found if path.stem.startswith(run)]
    exact = [path for path in matching if path.stem == run]
    if len(matching) > 1 and not exact:
        raise UsageError(f"{run} matches {len(matching)} runs; give more characters of the id, as in memwatch runs")
    if not matching:
        raise MemwatchError(f"there is no run {run}; list the runs with: memwatch runs")
    return (exact or matching)[0]


def _file(path: Path, is_named_so: bool) -> Path:
    if not path.is_file():
        raise MemwatchError(f"{path} is not a journal: there is no such file")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error
    # What is named like a journal may be one that was torn, or just begun.
    if not is_named_so and not any(parse_event(line) for line in head.splitlines()):
        raise MemwatchError(f"{path} is not a journal of memwatch")
    return path
