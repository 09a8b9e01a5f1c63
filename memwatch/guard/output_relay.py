"""Passes the job's output on to the views while the guard waits, and its tail to the journal."""

import selectors
import time

from memwatch.guard.event_stream import EventStream
from memwatch.guard.job_output import JobOutput
from memwatch.journal.events import Event, output_event


class OutputRelay:
    """`terminal_fd` is the guard's end of the job's terminal; None: the output is not captured, and all is a no-op."""

    def __init__(self, terminal_fd: int | None, selector: selectors.BaseSelector, events: EventStream) -> None:
        self._output = None if terminal_fd is None else JobOutput(terminal_fd)
        self._selector = selector
        self._events = events
        if self._output is not None:
            selector.register(self._output, selectors.EVENT_READ, self._read)

    @property
    def due_s(self) -> float:
        """When `pass_on` is to be called."""
        return float("inf") if self._output is None else self._output.due_s

    def pass_on(self) -> None:
        """Send to the views what has come since the last call."""
        if self._output is not None:
            for piece in self._output.pieces(time.monotonic()):
                self._events.output(piece)

    def journal_tail(self) -> None:
        """With every action, and at the end: what the job wrote last."""
        if self._output is not None:
            self._events.output_tail(self._output.tail)

    def finish(self) -> None:
        """Called at the job's end: pass on what is still in the terminal, and journal the tail."""
        if self._output is not None:
            self._output.read_remaining()
            self.pass_on()
            self.journal_tail()

    def greeting(self) -> list[Event]:
        """For a view that attaches: what the pane shows at that moment."""
        return [] if self._output is None else [output_event(time.time(), self._output.tail, tail=True)]

    @property
    def is_captured(self) -> bool:
        return self._output is not None

    def unread(self) -> tuple[str, bool]:
        """What came since the last call, to look for progress in; and whether its beginning is missing."""
        return ("", False) if self._output is None else self._output.unread()

    def resize(self, rows: int, columns: int) -> None:
        if self._output is not None:
            self._output.resize(rows, columns)

    def _read(self) -> None:
        assert self._output is not None
        self._output.take()
        if not self._output.is_open:
            self._selector.unregister(self._output)
