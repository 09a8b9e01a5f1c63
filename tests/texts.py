"""Real text in many languages: Python's own documentation and library, and the translations that Debian carries."""

import gettext
import itertools
import pydoc_data.topics
import random
import sysconfig
from functools import cache
from pathlib import Path

import pytest

CATALOGS = Path("/usr/share/locale")
# Of packages that every Debian has which compiles: a text that grew with each package installed would be another one in
# each run, and the figures of a sample with it.
DOMAINS = ("bash", "bfd", "binutils", "coreutils", "dpkg", "gas", "git", "gnupg2", "ld", "libc", "sed", "tar")
LEAST_BYTES = 200_000


@cache
def prose() -> bytes:
    return b"\n\n".join(topic.encode() for _, topic in sorted(pydoc_data.topics.topics.items()))


@cache
def code() -> bytes:
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    return b"\n\n".join(source.read_bytes() for source in sources)


@cache
def language(name: str) -> bytes:
    """What programs say in a language, one message a line."""
    messages: list[str] = []
    for path in (CATALOGS / name / "LC_MESSAGES" / f"{domain}.mo" for domain in DOMAINS):
        try:
            with path.open("rb") as file:
                catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except (OSError, ValueError, AssertionError, LookupError):
            continue
        messages += [text for key, text in catalog.items() if key and isinstance(text, str)]
    text = "\n".join(messages).encode("utf-8", "ignore")
    if len(text) < LEAST_BYTES:
        pytest.skip(f"needs translations into {name} in {CATALOGS}, as Debian's packages carry them")
    return text


def repeated(text: bytes, size: int) -> bytes:
    return b"".join(itertools.islice(itertools.repeat(text), -(-size // len(text))))[:size]


def shuffled(texts: list[bytes], size: int, rng: random.Random, mean_bytes: float = 20_000) -> bytes:
    """Documents of all lengths, from anywhere in the texts, in any order."""
    parts: list[bytes] = []
    length = 0
    while length < size:
        text = rng.choice(texts)
        wanted = min(int(rng.expovariate(1 / mean_bytes)) + 1, len(text) // 2)
        start = rng.randrange(len(text) - wanted)
        parts.append(text[start : start + wanted].decode("utf-8", "ignore").encode() + b"\n\n")
        length += len(parts[-1])
    return b"".join(parts)[:size].decode("utf-8", "ignore").encode()
