"""What the front tells the guard when it starts it."""

import json
from typing import NamedTuple


class GuardConfig(NamedTuple):
    """`front_pid` is set if the front stands for the job: what happens to one happens to the other (stand_in.py).

    `closed_streams`, `ignored_signals` and `blocked_signals` are what memwatch was started with (inherited.py).
    """

    front_pid: int | None = None
    takes_terminal: bool = False  # The job becomes the terminal's foreground process group, as by a shell.
    captures_output: bool = False  # The job gets a terminal of its own, and views show what it writes there.
    terminal_rows: int = 24
    terminal_columns: int = 80
    reserve_bytes: int | None = None  # None: the default for the memory there is
    reserve_fraction: float | None = None  # of the room that counts
    on_pressure: str = "shard"
    pause_timeout_s: float = 60.0
    interval_s: float | None = None  # None: as the danger demands
    record: str | None = None  # None: in the state folder
    keeps_record: bool = True
    lowers_priority: bool = True
    may_be_unguarded: bool = False  # Run the job even where memory cannot be read.
    closed_streams: tuple[int, ...] = ()
    ignored_signals: tuple[int, ...] = ()
    blocked_signals: tuple[int, ...] = ()

    def to_json(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> "GuardConfig":
        data = json.loads(text)
        lists = ("closed_streams", "ignored_signals", "blocked_signals")
        return cls(**{**data, **{name: tuple(data[name]) for name in lists}})
