"""`python -m tests.guard.quiet_front [--terminal] COMMAND...`: the real front with a screen that shows nothing.

It reads commands for the guard from its standard input, and writes every event to its standard output. With --terminal
the job has a terminal of its own, as it has with a screen that shows something.
"""

import json
import selectors
import sys
from typing import Any

from memwatch.channel import Channel
from memwatch.cli.front import EventHandler, Front
from memwatch.guard.order import GuardConfig


class QuietScreen:
    def follow(self, guard: Channel, handle: EventHandler) -> bool:
        selector = selectors.DefaultSelector()
        selector.register(guard, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while guard.is_open:
            for key, _ in selector.select():
                if key.fileobj is guard:
                    for event in guard.receive():
                        handle(event)
                        _write(event)
                elif line := sys.stdin.readline():
                    guard.send({"command": line.strip()})
                else:
                    selector.unregister(sys.stdin)
        return True

    def hang_up(self) -> None:
        """It has no terminal."""

    def close(self, code: int | None) -> None:
        """It shows nothing."""


def _write(event: dict[str, Any]) -> None:
    if event.get("event") not in ("sample", "verdict", "progress"):
        print(json.dumps(event), flush=True)


if __name__ == "__main__":
    has_terminal = sys.argv[1] == "--terminal"
    config = GuardConfig(keeps_record=False, captures_output=has_terminal)
    sys.exit(Front(config, sys.argv[2 if has_terminal else 1 :], screen=QuietScreen()).run())
