"""Where a partial run stands, and the folder it lives in.

    DIR/.memwatch-partial/checkpoint.json    written to a new file and renamed, after the data it describes is on disk
    DIR/.memwatch-partial/*.part             the growing files (outputs.py)

The folder DIR itself is locked while a run works in it.
"""

import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.output_state import OutputState
from memwatch.whole_file import sync_folder, whole_file

SCHEMA = 3
PARTIAL = ".memwatch-partial"
# A run that was just killed may take a moment to let go.
LOCK_PATIENCE_S = 3.0


@dataclass(slots=True)
class Totals:
    """What the run has seen so far. `marks` tie places in the input to places in the output, for `verify`."""

    text_bytes: int = 0
    file_bytes: int = 0
    train_tokens: int = 0
    val_tokens: int = 0
    documents: int = 0
    missing_texts: int = 0
    replaced_bytes: int = 0
    inexact_cuts: int = 0
    records: int = 0
    bad_records: int = 0
    bad: list[dict[str, Any]] = field(default_factory=list)  # the first of them: file, line, problem
    finished_inputs: list[list[Any]] = field(default_factory=list)  # number, bytes of text, checksum, member
    engines: list[str] = field(default_factory=list)
    seconds: float = 0.0
    peak_rss_bytes: int = 0
    val_ranges: list[list[int]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    mark_stride_bytes: int = 0
    # What the workers did, in seconds of all of them together.
    time_s: dict[str, float] = field(
        default_factory=lambda: {"reading": 0.0, "encoding": 0.0, "writing": 0.0, "waiting": 0.0}
    )

    def with_own_lists(self) -> "Totals":
        """A copy that later changes do not reach. The items of a list change only at its end."""
        ranges = [*self.val_ranges[:-1], *([*each] for each in self.val_ranges[-1:])]
        return replace(
            self, engines=[*self.engines], val_ranges=ranges, marks=[*self.marks], time_s={**self.time_s},
            bad=[*self.bad], finished_inputs=[*self.finished_inputs],
        )  # fmt: skip

    @property
    def tokens(self) -> int:
        return self.train_tokens + self.val_tokens


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a run stands: everything that the same command needs to resume it."""

    settings: dict[str, Any]
    inputs: list[dict[str, Any]]
    position: ReadPosition
    outputs: OutputState
    totals: Totals
    replaces: tuple[str, ...] = ()  # finished files of an earlier run, to be removed when this one has some
    finished: bool = False

    def to_json(self) -> str:
        return json.dumps({"schema": SCHEMA, **_fields(self)}, default=_fields)

    @classmethod
    def from_json(cls, text: str) -> "Checkpoint":
        data = json.loads(text)
        if data.pop("schema") != SCHEMA:
            raise ValueError("written by another version of memwatch")
        outputs = OutputState.from_json(data["outputs"])
        names = [name for record in outputs.complete for name in (record.name, record.part)]
        if any(name != os.path.basename(name) for name in [*names, *data["replaces"]]):
            raise ValueError("it names files in other folders")  # They would be renamed, or removed.
        return cls(
            settings=data["settings"],
            inputs=data["inputs"],
            position=ReadPosition.from_json(data["position"]),
            outputs=outputs,
            totals=Totals(**data["totals"]),
            replaces=tuple(data["replaces"]),
            finished=data["finished"],
        )


def _fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass, without the copies of `asdict`, which take longer than the rest of a checkpoint."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def save(checkpoint: Checkpoint, partial: Path) -> None:
    """Replace the checkpoint of a partial run, in one step."""
    with whole_file(partial / "checkpoint.json") as file:
        file.write(checkpoint.to_json().encode())


def load(partial: Path) -> Checkpoint | None:
    """The checkpoint of a partial run; None if there is none. Raises MemwatchError if it cannot be read."""
    check_is_own(partial)
    try:
        return Checkpoint.from_json((partial / "checkpoint.json").read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MemwatchError(f"cannot read {partial / 'checkpoint.json'} ({error}); --fresh starts over") from error


def make_partial_folder(partial: Path) -> None:
    """Made for this user alone, because a run trusts what it finds there."""
    partial.mkdir(mode=0o700, exist_ok=True)
    check_is_own(partial)
    sync_folder(partial.parent)


def check_is_own(partial: Path) -> None:
    """Raise if the partial folder is a link or another user's: where others may write, it could lead anywhere."""
    try:
        status = partial.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise MemwatchError(f"{partial} is a symbolic link; remove it")
    if status.st_uid != os.geteuid() and os.geteuid() != 0:
        raise MemwatchError(f"{partial} belongs to another user; choose another --out")


def drop_partial_folder(partial: Path) -> None:
    """Remove a partial run's folder; does nothing if there is none."""
    check_is_own(partial)
    if partial.is_dir():
        # The checkpoint goes first: without it, the rest means nothing to anyone.
        (partial / "checkpoint.json").unlink(missing_ok=True)
        shutil.rmtree(partial)
        sync_folder(partial.parent)


def drop_partial_run(partial: Path) -> None:
    """Remove a partial run, with the shards it has given their final names already."""
    try:
        checkpoint = load(partial)
    except MemwatchError:
        checkpoint = None
    if checkpoint is not None:
        for record in checkpoint.outputs.complete:
            (partial.parent / record.name).unlink(missing_ok=True)
    drop_partial_folder(partial)


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold the folder for one run. The lock is the kernel's and goes with the process, however that ends."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(fd, folder)
        yield fd
    finally:
        os.close(fd)


def _lock(fd: int, folder: Path) -> None:
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise MemwatchError(
                    f"another memwatch run writes to {folder}; wait for it, or choose another --out"
                ) from error
            time.sleep(0.05)
        except OSError:
            return  # A file system without locks, such as some network ones.
