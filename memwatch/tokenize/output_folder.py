"""The folder that a run writes to: what is there already, whether there is space, and final names for complete files.

A file that is complete is first recorded as such in the checkpoint and then renamed, so that after a crash between the
two the rename is made good (`publish`).
"""

import errno
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memwatch.errors import MemwatchError, OutOfSpace, UsageError
from memwatch.model.units import format_size
from memwatch.storage.address import is_remote
from memwatch.tokenize import manifest as manifests
from memwatch.tokenize.checkpoint import PARTIAL, drop_partial_folder
from memwatch.tokenize.formats.file_names import Names
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.output_state import FileRecord
from memwatch.whole_file import sync_folder

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class OutputFolder:
    """Made where --out says, or beside the first input. `partial` is the folder in it for all that is unfinished."""

    def __init__(self, out: Path | None, inputs: list[Input], names: Names) -> None:
        self._inputs = inputs
        self._names = names
        first = inputs[0]
        self.path = out or (Path.cwd() if first.is_standard_input else Path(first.path).parent)
        self.partial = self.path / PARTIAL
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise UsageError(f"--out {self.path} is a file, not a folder") from error
        except OSError as error:
            raise MemwatchError(f"cannot create the folder {self.path}: {error.strerror}") from error

    @contextmanager
    def errors_as_sentences(self, keeps_partial: bool) -> Iterator[None]:
        """An OSError that is raised inside becomes a sentence for the user: a full disk, or a folder that refuses."""
        try:
            yield
        except OSError as error:
            if error.errno in NO_SPACE:
                kept = "partial output is kept" if keeps_partial else "no output was written"
                raise OutOfSpace(
                    f"the disk of {self.path} is full ({error.strerror}); {kept}: "
                    "free disk space and repeat the same command to resume"
                ) from error
            raise MemwatchError(f"cannot write to {self.path}: {error.strerror or error}") from error

    def finished_files(self) -> list[str]:
        """What an earlier run made here, by its manifest and by its names. Nothing else is ever replaced."""
        found = {path.name for path in self.path.iterdir() if self._names.may_be_ours(path.name)}
        if (self.path / manifests.NAME).exists():
            listed = {record["name"] for record in manifests.load(str(self.path))["files"]}
            found |= {name for name in listed if (self.path / name).is_file() and name == Path(name).name}
            found.add(manifests.NAME)
        local = [source for source in self._inputs if not source.is_standard_input and not is_remote(source.path)]
        for source, name in itertools.product(local, found):
            if os.path.samefile(source.path, self.path / name):
                raise UsageError(f"the output would overwrite the input {source.path}; choose another --out")
        return sorted(found)

    def check_space(self, needed_bytes: int) -> None:
        """Raise OutOfSpace if so much does not fit on the disk."""
        status = os.statvfs(self.path)
        free_bytes = status.f_bavail * status.f_frsize
        if needed_bytes > free_bytes:
            raise OutOfSpace(
                f"the output needs about {format_size(needed_bytes)} and {self.path} has {format_size(free_bytes)} "
                "free; free disk space, or choose another --out"
            )

    def publish(self, complete: tuple[FileRecord, ...], replaces: tuple[str, ...]) -> None:
        """Give complete files their final names; those of the earlier run that they replace are removed first."""
        if complete:
            for name in set(replaces) - {record.name for record in complete}:
                (self.path / name).unlink(missing_ok=True)
            publish(complete, self.partial, self.path)

    def drop_partial(self) -> None:
        """Remove the partial folder; does nothing if there is none."""
        drop_partial_folder(self.partial)


def publish(records: tuple[FileRecord, ...], partial: Path, folder: Path) -> None:
    """Give complete files their final names. May be done again after a crash."""
    renamed = False
    for record in records:
        part, final = partial / record.part, folder / record.name
        if part.exists():
            os.replace(part, final)
            renamed = True
        elif not final.exists():
            raise MemwatchError(f"{final} is missing although it was complete; start over with --fresh")
    if renamed:
        sync_folder(partial)
        sync_folder(folder)
