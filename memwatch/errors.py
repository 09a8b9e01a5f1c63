"""The errors that memwatch reports to its user, and the exit code of each.

    MemwatchError            1  input, output or environment error
    ├── UsageError           2  usage error
    ├── OutOfSpace         124  stopped because the disk is full; partial output is kept
    ├── Broken             125  memwatch itself failed
    └── Interrupted    128 + N  stopped by a signal; partial output is kept

A message is one sentence that says what is wrong and what to do. `exit_with_sentence` is the only place that prints
one and turns it into an exit code.
"""

import os
import signal
import sys
from collections.abc import Callable
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes; those from 124 on are GNU timeout's and env's."""

    OK = 0
    ERROR = 1
    USAGE = 2
    PROBLEM_FOUND = 3
    STOPPED = 124
    BROKEN = 125
    CANNOT_EXECUTE = 126
    NOT_FOUND = 127


class MemwatchError(Exception):
    exit_code: int = ExitCode.ERROR


class UsageError(MemwatchError):
    exit_code = ExitCode.USAGE


class OutOfSpace(MemwatchError):
    exit_code = ExitCode.STOPPED


class Broken(MemwatchError):
    exit_code = ExitCode.BROKEN


class Interrupted(MemwatchError):
    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


def printable(text: object) -> str:
    """File and process names are untrusted: a newline or an escape sequence in one must not reach the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in str(text))


def exit_with_sentence(command: Callable[[], int]) -> int:
    """Run a command; print an error as one sentence and return the exit code."""
    try:
        return command()
    except MemwatchError as error:
        print(f"memwatch: {printable(error)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader of our output has exited. Without this Python prints another error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        if os.environ.get("MEMWATCH_DEBUG"):
            raise
        where = f": {printable(os.fspath(error.filename))}" if isinstance(error.filename, str | bytes) else ""
        print(f"memwatch: {error.strerror or error}{where}", file=sys.stderr)
        return ExitCode.ERROR
    except Exception as error:
        if os.environ.get("MEMWATCH_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        print(
            f"memwatch: unexpected error ({printable(what)}); MEMWATCH_DEBUG=1 shows the traceback",
            file=sys.stderr,
        )
        return ExitCode.BROKEN
