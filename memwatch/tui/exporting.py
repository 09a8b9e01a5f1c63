"""Exports a run by way of the command for it, in a process of its own: the screen must not wait for a long journal."""

import asyncio
import sys
import time
from pathlib import Path

from memwatch.errors import printable


async def export(run: str, form: str, folder: Path) -> str:
    """Export the run into a new file in `folder`; returns one sentence for the user."""
    target = _free_name(folder, form)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "memwatch", "export", run, f"--{form}", str(target),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    _, said = await process.communicate()
    if process.returncode == 0:
        return f"exported to {printable(target.name)}"
    lines = said.decode(errors="replace").strip().splitlines()
    return f"cannot export: {printable(lines[-1] if lines else process.returncode)}"


def _free_name(folder: Path, form: str) -> Path:
    """A name that does not exist yet."""
    stem = time.strftime("memwatch-%Y%m%d-%H%M%S")
    names = (folder / f"{stem}{extra}.{form}" for extra in ("", *(f"-{number}" for number in range(2, 1000))))
    return next(name for name in names if not name.exists())
