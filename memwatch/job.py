"""The connection between a job and its guard: progress goes up, commands come down.

In a script of your own, to be run by `memwatch run -- python script.py`:

    import threading
    from memwatch import job

    rows, short = [], threading.Event()
    job.on_pressure(lambda request: short.set())  # Memory runs short. This is called in a thread of its own.
    for done, row in enumerate(source, 1):
        rows.append(row)
        if short.is_set() or len(rows) == 1_000_000:
            short.clear()
            write_to_disk(rows)
            rows.clear()
        job.progress(done, total, "rows")

Outside memwatch there is no channel, and nothing here does anything: no thread, no socket, no exception. Neither in
children of the script: they have work of their own to report, and would take commands that are not theirs.

MEMWATCH_CHANNEL names a Unix socket that the guard listens on; `@` stands for the NUL byte of an abstract address. The
first process of the job that connects has the channel until it closes it. Both sides write JSON, a line each:

    up      {"event": "hello", "can": ["shard"]}
            {"event": "output", "folder": "/where/files/will/grow"}
            {"event": "progress", "done": 1048576, "total": 4194304, "unit": "bytes", ...}
            {"event": "nodes", "nodes": [{"name": "node7", "state": "working", "workers": 4, "done": 12, ...}]}
            {"event": "journal"}
            {"event": "peak"}
    down    {"command": "shard"}
            {"journal": "/path/of/the/journal.jsonl"}
            {"peak_job_bytes": 310378496}
"""

import atexit
import math
import operator
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from memwatch.channel import VARIABLE, Channel, channel

__all__ = ["HELLO", "VARIABLE", "Channel", "Request", "channel", "on_pressure", "progress"]

HELLO = {"event": "hello", "can": ["shard"]}
PROGRESS_INTERVAL_S = 0.1
CALLBACK_WAIT_S = 5.0  # that the exit of a script waits for a callback; one that waits for the script never returns


class Request(NamedTuple):
    """A request of the guard. `shard`: write out what you hold, and let go of it."""

    command: str
    reason: str = ""


_Callback = TypeVar("_Callback", bound=Callable[[Request], object])


def progress(done: float, total: float | None = None, unit: str = "") -> None:
    """Say how far the job is, as often as you like: ten a second are sent, and the last one at the latest at exit.

    A value that is not a number is ignored.
    """
    script = _script()
    if script is not None:
        script.progress(done, total, unit)


def on_pressure(callback: _Callback) -> _Callback:
    """Have `callback(request)` called, in a thread of its own, when memory runs short. Also fit for a decorator.

    It is called once for each request. An exception in it is printed on standard error, and the script continues.
    """
    script = _script()
    if script is not None:
        script.add(callback)
    return callback


class _Script:
    """The other people's script that this is imported into."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._inode = os.fstat(channel.fileno()).st_ino
        self._lock = threading.RLock()  # A signal handler may report progress, too, in the midst of this.
        self._callbacks: list[Callable[[Request], object]] = []
        self._calling = threading.Lock()  # held while callbacks run, and from the exit of the script on
        self._held: dict[str, Any] | None = None  # progress that was not sent, for it was too early
        self._sent_s = float("-inf")
        self._was_complete = False

    def progress(self, done: object, total: object, unit: object) -> None:
        number, whole = _number(done), _number(total)
        if number is None:
            return
        message = {"event": "progress", "done": number, "total": whole, "unit": str(unit)[:40]}
        is_complete = whole is not None and number >= whole
        with self._lock:
            self._held = message
            if time.monotonic() - self._sent_s >= PROGRESS_INTERVAL_S or (is_complete and not self._was_complete):
                self._send_held()
            self._was_complete = is_complete

    def exit(self) -> None:
        """Send the last progress, and let a callback complete: Python aborts if its exit cuts off one that prints."""
        with self._lock:
            self._send_held()
        self._calling.acquire(timeout=CALLBACK_WAIT_S)

    def add(self, callback: Callable[[Request], object]) -> None:
        with self._lock:
            self._callbacks.append(callback)
            if len(self._callbacks) > 1:
                return
            with suppress(RuntimeError):  # No more threads for this user: then nobody listens, and nothing is promised.
                threading.Thread(target=self._listen, name="memwatch", daemon=True).start()
                self._send(HELLO)

    def forget(self) -> None:
        self._channel.close()

    def _send_held(self) -> None:
        if self._held is not None and self._send(self._held):
            self._held = None
            self._sent_s = time.monotonic()

    def _send(self, message: dict[str, Any]) -> bool:
        # A script that makes itself a daemon closes everything it does not know, and opens something else there.
        try:
            is_ours = os.fstat(self._channel.fileno()).st_ino == self._inode
        except OSError:
            is_ours = False
        return is_ours and self._channel.is_open and self._channel.send(message)

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._channel.fileno(), select.POLLIN)
        while self._channel.is_open:
            poll.poll()
            # One that came twice while the last was seen to asks for nothing more.
            requests = {request: None for request in map(_request, self._channel.receive()) if request is not None}
            with self._calling:
                for request in requests:
                    for callback in list(self._callbacks):
                        _call(callback, request)


def _request(message: dict[str, Any]) -> Request | None:
    command, reason = message.get("command"), message.get("reason")
    return Request(command, reason if isinstance(reason, str) else "") if isinstance(command, str) else None


def _call(callback: Callable[[Request], object], request: Request) -> None:
    try:
        callback(request)
    except BaseException as error:  # Also what is no Exception, such as a panic in Rust: the script does not end by it.
        from memwatch.errors import printable

        with suppress(Exception):
            print(f"memwatch: on_pressure: {printable(f'{type(error).__name__}: {error}')}", file=sys.stderr)


def _number(value: Any) -> int | float | None:
    """Accepts numpy's numbers too. None if it is not a number."""
    try:
        number: int | float = operator.index(value)
    except TypeError:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
    return number if abs(number) < 1e300 and not math.isnan(number) else None


_the_script: _Script | None = None
_looked = False
_looking = threading.RLock()


def _script() -> _Script | None:
    global _the_script, _looked
    if _looked:
        return _the_script
    with _looking:
        if not _looked:
            taken = channel()
            if taken is not None:
                _the_script = _Script(taken)
                atexit.register(_exit)
            _looked = True
    return _the_script


def _exit() -> None:
    if _the_script is not None:
        _the_script.exit()


def _forget() -> None:
    """In a child. Its copy is closed: it takes no message, and the guard sees when the script itself has exited."""
    global _the_script, _looked
    if _the_script is not None:
        _the_script.forget()
    _the_script, _looked = None, True


os.register_at_fork(after_in_child=_forget)
