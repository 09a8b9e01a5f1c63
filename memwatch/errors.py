"""What can go wrong, in words for a person, and the exit code that goes with it.

    MemwatchError            1  something about the input, the output or the machine
    ├── UsageError           2  the command line asks for something that makes no sense
    ├── OutOfSpace         124  stopped for want of disk space; what was made is kept
    ├── Broken             125  memwatch itself failed
    └── Interrupted    128 + N  a signal asked us to stop; what was made is kept

A message is one sentence that says what is wrong and what to do. `exit_with_sentence` is the only place that prints
one and turns it into an exit code.
"""

import os
import signal
import sys
from collections.abc import Callable
from enum import IntEnum


class ExitCode(IntEnum):
    """As GNU timeout and env have them."""

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
    """Names come from outside: a newline or an escape sequence in one must not reach the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in str(text))


def exit_with_sentence(command: Callable[[], int]) -> int:
    """Run a command; print what goes wrong as one sentence and return the exit code."""
    try:
        return command()
    except MemwatchError as error:
        print(f"memwatch: {printable(error)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read our output has gone. Python would complain once more when it flushes at exit.
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
            f"memwatch: something unexpected went wrong ({printable(what)}); MEMWATCH_DEBUG=1 tells more",
            file=sys.stderr,
        )
        return ExitCode.BROKEN
