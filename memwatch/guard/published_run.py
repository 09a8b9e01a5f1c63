"""A run as guards publish it for each other (registry.py): to JSON, and from what anybody may have written there."""

import time

from memwatch.decide.turns import GuardedRun, RunState
from memwatch.errors import printable

MOST_CHARACTERS = 64
MOST_PATH_CHARACTERS = 512
MOST_MEMORY_BYTES = 1 << 50


def to_json(run: GuardedRun) -> dict[str, object]:
    """What a guard publishes of its run."""
    return {
        "run": run.run_id[:MOST_CHARACTERS],
        "command": run.command[:MOST_CHARACTERS],
        "state": run.state.value,
        "job_bytes": run.job_bytes,
        "peak_bytes": run.peak_bytes,
        "grew_s": run.grew_s,
        "resumed_s": run.resumed_s,
        "room": run.room,
        "cgroups": list(run.cgroups),
    }


def from_json(value: dict[str, object], pid: int, start_ticks: int, is_stranger: bool) -> GuardedRun | None:
    """What another guard has published; None if it is not plausible. The caller has checked pid and start time."""
    now_s = time.monotonic()
    state, room, paths = value.get("state"), value.get("room"), value.get("cgroups")
    job_bytes, peak_bytes = _memory(value.get("job_bytes")), _memory(value.get("peak_bytes"))
    if state not in list(RunState) or job_bytes is None or peak_bytes is None or not _is_path(room):
        return None
    if not isinstance(paths, list) or len(paths) > 2 or not all(map(_is_path, paths)):
        return None
    return GuardedRun(
        run_id=_name(value.get("run"), ""),
        command=_name(value.get("command")),
        start_ticks=start_ticks,
        pid=pid,
        state=RunState(str(state)),
        job_bytes=job_bytes,
        peak_bytes=max(peak_bytes, job_bytes),
        grew_s=_clock(value.get("grew_s"), now_s),
        resumed_s=_clock(value.get("resumed_s"), now_s),
        room=str(room),
        cgroups=tuple(map(str, paths)),
        is_stranger=is_stranger,
    )


def _memory(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST_MEMORY_BYTES else None


def _clock(value: object, now_s: float) -> float | None:
    """A time that was; not one to come, which would be "just now" for ever."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= now_s else None


def _name(value: object, otherwise: str = "?") -> str:
    return printable(value)[:MOST_CHARACTERS] if isinstance(value, str) and value else otherwise


def _is_path(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_PATH_CHARACTERS
