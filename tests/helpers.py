"""What several tests need."""

import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memwatch.on_linux import IS_LINUX

linux_only = pytest.mark.skipif(not IS_LINUX, reason="MEMWATCH_PROBE=portable: only Linux has what this tests")

# A hang is a failure; how long something takes is not. An emulated machine (tests/vm) takes many times as long.
HANG_S = int(os.environ.get("MEMWATCH_TEST_HANG_S", "120"))


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


def memwatch(*arguments: object, **options: Any) -> Finished:
    command = [sys.executable, "-m", "memwatch", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, **options)
    return Finished(result.returncode, result.stdout, result.stderr)


def error_of(finished: Finished) -> str:
    """The one sentence that a failure ends with. Progress lines may stand before it; a traceback may not.

    A run that took long, as one does on a busy machine, has a closing line after it.
    """
    assert "Traceback" not in finished.err, finished.err
    lines = finished.err.strip().splitlines()
    last = next(line for line in reversed(lines) if not line.startswith("memwatch: the job ended with code"))
    assert last.startswith(("memwatch: ", "Error: ")), finished.err
    return last


def read_tokens(path: Path, dtype: str = "<u2", offset: int = 0) -> np.ndarray:
    return np.fromfile(path, dtype=dtype, offset=offset)


def cached_bytes(path: Path) -> int:
    """How much of a file is in the page cache (mincore)."""
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
        pages = -(-len(mapped) // mmap.PAGESIZE)
        flags = (ctypes.c_ubyte * pages)()
        # A read-only mmap tells its address only by way of numpy.
        view = np.frombuffer(mapped, dtype=np.uint8)
        assert libc.mincore(ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(len(mapped)), flags) == 0
        del view
        return sum(flag & 1 for flag in flags) * mmap.PAGESIZE


def open_to_others(folder: Path) -> None:
    """pytest's own folders are closed to other users, which would prove nothing."""
    while folder.parent != Path(tempfile.gettempdir()).resolve() and folder != folder.parent:
        folder.chmod(0o755)
        folder = folder.parent
    folder.chmod(0o755)
