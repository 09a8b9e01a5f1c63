"""What the finished files of a run are called."""

import os
import re
from dataclasses import dataclass

from memwatch.command_line import LONGEST_NAME_BYTES
from memwatch.tokenize.formats.format_registry import FORMATS
from memwatch.tokenize.formats.output_format import FileKey, OutputFormat
from memwatch.tokenize.settings import Split, TokenizeSettings


def names_a_split(text: str) -> bool:
    """Whether a loader that looks for train or val in file names would find it here."""
    return re.search("train|val", text, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a run's files: by format, with `stem` where the format has one."""

    format: str
    stem: str
    digits: int = 4  # of a shard's number; all names of a run have the same length, so that they sort as they are read

    @classmethod
    def of_run(cls, settings: TokenizeSettings, input_name: str, digits: int = 4) -> "Names":
        """What --name says, or names made from an input's.

        Loaders choose files by `"train" in name` and `"val" in name`, so nothing of the input's name that contains one
        of these words is kept: train_fineweb.jsonl becomes fineweb_val_000000.npy.
        """
        if settings.name is not None:
            return cls(settings.format, settings.name, digits)
        stem = input_name.split(".")[0]
        if names_a_split(stem):
            stem = "_".join(part for part in re.split(r"[_\- ]+", stem) if part and not names_a_split(part))
        return cls(settings.format, os.fsdecode(os.fsencode(stem)[:LONGEST_NAME_BYTES]) or "tokens", digits)

    def file(self, split: Split, shard: int, sharded: bool) -> str:
        return self._format.file_name(FileKey(split, shard, sharded), self.stem, self.digits)

    def index(self, split: Split, shard: int, sharded: bool) -> str:
        """The name of the document index that belongs to a file."""
        return self._format.index_name(FileKey(split, shard, sharded), self.stem, self.digits)

    def may_be_ours(self, name: str) -> bool:
        """Whether a run of this format may give a file this name."""
        return re.fullmatch(self._format.name_pattern(self.stem), name) is not None

    @property
    def _format(self) -> OutputFormat:
        return FORMATS[self.format]
