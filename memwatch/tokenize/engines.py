"""The engines: valid UTF-8 in, tokens out, the same tokens from each.

gigatoken is fast, tiktoken is the reference. Where the two are known to differ, or gigatoken fails its check at the
start, tiktoken's answer counts.
"""

import hashlib
import importlib.metadata
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from memwatch.errors import MemwatchError
from memwatch.tokenize.vocabulary import Encoding, cache_folder, reference, store

if TYPE_CHECKING:
    import tiktoken

Tokens = npt.NDArray[np.uint32]

# Letters, digits and marks that came with Unicode 17: gigatoken 0.10 knows them, tiktoken 0.14 does not. Found by
# comparing every code point in seven contexts or more, for all three pre-tokenizers; test_engines.py does it for gpt2.
NEW_IN_UNICODE_17 = (
    (0x088F, 0x088F), (0x0C5C, 0x0C5C), (0x0CDC, 0x0CDC), (0x1ACF, 0x1ADD), (0x1AE0, 0x1AEB), (0xA7CE, 0xA7CF),
    (0xA7D2, 0xA7D2), (0xA7D4, 0xA7D4), (0xA7F1, 0xA7F1), (0x10940, 0x10959), (0x10EC5, 0x10EC7), (0x10EFA, 0x10EFB),
    (0x11B60, 0x11B67), (0x11DB0, 0x11DDB), (0x11DE0, 0x11DE9), (0x16EA0, 0x16EB8), (0x16EBB, 0x16ED3),
    (0x16FF2, 0x16FF6), (0x187F8, 0x187FF), (0x18D09, 0x18D1E), (0x18D80, 0x18DF2), (0x1E6C0, 0x1E6DE),
    (0x1E6E0, 0x1E6F5), (0x1E6FE, 0x1E6FF), (0x2B73A, 0x2B73F), (0x2CEA2, 0x2CEAD), (0x323B0, 0x33479),
)  # fmt: skip


# Stands between documents that are encoded in one call, and is encoded as the end of a text: a code point that no text
# has (Unicode calls it a noncharacter). A text that has it all the same goes through tiktoken.
MARK = "\U0010ffff".encode()


def has_mark(text: bytes) -> bool:
    """Looks for the leading byte first, which no usual text has: that is ten times as fast as a search for all four."""
    return text.find(MARK[0]) >= 0 and MARK in text


def _by_lead(ranges: tuple[tuple[int, int], ...]) -> dict[int, "re.Pattern[bytes]"]:
    """For each leading byte, what the whole characters look like."""
    by_lead: dict[int, dict[bytes, set[int]]] = {}
    for first, last in ranges:
        for code_point in range(first, last + 1):
            encoded = chr(code_point).encode()
            by_lead.setdefault(encoded[0], {}).setdefault(encoded[:-1], set()).add(encoded[-1])
    return {
        lead: re.compile(
            b"|".join(re.escape(start) + b"[" + re.escape(bytes(ends)) + b"]" for start, ends in rest.items())
        )
        for lead, rest in by_lead.items()
    }


def _next_bytes(ranges: tuple[tuple[int, int], ...]) -> npt.NDArray[np.bool_]:
    """Whether a leading byte and the two after it may begin one of these characters."""
    may_begin = np.zeros((256, 64, 64), np.bool_)
    for first, last in ranges:
        for code_point in range(first, last + 1):
            lead, second, third = chr(code_point).encode()[:3]
            may_begin[lead, second & 0x3F, third & 0x3F] = True
    return may_begin


_NEW_LETTERS = _by_lead(NEW_IN_UNICODE_17)
_MAY_BEGIN = _next_bytes(NEW_IN_UNICODE_17)


def has_new_letters(text: bytes) -> bool:
    """Whether valid UTF-8 has one of these letters. A text without their leading bytes, which is quick to see, need not
    be searched; where there are many, looking at them all at once is several times as fast as a pattern."""
    for lead, letters in _NEW_LETTERS.items():
        if text.find(lead) < 0:
            continue
        data = np.frombuffer(text, np.uint8)
        leads = np.flatnonzero(data == lead)
        candidates = _MAY_BEGIN[lead][data[leads + 1] & 0x3F, data[leads + 2] & 0x3F]
        if candidates.any() and letters.search(text, int(leads[candidates.argmax()])):
            return True
    return False


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

    def encode(self, text: bytes) -> Tokens: ...

    def encode_marked(self, text: bytes) -> Tokens:
        """Documents with MARK after each, which is encoded as the end of a text."""

    def renew(self) -> None:
        """Give back the memory that caches have taken."""

    def reference_engine(self) -> "Tiktoken":
        """The engine whose answer counts."""


class Tiktoken:
    name = "tiktoken"

    def __init__(self, encoding: Encoding, ranks: Path) -> None:
        self.version = importlib.metadata.version("tiktoken")
        self._pretokenizer = encoding.pretokenizer
        self._end_of_text = np.array([encoding.end_of_text], np.uint32)
        self.encoding: tiktoken.Encoding = reference(encoding, ranks)

    def encode(self, text: bytes) -> Tokens:
        parts = [self._encode_part(part) for part in _parts_it_can_take(text.decode(), self._pretokenizer)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def encode_marked(self, text: bytes) -> Tokens:
        parts: list[Tokens] = []
        for document in text.split(MARK)[:-1]:
            parts += [self.encode(document), self._end_of_text]
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)

    def renew(self) -> None:
        """tiktoken has no cache to drop."""

    def reference_engine(self) -> "Tiktoken":
        return self

    def _encode_part(self, text: str) -> Tokens:
        try:
            return self.encoding.encode_to_numpy(text, disallowed_special=())
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # A panic in its Rust code is no Exception.
            raise MemwatchError(f"tiktoken cannot encode this text ({error}); try --engine gigatoken") from error


def _parts_it_can_take(text: str, pretokenizer: str) -> list[str]:
    """Cut long white space where a pretoken starts anyway: before its last character, and but for gpt2 after its last
    line end, because there everything up to a line end is one pretoken."""
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
        self.renew()

    def encode(self, text: bytes) -> Tokens:
        if has_new_letters(text) or has_mark(text):
            return self.reference_engine().encode(text)
        return self._encode(text)

    def encode_marked(self, text: bytes) -> Tokens:
        if has_new_letters(text):
            return self.reference_engine().encode_marked(text)
        return self._encode(text)

    def renew(self) -> None:
        """Its caches only grow; a new tokenizer starts with empty ones."""
        from gigatoken import Tokenizer

        self._reference: Tiktoken | None = None
        # The old one must be gone before the new one is there, or both would count.
        self._encode: Callable[[bytes], Tokens] = _not_ready
        specials = {MARK.decode(): self._encoding.end_of_text}
        tokenizer = Tokenizer.from_tiktoken(self._ranks, self._encoding.pretokenizer, special_tokens=specials)
        self._encode = tokenizer.encode

    def reference_engine(self) -> Tiktoken:
        if self._reference is None:
            self._reference = Tiktoken(self._encoding, self._ranks)
        return self._reference


def _not_ready(text: bytes) -> Tokens:
    raise MemwatchError("gigatoken could not be renewed")


@dataclass(frozen=True, slots=True)
class Chosen:
    engine: Engine
    note: str | None = None


def choose(wanted: str, encoding: Encoding, ranks: Path, check: bool) -> Chosen:
    """The engine asked for; with `auto`, tiktoken where gigatoken is missing or fails the check."""
    if wanted == "tiktoken":
        return Chosen(Tiktoken(encoding, ranks))
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
    key = hashlib.sha256(f"{encoding.name} {encoding.ranks_sha256} {version} ".encode() + text).hexdigest()
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
