"""What an output format defines: names, header, index, defaults, and what its usual loader needs."""

import re
from dataclasses import dataclass
from typing import Protocol

from memwatch.tokenize.formats.document_index import IndexBytes, Starts, npy_index
from memwatch.tokenize.settings import Mode, Split


@dataclass(frozen=True, slots=True)
class FileKey:
    """Which file of a run: the number of a shard within its split. `sharded` says that train has more than one."""

    split: Split
    shard: int
    sharded: bool


@dataclass(frozen=True, slots=True)
class LoaderNeeds:
    """The fewest tokens that a file of this format must have for the usual loader. `why` completes "needs N tokens"."""

    loader: str
    tokens: int
    why: str
    token_bytes: tuple[int, ...] = (2, 4)  # the widths of a token that the loader reads


class OutputFormat(Protocol):
    """Formats inherit what they have in common. All of it is known without the tokens, but for their number."""

    name: str  # after --format
    reader: str  # the program that it is for
    default_mode: Mode
    default_shard_tokens: int
    needs: LoaderNeeds
    header_bytes: int = 0
    begins_documents: bool = False  # the end-of-text token stands before a document, not after it
    has_own_index: bool = False  # an index of documents belongs to the format; else --index makes one
    keeps_documents_whole: bool = False  # a shard ends where a document ends, and is that much longer

    def header(self, tokens: int, token_bytes: int) -> bytes:
        """What stands before the tokens; always `header_bytes` long, because it is written last."""
        return b""

    def most_tokens(self, token_bytes: int) -> int | None:
        """The most that a file may hold, or None."""
        return None

    def file_name(self, key: FileKey, stem: str, digits: int) -> str:
        """`stem` is made from the input's name. All names of a run sort in the order of the tokens."""
        if key.split == "val":
            return "val.bin"
        return f"train_shard_{key.shard:0{digits}d}.bin" if key.sharded else "train.bin"

    def index_name(self, key: FileKey, stem: str, digits: int) -> str:
        return self.file_name(key, stem, digits).removesuffix(".bin") + ".documents.npy"

    def name_pattern(self, stem: str) -> str:
        """A regular expression of all names that a run of this format may give to a file."""
        return r"(train|train_shard_\d{4,}|val)\.(bin|documents\.npy)"

    def index(self, starts: Starts, tokens: int, token_bytes: int) -> IndexBytes:
        """The content of the index of a file, given where its documents begin."""
        return npy_index(starts)


class NumberedNames(OutputFormat, Protocol):
    """NAME_val_000000, NAME_train_000001, ...: as the scripts of llm.c and build-nanogpt number them."""

    suffix: str

    def file_name(self, key: FileKey, stem: str, digits: int) -> str:
        return f"{stem}_{key.split}_{_number(key):06d}.{self.suffix}"

    def index_name(self, key: FileKey, stem: str, digits: int) -> str:
        # Loaders take every file with the name of a split in its name, so an index must not have it.
        return f"{stem}_documents_{key.split[0]}{_number(key):06d}.npy"

    def name_pattern(self, stem: str) -> str:
        return rf"{re.escape(stem)}_((train|val)_\d{{6,}}\.{self.suffix}|documents_[tv]\d{{6,}}\.npy)"


def _number(key: FileKey) -> int:
    return key.shard if key.split == "val" else key.shard + 1
