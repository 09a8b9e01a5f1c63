"""What the guard of a job last found, read from the end of its journal by whoever shows it to others."""

import json
from dataclasses import dataclass
from typing import Any

from memwatch.journal.run_list import changes_pause

READ_BYTES = 1 << 20


@dataclass(slots=True)
class GuardReadings:
    """All None while unknown. `done_bytes` is the job's own progress."""

    path: str
    level: str | None = None
    headroom_bytes: int | None = None
    is_paused: bool = False
    done_bytes: int | None = None
    stop_reason: str | None = None
    is_uneventful: bool = True  # no warning, no action
    _offset: int = 0

    def begin(self) -> None:
        """Start with the next segment: forget what was read of the one before."""
        self.refresh()
        self.is_uneventful, self.stop_reason = True, None

    def refresh(self) -> None:
        """Read the lines that were added."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                while data := file.read(READ_BYTES):
                    complete = data.rfind(b"\n") + 1
                    if not complete:
                        return
                    for line in data[:complete].splitlines():
                        self._take(line)
                    self._offset += complete
                    file.seek(self._offset)
        except FileNotFoundError:
            return  # The guard has not begun to write.

    def _take(self, line: bytes) -> None:
        if b'"event":"sample"' in line[:64]:
            return  # Most of the journal, and nothing in it is needed here.
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError:
            return
        match event.get("event"):
            case "verdict":
                self.level = str(event.get("level"))
                self.is_uneventful = self.is_uneventful and self.level not in ("warn", "act")
                self.headroom_bytes = _whole(event.get("headroom_bytes"))
            case "progress":
                self.done_bytes = _whole(event.get("done"))
            case "action":
                self.is_uneventful = False
                if changes_pause(event):
                    self.is_paused = event.get("action") == "pause"
                if event.get("action") in ("stop", "kill") and event.get("by") == "guard":
                    self.stop_reason = self.stop_reason or str(event.get("reason"))


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None
