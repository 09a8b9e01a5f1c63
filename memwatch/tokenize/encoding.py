"""From the bytes of a block to tokens: find the texts in it, repair them, encode them, mark the documents.

A pure function of the block and the settings; it runs in the workers, and in `memwatch verify`.
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from memwatch.errors import MemwatchError
from memwatch.tokenize.blocks import BlockLayout
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.engines import Engine, Tokens
from memwatch.tokenize.messages import Counts
from memwatch.tokenize.settings import Errors, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class BadRecord(MemwatchError):
    """A record that has no text. `line` counts from 1 within the block."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


class BadBytes(MemwatchError):
    """Bytes that are no UTF-8, under --errors strict. `offset` counts from the start of what was to be repaired."""

    def __init__(self, offset: int, found: bytes) -> None:
        super().__init__(f"has bytes that are not UTF-8 ({found.hex(' ')}), and --errors is strict")
        self.offset = offset


@dataclass(frozen=True, slots=True)
class _Text:
    data: bytes
    begins: bool  # a document begins with it
    ends: bool  # a document ends with it


class BlockEncoder:
    def __init__(self, engine: Engine, encoding: Encoding, settings: TokenizeSettings) -> None:
        self.engine = engine
        self._end_of_text = np.array([encoding.end_of_text], dtype=np.uint32)
        self._separator = separator_named(settings.documents)
        self._marks_records = settings.documents != "none"
        # nanoGPT ends a document with the mark; llm.c and build-nanogpt begin it.
        self._mark_first = settings.format != "bin"
        self._errors = settings.errors
        self._text_column = settings.text_column

    def encode(self, data: bytes, layout: BlockLayout) -> tuple[Tokens, Counts]:
        if self._errors == "strict":
            repaired(data, "strict", Counts())
        counts = Counts(missing_texts=layout.missing_rows)
        parts: list[Tokens] = []
        for text in self._texts(data, layout, counts):
            if text.begins:
                counts.documents += 1
                if self._mark_first:
                    parts.append(self._end_of_text)
            if text.data:
                parts.append(self.engine.encode(repaired(text.data, self._errors, counts)))
            if text.ends and not self._mark_first:
                parts.append(self._end_of_text)
        if len(parts) == 1:
            return parts[0], counts
        return np.concatenate(parts) if parts else np.empty(0, np.uint32), counts

    def _texts(self, data: bytes, layout: BlockLayout, counts: Counts) -> Iterator[_Text]:
        match layout.kind:
            case "jsonl":
                return self._json_texts(data, counts)
            case "parquet":
                return self._row_texts(data, layout)
            case "text":
                return self._plain_texts(data, layout)

    def _plain_texts(self, data: bytes, layout: BlockLayout) -> Iterator[_Text]:
        if self._separator is None:
            yield _Text(data, begins=False, ends=False)
            return
        parts = self._separator.split(data)
        for i, part in enumerate(parts):
            begins = i > 0 or not layout.continues
            ends = i < len(parts) - 1 or not layout.open_end
            if part or not begins:
                yield _Text(part, begins, ends)

    def _row_texts(self, data: bytes, layout: BlockLayout) -> Iterator[_Text]:
        start = 0
        for end in layout.row_ends:
            begins, ends = not layout.continues, not layout.open_end
            yield _Text(data[start:end], begins and self._marks_records, ends and self._marks_records)
            start = end

    def _json_texts(self, data: bytes, counts: Counts) -> Iterator[_Text]:
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, 1):
            counts.records += 1
            if not line.strip():
                continue
            text = self._text_of_record(line, number, counts)
            if text is None:
                counts.missing_texts += 1
            else:
                yield _Text(text, self._marks_records, self._marks_records)

    def _text_of_record(self, line: bytes, number: int, counts: Counts) -> bytes | None:
        try:
            record = json.loads(repaired(line, self._errors, counts))
        except (ValueError, RecursionError) as error:
            raise BadRecord(number, f"is not JSON ({error})") from error
        if not isinstance(record, dict):
            raise BadRecord(number, "is not a JSON object")
        if self._text_column not in record:
            has = ", ".join(sorted(record)) or "nothing"
            raise BadRecord(number, f"has no field {self._text_column!r} (it has {has}); name one with --text-column")
        text = record[self._text_column]
        if text is None:
            return None
        if not isinstance(text, str):
            raise BadRecord(number, f"has a field {self._text_column!r} that is not text")
        return _encoded(text, number, self._errors, counts)


def _encoded(text: str, number: int, errors: Errors, counts: Counts) -> bytes:
    """JSON can spell half of a surrogate pair, which no UTF-8 can."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        if errors == "strict":
            raise BadRecord(number, "has an unpaired surrogate in its text, and --errors is strict") from error
        text, replaced = _LONE_SURROGATE.subn("\ufffd" if errors == "replace" else "", text)
        counts.replaced_bytes += replaced
        return text.encode()


def repaired(data: bytes, errors: Errors, counts: Counts) -> bytes:
    """Valid UTF-8; what had to be replaced or left out is counted in bytes."""
    if data.isascii():
        return data
    try:
        data.decode()
        return data
    except UnicodeDecodeError as error:
        if errors == "strict":
            raise BadBytes(error.start, data[error.start : error.end]) from error
    return _repaired(data, "\ufffd" if errors == "replace" else "", counts)


def _repaired(data: bytes, substitute: str, counts: Counts) -> bytes:
    def count_and_substitute(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        counts.replaced_bytes += error.end - error.start
        return substitute, error.end

    codecs.register_error("memwatch-repair", count_and_substitute)
    return data.decode("utf-8", "memwatch-repair").encode()
