"""A file the user has named for output: there as a whole or not at all."""

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from memwatch.errors import MemwatchError

STANDARD_OUTPUT = "-"


@contextmanager
def output_file(path: str) -> Iterator[TextIO]:
    """Text in UTF-8. What was there under that name is replaced at the end; `-`, pipes and devices are written to.

    A symbolic link is refused: another user may have pointed it at any file.
    """
    try:
        if path == STANDARD_OUTPUT:
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8", newline="")  # Whatever the terminal would have.
            yield sys.stdout
            sys.stdout.flush()
        elif _is_stream(path):
            with open(path, "w", encoding="utf-8", newline="") as file:
                yield file
        else:
            with _replacing(path) as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise MemwatchError(f"cannot write {error.filename or path}: {error.strerror or error}") from error


@contextmanager
def _replacing(path: str) -> Iterator[TextIO]:
    if os.path.islink(path):
        raise MemwatchError(f"{path} is a symbolic link; name the file itself, or - for standard output")
    folder, name = os.path.split(path)
    unfinished = os.path.join(folder, f".{name}.{os.getpid()}.memwatch-partial")
    try:
        with open(unfinished, "x", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:  # Whatever it was, also Ctrl-C: half a file is of no use to anybody.
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def _is_stream(path: str) -> bool:
    """A pipe, a terminal or /dev/null; a folder is none."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise MemwatchError(f"{path} is a folder; name a file in it")
    return not stat.S_ISREG(mode)
