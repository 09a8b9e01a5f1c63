"""Which engine encodes with a vocabulary file: gigatoken if it agrees with the reference, else the reference.

    chosen_engine(wanted, encoding, settings, inputs)   called once by whoever starts workers

A process of its own compares the two (engine_check.py), so that the memory of both is given back. That they agree on an
input is kept in the user's cache folder.
"""

import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from memwatch import __version__
from memwatch.errors import MemwatchError, UsageError
from memwatch.model.wording import how_it_ended
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.settings import EngineName, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding, cache_folder, store
from memwatch.tokenize.vocabulary_file import gigatoken_problem

CHECK_TIMEOUT_S = 600
REFERENCES = {"tokenizer.json": "tokenizers", "sentencepiece": "sentencepiece"}


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Which engine workers use, and a sentence for the user if it is not the fast one."""

    engine: EngineName
    note: str | None = None


def reference_name(encoding: Encoding) -> str:
    """The library whose tokens count for this kind of vocabulary."""
    return REFERENCES.get(encoding.kind, "tiktoken")


def chosen_engine(
    wanted: EngineName, encoding: Encoding, settings: TokenizeSettings, inputs: Sequence[Input]
) -> EngineChoice:
    """The engine for workers. A named encoding is left to them (engines.choose)."""
    if encoding.path is None:
        return EngineChoice(wanted)
    reference = reference_name(encoding)
    if wanted == "tiktoken" and reference != "tiktoken":
        raise UsageError(f"tiktoken cannot read {encoding.name}; --engine reference uses {reference}")
    if wanted in ("reference", "tiktoken"):
        return EngineChoice("reference")
    problem = gigatoken_problem(encoding) or _disagreement(encoding, settings, inputs)
    if problem is None:
        return EngineChoice("gigatoken")
    why = f"gigatoken cannot be used with {encoding.name} ({problem})"
    if wanted == "gigatoken":
        raise MemwatchError(f"{why}; use --engine reference, which is slower")
    return EngineChoice("reference", f"{why}; using {reference}, which is slower")


def description(encoding: Encoding) -> str | None:
    """What a run says about a vocabulary file."""
    if encoding.path is None:
        return None
    whole = "" if encoding.pretokenizer else "; documents are never cut"
    return (
        f"vocabulary {encoding.name}: {encoding.vocabulary_size:,} tokens, stored as {encoding.dtype}; "
        f"token {encoding.end_of_text} marks documents{whole}"
    )


def _disagreement(encoding: Encoding, settings: TokenizeSettings, inputs: Sequence[Input]) -> str | None:
    question = {
        "encoding": asdict(encoding),
        "settings": settings.as_json(),
        "inputs": [source.as_json() for source in inputs],
    }
    kept = cache_folder() / f"agreement-{_key(encoding, settings, inputs)[:16]}"
    if kept.exists():
        return None
    answer = _asked(question, encoding)
    if answer is None:
        with suppress(OSError):
            store(b"", kept)
    return answer


def _key(encoding: Encoding, settings: TokenizeSettings, inputs: Sequence[Input]) -> str:
    packages = ("gigatoken", reference_name(encoding))
    versions = [__version__, *(_version(package) for package in packages)]
    what = [
        encoding.vocabulary_sha256,
        encoding.end_of_text,
        encoding.pattern,
        settings.documents,
        settings.text_column,
    ]
    seen = [source.fingerprint for source in inputs]
    return hashlib.sha256(json.dumps([versions, what, seen]).encode()).hexdigest()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _asked(question: dict[str, Any], encoding: Encoding) -> str | None:
    """None if they agree. Raises if there is no reference to compare with."""
    command = [sys.executable, "-m", "memwatch.tokenize.engine_check"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(question).encode(),
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("MEMWATCH_DEBUG") else subprocess.DEVNULL,  # Rust reports panics there.
            timeout=CHECK_TIMEOUT_S,
        )
    except (subprocess.SubprocessError, OSError) as error:
        return f"the comparison failed: {error}"
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return f"the comparison {how_it_ended(done.returncode)}"
    if answer["error"] is not None:
        raise MemwatchError(answer["error"])
    difference: str | None = answer["difference"]
    return difference
