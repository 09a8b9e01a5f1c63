"""The dead-man's timer: what the watcher does about a guard that no longer beats while it keeps the job paused.

A guard that is stopped (SIGSTOP) or hangs can end no pause. Past the deadline that it has announced, it is woken by
SIGCONT; if that does not help it is killed, and the kernel lets the job run on.
"""

from enum import Enum

# What a busy machine may delay a beat by.
MARGIN_S = 2.0
# A pause without a deadline is the user's, who may end it at any time, but not through a guard that does not answer.
LONGEST_SILENCE_S = 60.0
# After SIGCONT. A guard that is not stopped may be slow because the machine thrashes: it gets longer.
STOPPED_WAIT_S = 2.0
SLOW_WAIT_S = 10.0


class Remedy(Enum):
    """What the watcher does to the guard."""

    NONE = "none"
    WAKE = "wake"
    KILL = "kill"


def remedy(now_s: float, deadline_s: float | None, beat_s: float, woken_s: float | None, is_stopped: bool) -> Remedy:
    """`woken_s` is when the guard was last woken, None if it has beaten since. All times are on one clock."""
    due_s = beat_s + LONGEST_SILENCE_S if deadline_s is None else max(deadline_s, beat_s) + MARGIN_S
    if now_s < due_s:
        return Remedy.NONE
    if woken_s is None:
        return Remedy.WAKE
    wait_s = STOPPED_WAIT_S if is_stopped else SLOW_WAIT_S
    return Remedy.KILL if now_s - woken_s >= wait_s else Remedy.NONE
