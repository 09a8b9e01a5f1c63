"""Runs a function in a forked process of its own and returns what it returns.

For the coordinator, which forks its workers: it must not talk to a bucket itself, because obstore's threads do not
survive a fork. In the fork of a process that never used obstore it works.
"""

import os
import pickle
import signal
from collections.abc import Callable, Iterable
from typing import TypeVar

from memwatch.errors import Broken, MemwatchError, UsageError
from memwatch.storage.address import is_remote
from memwatch.tokenize.interrupts import ASK_FOR_SHARDS, ASK_TO_STOP

T = TypeVar("T")


def apart_if_remote(addresses: Iterable[str], call: Callable[[], T]) -> T:
    """The result of `call`, in a process of its own if any of the addresses is in a bucket."""
    return apart(call) if any(map(is_remote, addresses)) else call()


def apart(call: Callable[[], T]) -> T:
    """The result of `call` in a forked process. A MemwatchError that it raises there is raised here again."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _answer(call, writer)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as answer:
            data = answer.read()
    finally:
        os.kill(pid, signal.SIGKILL)  # Ours, and not waited for yet: an interrupted reader does not leave it.
        os.waitpid(pid, 0)
    if not data:
        raise Broken("the process that reads the bucket was killed; repeat the same command")
    result, problem, is_usage = pickle.loads(data)
    if problem is not None:
        raise (UsageError if is_usage else MemwatchError)(problem)
    value: T = result
    return value


def _answer(call: Callable[[], object], writer: int) -> None:
    """In the child: never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (*ASK_TO_STOP, ASK_FOR_SHARDS):
            signal.signal(number, signal.SIG_IGN)  # The coordinator decides, and ends this process.
        try:
            answer: tuple[object, str | None, bool] = (call(), None, False)
        except MemwatchError as error:
            answer = (None, str(error), isinstance(error, UsageError))
        except Exception as error:
            answer = (None, f"cannot read the input: {type(error).__name__}: {error}", False)
        with os.fdopen(writer, "wb") as file:
            file.write(pickle.dumps(answer))
    finally:
        os._exit(0)
