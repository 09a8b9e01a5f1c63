"""A run on many machines as its output folder shows it: nothing of this machine, and nobody to send a command to."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable

from memwatch.errors import MemwatchError
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from memwatch.tui.sources import Event


class FolderSource:
    kind = ViewKind.ATTACH

    def __init__(self, look: Callable[[float], list[Event]], every_s: float) -> None:
        """`look` reads the folder and returns it as events; an `exit` is the last one."""
        self._look = look
        self._every_s = every_s
        self._model = RunModel(ViewKind.ATTACH)
        self._is_left = threading.Event()
        self.is_over = False
        self.failure: MemwatchError | None = None

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        # Textual knows its app by the context, and a thread has one of its own: timers that it sets would fail.
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()

        def arrived(events: list[Event]) -> None:
            for event in events:
                self._model.take(event)
            self.is_over = any(event["event"] == "exit" for event in events)
            if self.is_over or self.failure is not None:
                self.stop()
                ended()
            else:
                changed(events)

        def follow() -> None:
            """In a thread of its own, because a bucket may answer late; one that nobody waits for at the end."""
            while not self._is_left.is_set():
                events: list[Event] = []
                try:
                    events = self._look(time.time())
                except MemwatchError as error:
                    self.failure = error
                except OSError as error:
                    self.failure = MemwatchError(f"cannot read {error.filename or 'the folder'}: {error.strerror}")
                try:
                    loop.call_soon_threadsafe(arrived, events, context=context)
                except RuntimeError:
                    return  # The screen was left meanwhile.
                self._is_left.wait(self._every_s)

        threading.Thread(target=follow, name="folder-reader", daemon=True).start()

    def stop(self) -> None:
        self._is_left.set()

    def picture(self) -> Picture:
        return self._model.picture(time.time())

    def send(self, message: Event) -> bool:
        return False
