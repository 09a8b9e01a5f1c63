"""What a tokenizer run is to do.

`TokenizeSettings` decide what the output is: a partial run is resumed only under the same ones. `Resources` decide only
how fast and in how much memory it is made, and may change from one attempt to the next.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

from memwatch.model.units import KIB, MIB
from memwatch.tokenize.inputs.input_formats import Kind

Split = Literal["train", "val"]
Mode = Literal["stream", "shard", "memory"]
VAL_RULES = ("ratio", "first-shard", "tail")
Errors = Literal["replace", "ignore", "strict"]
BadRecords = Literal["stop", "skip"]
EngineName = Literal["auto", "gigatoken", "reference", "tiktoken"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)

DEFAULT_MAX_MEMORY_BYTES = 512 * MIB
DEFAULT_BLOCK_BYTES = 1 * MIB
FLOOR_BLOCK_BYTES = 256 * KIB


# Settings that decide only whether a run stops: one that has stopped goes on with others.
MAY_CHANGE = ("bad_records", "exact")
DEFAULT_BAD_LIMIT = "0.01"


@dataclass(frozen=True, slots=True)
class TokenizeSettings:
    """What decides the tokens and files of a run. A resumed run must have the same."""

    encoding: str = "gpt2"
    format: str = "bin"  # a name in formats/format_registry.py
    mode: Mode = "stream"
    shard_tokens: int = 500_000_000
    val: str = "ratio"  # or "tail", "first-shard", or the path of a validation file (split_rule.py)
    val_ratio: str = "0.0005"
    train_inputs: int | None = None  # with a validation file: how many inputs are before it
    documents: str = "auto"
    errors: Errors = "replace"
    text_column: str = "text"
    name: str | None = None  # of the output files, where the format has one
    bad_records: BadRecords = "stop"
    exact: bool = False  # an inexact cut is an error
    shuffle: int | None = None  # the seed of the order of documents
    index: bool = False  # also an index of documents, where the format has none of its own
    vocabulary: dict[str, Any] | None = None  # of the file that `encoding` names (vocabulary_file.py)

    @property
    def val_fraction(self) -> Fraction:
        return Fraction(self.val_ratio)

    @property
    def wants_val(self) -> bool:
        return self.val not in ("ratio", "tail") or self.val_fraction > 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def changes_since(self, recorded: dict[str, Any]) -> list[str]:
        """What differs from the settings of an earlier run, in the words of the command line."""
        now = asdict(self)
        # Where a vocabulary file lies does not matter, only what is in it.
        then_in, now_in = recorded.get("vocabulary"), self.vocabulary
        changes = _vocabulary_changes(recorded.get("encoding"), then_in, self.encoding, now_in)
        return changes + [
            f"--{name.replace('_', '-')} was {recorded.get(name)!r} and is now {now[name]!r}"
            for name in now
            if recorded.get(name) != now[name] and name not in ("encoding", "vocabulary", *MAY_CHANGE)
        ]

    def changeable(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in MAY_CHANGE}


def _vocabulary_changes(
    then: str | None, then_in: dict[str, Any] | None, now: str, now_in: dict[str, Any] | None
) -> list[str]:
    if then_in is None or now_in is None or then_in["sha256"] != now_in["sha256"]:
        was, is_now = _vocabulary_words(then, then_in), _vocabulary_words(now, now_in)
        return [] if was == is_now else [f"--encoding was {was} and is now {is_now}"]
    return [
        f"--{name} was {then_in[name]!r} and is now {now_in[name]!r}"
        for name in ("eot", "pretokenizer")
        if then_in[name] != now_in[name]
    ]


def _vocabulary_words(encoding: str | None, vocabulary: dict[str, Any] | None) -> str:
    return repr(encoding) if vocabulary is None else f"{vocabulary['name']!r} (SHA-256 {vocabulary['sha256'][:16]}...)"


@dataclass(frozen=True, slots=True)
class Resources:
    """What a run may use. It changes neither tokens nor files."""

    engine: EngineName = "auto"
    workers: int | None = None
    max_memory_bytes: int | None = None
    block_bytes: int = DEFAULT_BLOCK_BYTES


@dataclass(frozen=True, slots=True)
class TokenizeRequest:
    """One command line: what to make, from what, where, and with which means."""

    inputs: tuple[str, ...]
    out: Path | None
    settings: TokenizeSettings
    resources: Resources
    any_bytes: bool = False  # take input that does not look like text
    input_format: Kind | None = None  # of all inputs, whatever they look like
    bad_limit: str = DEFAULT_BAD_LIMIT  # the share of records that may be skipped
    resume_changed: bool = False
    fresh: bool = False
    force: bool = False
