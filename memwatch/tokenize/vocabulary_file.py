"""Vocabularies that users bring: `--encoding FILE`.

    vocabulary_in(path, pretokenizer, eot)   what the file holds, for the settings of a run
    encoding_of(settings)                    the encoding of a run, whichever it is
    loadable_file(encoding)                  what engines load: the rank file, or what was prepared for gigatoken

A vocabulary is known by the SHA-256 of its file. The file is read by a process of its own (prepare_vocabulary.py); what
it finds is kept in the user's cache folder.
"""

import hashlib
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from memwatch.errors import MemwatchError, UsageError
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.split_patterns import pattern_named, pattern_with
from memwatch.tokenize.vocabulary import ENCODINGS, Encoding, cache_folder, encoding_named, in_memory, rank_file, store

# Of what is kept in the cache: another one whenever prepare_vocabulary.py changes.
CACHE_VERSION = 1
READ_TIMEOUT_S = 600
TOKENIZER_JSON = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class _Answer:
    """What prepare_vocabulary.py found in a file, and what gigatoken can load."""

    found: dict[str, Any]
    prepared: Path | None


def is_vocabulary_file(name: str) -> bool:
    """Whether `--encoding` names a file, or a folder with a tokenizer.json, and no encoding of tiktoken's."""
    return name not in ENCODINGS and os.path.exists(name)


def with_vocabulary(settings: TokenizeSettings, pretokenizer: str | None, eot: str | None) -> TokenizeSettings:
    """The settings with the vocabulary of the file that `encoding` names, if it names one."""
    if not is_vocabulary_file(settings.encoding):
        encoding_named(settings.encoding)
        for option, value in (("--pretokenizer", pretokenizer), ("--eot", eot)):
            if value is not None:
                raise UsageError(f"{option} is for vocabulary files; {settings.encoding} has its own")
        return settings
    path = os.path.abspath(settings.encoding)
    path = os.path.join(path, TOKENIZER_JSON) if os.path.isdir(path) else path
    return replace(settings, encoding=path, vocabulary=vocabulary_in(path, pretokenizer, eot))


def vocabulary_in(path: str, pretokenizer: str | None, eot: str | None) -> dict[str, Any]:
    """What the settings record of a vocabulary file, as JSON has it."""
    sha256 = _sha256(path)
    pretokenizer = None if pretokenizer is None else pattern_named(pretokenizer).name
    found = _answer(path, sha256, pretokenizer, eot).found
    return {
        "name": os.path.basename(path),
        "sha256": sha256,
        "kind": found["kind"],
        "size": found["size"],
        "eot": found["eot"],
        "cuts": found["cuts"],
        "whole_texts": list(found["whole_texts"]),
        "pattern": found["pattern"],
        "first_rank": found["first_rank"],
        "pretokenizer": pretokenizer,
    }


def encoding_of(settings: TokenizeSettings, path: str | None = None) -> Encoding:
    """`path` is where the vocabulary file is now, if it is not where the settings say."""
    known = settings.vocabulary
    if known is None:
        return encoding_named(settings.encoding)
    return Encoding(
        name=known["name"],
        pretokenizer=known["cuts"],
        end_of_text=known["eot"],
        vocabulary_size=known["size"],
        vocabulary_sha256=known["sha256"],
        kind=known["kind"],
        path=path or settings.encoding,
        pattern=known["pattern"],
        first_rank=known["first_rank"],
        whole_texts=tuple(known["whole_texts"]),
    )


def loadable_file(encoding: Encoding) -> Path:
    """The rank file of a named encoding. Of a vocabulary file what gigatoken loads, or, if it cannot, the file itself;
    rank files serve tiktoken as well. Raises if the file is not the one that the run began with."""
    if encoding.path is None:
        return rank_file(encoding)
    answer = _answer(encoding.path, _checked_sha256(encoding), *_options(encoding))
    return answer.prepared or Path(encoding.path)


def gigatoken_problem(encoding: Encoding) -> str | None:
    """Why gigatoken cannot load a vocabulary file, as far as that is known without trying."""
    assert encoding.path is not None
    problem: str | None = _answer(encoding.path, encoding.vocabulary_sha256, *_options(encoding)).found[
        "gigatoken_problem"
    ]
    return problem


def file_content(encoding: Encoding) -> bytes:
    """The vocabulary file, for the reference. Called in workers, on whichever machine they run."""
    assert encoding.path is not None
    try:
        data = Path(encoding.path).read_bytes()
    except OSError as error:
        raise MemwatchError(f"cannot read the vocabulary {encoding.path}: {error.strerror}") from error
    _check(hashlib.sha256(data).hexdigest(), encoding)
    return data


def _options(encoding: Encoding) -> tuple[str | None, str]:
    pattern = pattern_with(encoding.pattern or "") if encoding.kind == "tiktoken" else None
    return (None if pattern is None else pattern.name), str(encoding.end_of_text)


def _checked_sha256(encoding: Encoding) -> str:
    assert encoding.path is not None
    sha256 = _sha256(encoding.path)
    _check(sha256, encoding)
    return sha256


def _check(sha256: str, encoding: Encoding) -> None:
    if sha256 != encoding.vocabulary_sha256:
        raise MemwatchError(
            f"{encoding.path} is not the vocabulary {encoding.name} of this run: "
            f"its SHA-256 is {sha256[:16]}... and should be {encoding.vocabulary_sha256[:16]}..."
        )


def _sha256(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise MemwatchError(f"cannot read the vocabulary {path}: {error.strerror}") from error


@cache
def _answer(path: str, sha256: str, pretokenizer: str | None, eot: str | None) -> _Answer:
    return _kept(_kept_path(sha256, pretokenizer, eot)) or _asked(path, sha256, pretokenizer, eot)


def _kept_path(sha256: str, pretokenizer: str | None, eot: str | None) -> Path:
    key = json.dumps([CACHE_VERSION, sha256, pretokenizer, eot])
    return cache_folder() / f"vocabulary-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def _kept(kept: Path) -> _Answer | None:
    """From the cache, if the prepared file is as it was written."""
    try:
        record = json.loads(kept.read_text())
        if record["prepared_sha256"] is None:
            return _Answer(record["found"], None)
        prepared = _prepared_path(record["prepared_sha256"])
        is_whole = _sha256(str(prepared)) == record["prepared_sha256"]
        return _Answer(record["found"], prepared) if is_whole else None
    except (OSError, ValueError, KeyError, TypeError, MemwatchError):
        return None  # Not there yet, or damaged: it is prepared again.


def _prepared_path(sha256: str) -> Path:
    return cache_folder() / f"{sha256[:16]}.prepared"


def _asked(path: str, sha256: str, pretokenizer: str | None, eot: str | None) -> _Answer:
    command = [sys.executable, "-m", "memwatch.tokenize.prepare_vocabulary", path, pretokenizer or "", eot or ""]
    try:
        output = subprocess.run(command, stdout=subprocess.PIPE, timeout=READ_TIMEOUT_S, check=True).stdout
    except (subprocess.SubprocessError, OSError) as error:
        raise MemwatchError(f"cannot read the vocabulary {path} ({error})") from error
    line, _, prepared = output.partition(b"\n")
    found = json.loads(line)
    if "problem" in found:
        raise (UsageError if found["is_usage"] else MemwatchError)(found["problem"])
    stored, prepared_sha256 = None, None
    if prepared:
        prepared_sha256 = hashlib.sha256(prepared).hexdigest()
        try:
            stored = store(prepared, _prepared_path(prepared_sha256))
        except OSError:
            return _Answer(found, in_memory(prepared))  # No cache to write to: it takes a second longer, every time.
    record = json.dumps({"found": found, "prepared_sha256": prepared_sha256}).encode()
    for asked_eot in {eot, str(found["eot"])}:  # Later it is looked up by its number.
        with suppress(OSError):
            store(record, _kept_path(sha256, pretokenizer, asked_eot))
    return _Answer(found, stored)
