"""Finds earlier runs of a command in the journals, by their first and last lines alone: a guard must start fast."""

import os

from memwatch.decide.earlier_runs import EarlierRun
from memwatch.journal.folder import SUFFIX, runs_path
from memwatch.journal.reader import parse_event

JOURNALS_READ = 200  # the newest
RUNS_COMPARED = 8
_FIRST_BYTES = 16384
_LAST_BYTES = 8192


def earlier_runs(command: list[str], input_name: str | None) -> list[EarlierRun]:
    """Earlier runs of the same command, the newest first. The input may have another name; the rest must be equal."""
    folder = runs_path()
    try:
        names = sorted((name for name in os.listdir(folder) if name.endswith(SUFFIX)), reverse=True)[:JOURNALS_READ]
    except OSError:
        return []
    wanted = _without_input(command, input_name)
    found: list[EarlierRun] = []
    for name in names:
        run = _run_in(os.path.join(folder, name), len(command), wanted)
        if run is not None:
            found.append(run)
        if len(found) >= RUNS_COMPARED:
            break
    return found


def _run_in(path: str, words: int, wanted: list[str | None]) -> EarlierRun | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        first = os.pread(fd, _FIRST_BYTES, 0).partition(b"\n")[0]
        start = parse_event(first + b"\n") or {}
        command = start.get("command")
        if not isinstance(command, list) or len(command) != words:
            return None
        size = os.fstat(fd).st_size
        last = os.pread(fd, _LAST_BYTES, max(size - _LAST_BYTES, 0)).rstrip(b"\n").rpartition(b"\n")[2]
    except OSError:
        return None
    finally:
        os.close(fd)
    ended = parse_event(last + b"\n") or {}
    name, total, peak = ended.get("input"), ended.get("work_total"), ended.get("peak_job_bytes")
    if ended.get("event") != "exit" or not isinstance(total, int | float) or not total > 0:
        return None
    peak_bytes = peak if isinstance(peak, int) and ended.get("code") == 0 else None
    curve = _curve(ended.get("curve"))
    given = _without_input([str(word) for word in command], name if isinstance(name, str) else None)
    if given != wanted or (peak_bytes is None and not curve):
        return None
    return EarlierRun(float(total), peak_bytes, curve)


def _curve(points: object) -> tuple[tuple[float, int], ...]:
    """Work done and bytes, both rising; nothing if the journal holds anything else."""
    made: list[tuple[float, int]] = []
    for point in points if isinstance(points, list) else []:
        match point:
            case [int() | float() as done, int() as used] if done > (made[-1][0] if made else 0) and used > 0:
                made.append((float(done), used))
            case _:
                return ()
    return tuple(made)


def _without_input(command: list[str], input_name: str | None) -> list[str | None]:
    return [None if input_name and os.path.basename(word) == input_name else word for word in command]
