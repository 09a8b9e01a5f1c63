"""Proves a rewritten script on a sample of its input: same bytes, and memory that does not grow with the input.

This runs the user's script, which is why it happens with --fix alone. Both versions run in a temporary folder, on a
sample, with limits on time, memory and file size. Nothing is written beside the original.
"""

import ast
import hashlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from memwatch.diagnose.scripts.stream_fix import NotSure
from memwatch.model.units import GIB, MIB

SAMPLE_BYTES = MIB
TIMES = 8  # the larger run has so many samples one after another
TIME_LIMIT_S = 120
MEMORY_LIMIT_BYTES = 8 * GIB  # of addresses: threads and libraries reserve much that they never use
FILE_LIMIT_BYTES = 2 * GIB
NOISE_SHARE = 0.25  # of what the original grows by; the rest is noise of the allocator
NOISE_BYTES = 2 * MIB
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "HF_HOME", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class FixProof:
    outputs: tuple[str, ...]  # files that are byte-identical
    sample_bytes: int
    original_growth_bytes: int
    fixed_growth_bytes: int


@dataclass(frozen=True, slots=True)
class _Ran:
    """`peak_bytes` is never less than this process held at the fork: the kernel counts what was there before exec. So
    nothing that grows with the sample is held here, neither the sample nor the files: only their SHA-256."""

    files: dict[str, str]
    peak_bytes: int


def prove(script: Path, source: str, fixed: str, input_path: Path) -> FixProof:
    """Raises NotSure with the reason if the proof fails, or cannot be made."""
    sample = _sample(input_path)
    way = _way_in(source, script, input_path)
    runs: dict[tuple[bool, int], _Ran] = {}
    for times in (1, TIMES):
        for is_fixed in (False, True):
            text = fixed if is_fixed else source
            runs[is_fixed, times] = _run(script, text, sample, times, way, "rewritten" if is_fixed else "original")
        original, rewritten = runs[False, times], runs[True, times]
        if not original.files:
            raise NotSure("the original writes no file on the sample, so there is nothing to compare")
        if original.files != rewritten.files:
            names = sorted(set(original.files) ^ set(rewritten.files)) or sorted(original.files)
            raise NotSure(f"the rewritten script does not write the same bytes ({', '.join(names)})")
    growth = {fixed: runs[fixed, TIMES].peak_bytes - runs[fixed, 1].peak_bytes for fixed in (False, True)}
    if growth[True] > NOISE_SHARE * max(growth[False], 0) + NOISE_BYTES:
        raise NotSure("the memory of the rewritten script still grows with its input")
    return FixProof(tuple(sorted(runs[False, 1].files)), len(sample) * TIMES, growth[False], growth[True])


def _sample(path: Path) -> bytes:
    """The beginning of the input, up to the end of a line."""
    with open(path, "rb") as file:
        data = file.read(SAMPLE_BYTES)
    whole, newline, _ = data.rpartition(b"\n")
    return whole + newline or data


def _way_in(source: str, script: Path, input_path: Path) -> str | None:
    """The path in the script that names its input; None if it takes the input as its first argument."""
    tree = ast.parse(source)
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    folders = (script.resolve().parent, Path.cwd())
    named = [text for text in texts if text and any(_is_same(folder / text, input_path) for folder in folders)]
    outside = [text for text in texts if text.startswith(("/", "~")) and text not in named and "\n" not in text]
    absolute = [text for text in outside if len(text) > 1]
    if absolute:
        raise NotSure(f"it names the absolute path {sorted(absolute)[0]}, which a trial run must not touch")
    if named:
        if os.path.isabs(named[0]) or ".." in Path(named[0]).parts:
            raise NotSure("it names its input by a path outside its folder; make it relative for --fix")
        return named[0]
    if "sys.argv" in source or ".add_argument(" in source:
        return None
    raise NotSure("it does not name the --input file, and takes no argument, so it cannot be run on a sample")


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.is_file() and path.samefile(other)
    except (OSError, ValueError):
        return False


def _run(script: Path, text: str, data: bytes, times: int, way: str | None, which: str) -> _Ran:
    with tempfile.TemporaryDirectory(prefix="memwatch-fix-") as name:
        folder = Path(name)
        copy, sample = folder / script.name, folder / (way or "sample.txt")
        sample.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
        with open(sample, "wb") as file:
            for _ in range(times):
                file.write(data)
        command = [sys.executable, str(copy), *([] if way is not None else [str(sample)])]
        peak_bytes = _confined(command, folder, script, which)
        files = {
            str(path.relative_to(folder)): _sha256(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path not in (copy, sample) and "__pycache__" not in path.parts
        }
        return _Ran(files, peak_bytes)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _confined(command: list[str], folder: Path, script: Path, which: str) -> int:
    """Run the script and return its peak memory. The time limit kills its whole session."""
    environment = {key: os.environ[key] for key in _ENVIRONMENT if key in os.environ}
    environment |= {"PYTHONPATH": str(script.resolve().parent), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            start_new_session=True, preexec_fn=_limits,
        )  # fmt: skip
        timer = threading.Timer(TIME_LIMIT_S, _end_session, (process.pid,))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            timer.cancel()
            _end_session(process.pid)  # What it left behind.
            process.returncode = 0  # wait4 has reaped it.
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGKILL:
            raise NotSure(f"the {which} script did not end within {TIME_LIMIT_S} s on a sample")
        if code != 0:
            errors.seek(0)
            last = errors.read()[-4096:].decode(errors="replace").strip().rpartition("\n")[2]
            raise NotSure(f"the {which} script fails on a sample of the input: {last or f'exit code {code}'}")
    return usage.ru_maxrss * 1024


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT_BYTES, FILE_LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_session(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
