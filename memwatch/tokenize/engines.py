"""The engines: valid UTF-8 in, tokens out, the same tokens from each.

gigatoken is fast. The reference is tiktoken, or for a vocabulary file the library that belongs to it
(reference_engines.py). Where the two are known to differ, or gigatoken fails its check at the start, the reference's
answer counts.
"""

import hashlib
import importlib.metadata
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from memwatch.errors import MemwatchError
from memwatch.tokenize.new_letters import NEW_IN_UNICODE_17, NEW_TO_TOKENIZERS, NewLetters
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.split_patterns import pattern_with
from memwatch.tokenize.vocabulary import MARK, Encoding, cache_folder, has_mark, reference, store

if TYPE_CHECKING:
    import tiktoken

Tokens = npt.NDArray[np.uint32]

_OF_TIKTOKEN = NewLetters(NEW_IN_UNICODE_17)
# SentencePiece does not sort characters into kinds.
_NEW_LETTERS = {
    "named": _OF_TIKTOKEN,
    "tiktoken": _OF_TIKTOKEN,
    "tekken": _OF_TIKTOKEN,
    "tokenizer.json": NewLetters(NEW_TO_TOKENIZERS),
}

# tiktoken's regex gives up on white space of a million characters that is followed by something else; older ones
# may do so earlier (docs/MEASUREMENTS.md).
LONG_RUN = 100_000
_WHITE_SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# Anchored at the run's start and without going back, or a run at the text's end would take for ever.
_LONG_RUN = re.compile(f"(?<![{_WHITE_SPACE}])[{_WHITE_SPACE}]{{{LONG_RUN},}}+(?=[^{_WHITE_SPACE}])")

# Says a little of everything: the engines must agree on it before one is used. Nothing of what is left to tiktoken
# anyway: it would have to be loaded for that.
CHECK_TEXT = (
    "It's we'll THEY'RE don't 'S 'twas o'clock\n\n\n  indented\tby\ttabs   \r\nline\x0b\x0c\x85\u2028\u3000 end  "
    "<|endoftext|> 3.14159 1234567 x1y22 __init__(self, *args) -> None: {'k': [0x1F, 1e-9]} http://a.b/c?d=e&f=%20 "
    "naïve Straße Ελληνικά русский עברית العربية हिन्दी ไทย 日本語のテキスト。中文，没有空格！한국어 "
    "👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 \ufeff\u200b\u00ad ﬁ Ⅷ ½ ٣ \x00\x7f ~~~~----====____" + " " * 300 + "\n" * 300 + "a" * 300
    + " 𠀀𡃁 𐍈 \U0001d54f ends here "
)  # fmt: skip


class Engine(Protocol):
    name: str
    version: str

    @property
    def next_growth_bytes(self) -> int:
        """How much memory its caches take for a moment when they grow next; 0 if that is not known."""

    def encode(self, text: bytes) -> Tokens: ...

    def encode_marked(self, text: bytes) -> Tokens:
        """Documents with MARK after each, which is encoded as the end of a text."""

    def renew(self) -> None:
        """Give back the memory that caches have taken."""

    def reference_engine(self) -> "ReferenceEngine":
        """The engine whose answer counts."""


class ReferenceEngine(ABC):
    """What all references have in common: one document at a time, and nothing remembered that could grow."""

    name: str
    version: str
    next_growth_bytes = 0

    def __init__(self, encoding: Encoding) -> None:
        self.version = importlib.metadata.version(self.name)
        self._mark = np.array([encoding.mark], np.uint32)

    @abstractmethod
    def encode(self, text: bytes) -> Tokens: ...

    @abstractmethod
    def encode_list(self, text: str) -> list[int]:
        """As a script calls the library. `estimate` measures it."""

    def encode_marked(self, text: bytes) -> Tokens:
        parts: list[Tokens] = []
        for document in text.split(MARK)[:-1]:
            parts += [self.encode(document), self._mark]
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)

    def renew(self) -> None:  # noqa: B027  Right for all of them, not left to do.
        """There is no cache to drop."""

    def reference_engine(self) -> "ReferenceEngine":
        return self


class Tiktoken(ReferenceEngine):
    name = "tiktoken"

    def __init__(self, encoding: Encoding, ranks: Path) -> None:
        super().__init__(encoding)
        self._pretokenizer = encoding.pretokenizer
        self._first_rank = np.uint32(encoding.first_rank)
        self.encoding: tiktoken.Encoding = reference(encoding, ranks)

    def encode(self, text: bytes) -> Tokens:
        parts = [self._encode_part(part) for part in _parts_it_can_take(text.decode(), self._pretokenizer)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def encode_list(self, text: str) -> list[int]:
        return self.encoding.encode_ordinary(text)

    def _encode_part(self, text: str) -> Tokens:
        try:
            return self.encoding.encode_to_numpy(text, disallowed_special=()) + self._first_rank
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # A panic in its Rust code is no Exception.
            raise MemwatchError(f"tiktoken cannot encode this text ({error}); try --engine gigatoken") from error


def _parts_it_can_take(text: str, pretokenizer: str | None) -> list[str]:
    """Cut long white space where a pretoken starts anyway: before its last character, and but for gpt2 after its last
    line end, because there everything up to a line end is one pretoken."""
    if pretokenizer is None:
        return [text]
    cuts: list[int] = []
    for run in _LONG_RUN.finditer(text):
        if pretokenizer == "o200k" and text[run.end()] == "/":
            continue  # Punctuation takes line ends and slashes along.
        if pretokenizer != "gpt2":
            line_end = max(text.rfind("\n", run.start(), run.end()), text.rfind("\r", run.start(), run.end()))
            cuts += [line_end + 1] if line_end >= 0 else []
        if not cuts or cuts[-1] < run.end() - 1:
            cuts.append(run.end() - 1)
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


class Gigatoken:
    name = "gigatoken"

    def __init__(self, encoding: Encoding, ranks: Path) -> None:
        self.version = importlib.metadata.version("gigatoken")
        self._encoding = encoding
        self._ranks = ranks
        self._new_letters = _NEW_LETTERS.get(encoding.kind)
        self._largest_growth_bytes: int | None = None
        self.renew()

    def encode(self, text: bytes) -> Tokens:
        if self._has_new_letters(text) or has_mark(text):
            return self.reference_engine().encode(text)
        return self._measured(text)

    def encode_marked(self, text: bytes) -> Tokens:
        if self._has_new_letters(text):
            return self.reference_engine().encode_marked(text)
        return self._measured(text)

    @property
    def next_growth_bytes(self) -> int:
        """Its tables double. The last time that took as much as the table had, and for a moment twice as much; the next
        time takes twice that."""
        return 4 * (self._largest_growth_bytes or 0)

    def _measured(self, text: bytes) -> Tokens:
        before_bytes = rss_bytes(os.getpid()) or 0
        tokens = self._encode(text)
        grown_bytes = (rss_bytes(os.getpid()) or 0) - before_bytes
        # The first text after a renewal fills all that is empty, which says nothing about the next growth.
        is_first = self._largest_growth_bytes is None
        self._largest_growth_bytes = 0 if is_first else max(self._largest_growth_bytes or 0, grown_bytes)
        return tokens

    def renew(self) -> None:
        """Its caches only grow; a new tokenizer starts with empty ones."""
        self._largest_growth_bytes = None
        self._reference: ReferenceEngine | None = None
        # The old one must be gone before the new one is there, or both would count.
        self._encode: Callable[[bytes], Tokens] = _not_ready
        self._encode = self._loaded()

    def reference_engine(self) -> ReferenceEngine:
        if self._reference is None:
            self._reference = reference_engine(self._encoding, self._ranks)
        return self._reference

    def _has_new_letters(self, text: bytes) -> bool:
        return self._new_letters is not None and self._new_letters.are_in(text)

    def _loaded(self) -> Callable[[bytes], Tokens]:
        from gigatoken import Tokenizer

        encoding = self._encoding
        if encoding.kind in ("tokenizer.json", "sentencepiece"):
            encode: Callable[[bytes], Tokens] = Tokenizer.from_json(self._ranks.read_bytes()).encode
            return encode
        pattern = pattern_with(encoding.pattern or "")
        pretokenizer = encoding.pretokenizer if pattern is None else pattern.gigatoken
        specials = {MARK.decode(): encoding.mark}
        tokenizer = Tokenizer.from_tiktoken(self._ranks, pretokenizer, special_tokens=specials)
        if encoding.first_rank == 0:
            encode = tokenizer.encode
            return encode
        # It numbers the tokens of a file from 0 on.
        return lambda text: _renumbered(tokenizer.encode(text), encoding)


def _renumbered(tokens: Tokens, encoding: Encoding) -> Tokens:
    return np.where(tokens == encoding.mark, tokens, tokens + np.uint32(encoding.first_rank))


def reference_engine(encoding: Encoding, ranks: Path) -> ReferenceEngine:
    match encoding.kind:
        case "tokenizer.json":
            from memwatch.tokenize.reference_engines import HuggingFace

            return HuggingFace(encoding)
        case "sentencepiece":
            from memwatch.tokenize.reference_engines import SentencePiece

            return SentencePiece(encoding)
        case _:
            return Tiktoken(encoding, ranks)


def _not_ready(text: bytes) -> Tokens:
    raise MemwatchError("gigatoken could not be renewed")


@dataclass(frozen=True, slots=True)
class Chosen:
    engine: Engine
    note: str | None = None


def choose(wanted: str, encoding: Encoding, ranks: Path, check: bool) -> Chosen:
    """The engine asked for; with `auto`, the reference where gigatoken is missing or fails the check. For a vocabulary
    file engine_check.py has decided before."""
    if wanted in ("reference", "tiktoken"):
        return Chosen(reference_engine(encoding, ranks))
    if encoding.path is not None:
        return Chosen(Gigatoken(encoding, ranks))
    try:
        engine = Gigatoken(encoding, ranks)
        if check:
            check_against_tiktoken(engine, encoding, ranks)
        return Chosen(engine)
    except Exception as error:  # Whatever keeps it from working, tiktoken can do the job.
        why = f"gigatoken cannot be used for {encoding.name} ({error or type(error).__name__})"
        if wanted == "gigatoken":
            raise MemwatchError(f"{why}; use --engine tiktoken, which is slower") from error
        return Chosen(Tiktoken(encoding, ranks), note=f"{why}; using tiktoken, which is slower")


def check_against_tiktoken(engine: Engine, encoding: Encoding, ranks: Path) -> None:
    """Raise unless the engine gives tiktoken's tokens for the check text.

    tiktoken's answer is kept in the cache, because to load tiktoken takes longer than all the rest of the start. An
    answer that does not fit is never believed before tiktoken was asked again."""
    version = importlib.metadata.version("tiktoken")
    text = CHECK_TEXT.encode()
    key = hashlib.sha256(f"{encoding.name} {encoding.vocabulary_sha256} {version} ".encode() + text).hexdigest()
    path = cache_folder() / f"answer-{key[:16]}"
    tokens = engine.encode(text).astype("<u4").tobytes()
    try:
        if path.read_bytes() == tokens:
            return
    except OSError:
        pass  # Not asked yet.
    answer = Tiktoken(encoding, ranks).encode(text).astype("<u4").tobytes()
    if tokens != answer:
        raise MemwatchError(f"{engine.name} {engine.version} gives different tokens than tiktoken {version}")
    with suppress(OSError):
        store(answer, path)
