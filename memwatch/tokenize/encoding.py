"""From the bytes of a block to tokens: find the texts in it, repair them, encode them, mark the documents.

A pure function of the block and the settings; it runs in the workers, and in `memwatch verify`.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB, format_size
from memwatch.tokenize.blocks import BlockLayout
from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.engines import Engine, Tokens
from memwatch.tokenize.formats.format_registry import FORMATS, has_index
from memwatch.tokenize.inputs.json_shape import TextField, field_names, listed
from memwatch.tokenize.messages import Counts
from memwatch.tokenize.settings import Errors, TokenizeSettings
from memwatch.tokenize.vocabulary import MARK, Encoding, has_mark

# Records that are parsed at once: their objects take up to 15 times as much memory.
RECORDS_BYTES = 128 * KIB
VALIDATED_BYTES = 32 * KIB
_TWO_MARKS = MARK + MARK
_TOO_LONG = f"is larger than {format_size(LONGEST_RECORD_BYTES)}"
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


class DocumentTooLong(MemwatchError):
    """A document that must not be cut, and that takes more memory than there is."""

    def __init__(self, size_bytes: int, longest_bytes: int) -> None:
        super().__init__(
            f"has a document of {format_size(size_bytes)}, and the memory of a worker is enough for "
            f"{format_size(longest_bytes)}; raise --max-memory, use fewer --workers, or divide it with --documents"
        )


@dataclass(frozen=True, slots=True)
class _Documents:
    """Documents one after the other, either all in one text with marks between them, or each by itself."""

    count: int
    joined: bytes | None = None  # ends with a mark
    texts: Sequence[bytes] = ()
    is_closed: bool = False  # a separator follows the last one


class BlockEncoder:
    """`longest_document_bytes` is set where documents are never cut, by whoever knows how much memory there is."""

    longest_document_bytes: int | None = None

    def __init__(self, engine: Engine, encoding: Encoding, settings: TokenizeSettings) -> None:
        self.engine = engine
        self.settings = settings
        self._mark = np.array([encoding.mark], dtype=np.uint32)
        self._end_of_text = encoding.end_of_text
        self._separator = separator_named(settings.documents)
        self._marks_records = settings.documents != "none"
        self._mark_first = FORMATS[settings.format].begins_documents
        self._finds_starts = has_index(settings) or settings.shuffle is not None
        self._errors = settings.errors
        self._stops = settings.bad_records == "stop"
        self._text_field = TextField(settings.text_column)

    def encode(self, data: bytes, layout: BlockLayout) -> tuple[Tokens, Counts]:
        tokens, counts = self._with_marks(data, layout)
        if self._end_of_text != self._mark[0]:
            tokens = np.where(tokens == self._mark[0], np.uint32(self._end_of_text), tokens)
        return tokens, counts

    def _with_marks(self, data: bytes, layout: BlockLayout) -> tuple[Tokens, Counts]:
        counts = Counts(missing_texts=layout.missing_rows)
        if self._errors == "strict" and (self._stops or layout.kind == "text"):
            repaired(data, "strict", counts)
        match layout.kind:
            case "long row":
                counts.records = 1
                counts.bad.append((1, _TOO_LONG))
                return np.empty(0, np.uint32), counts
            case "jsonl" | "json":
                if layout.continues or layout.open_end:
                    return self._around_long_record(data, layout, counts), counts
                parts = [self._encoded(found, counts) for found in self._records(data, counts)]
                tokens = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.uint32), *parts])
                return self._placed(tokens, layout, self._marks_records, counts), counts
            case "rows":
                tokens = self._encoded(self._rows(data, layout, counts), counts)
                return self._placed(tokens, layout, self._marks_records, counts), counts
        if self._separator is None:
            self._check_length(data)
            return self.engine.encode(repaired(data, self._errors, counts)), counts
        documents = self._plain_documents(data, layout)
        tokens = self._encoded(documents, counts)
        layout = replace(layout, open_end=layout.open_end and not documents.is_closed)
        return self._placed(tokens, layout, True, counts), counts

    def _around_long_record(self, data: bytes, layout: BlockLayout, counts: Counts) -> Tokens:
        """A block that has a piece of a record that is skipped because it is too long, at its begin or end."""
        begin = data.find(b"\n") + 1 or len(data) if layout.continues else 0
        end = max(data.rfind(b"\n") + 1, begin) if layout.open_end else len(data)
        ends_record = layout.continues and (b"\n" in data or not layout.open_end)  # The last line may lack its end.
        tokens, found = self._with_marks(data[begin:end], replace(layout, continues=False, open_end=False))
        counts.documents, counts.missing_texts = found.documents, found.missing_texts
        counts.replaced_bytes, counts.starts = found.replaced_bytes, found.starts
        counts.records = found.records + ends_record
        counts.bad = [(number + ends_record, problem) for number, problem in found.bad]
        if layout.open_end and not (layout.continues and begin == len(data)):
            counts.bad.append((counts.records + 1, _TOO_LONG))
        return tokens

    def _encoded(self, documents: _Documents, counts: Counts) -> Tokens:
        """The tokens of all documents, with a mark after each."""
        counts.documents += documents.count
        if self.longest_document_bytes is not None:
            texts = documents.texts if documents.joined is None else documents.joined.split(MARK)
            self._check_length(max(texts, key=len, default=b""))
        if documents.joined is not None:
            return self.engine.encode_marked(documents.joined)
        parts: list[Tokens] = []
        for text in documents.texts:
            parts += [self.engine.encode(repaired(text, self._errors, counts)), self._mark]
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)

    def _check_length(self, text: bytes) -> None:
        if self.longest_document_bytes is not None and len(text) > self.longest_document_bytes:
            raise DocumentTooLong(len(text), self.longest_document_bytes)

    def _placed(self, tokens: Tokens, layout: BlockLayout, is_marked: bool, counts: Counts) -> Tokens:
        """Keep the marks where this format has them, given one after each document."""
        if self._finds_starts:
            counts.starts = self._starts(tokens, layout, is_marked)
        if not is_marked:
            counts.documents = 0
            unmarked: Tokens = tokens[tokens != self._mark[0]]
            return unmarked
        counts.documents -= layout.continues and len(tokens) > 0
        if self._mark_first and len(tokens):
            return tokens[:-1] if layout.continues else np.concatenate([self._mark, tokens[:-1]])
        return tokens[:-1] if layout.open_end else tokens

    def _starts(self, tokens: Tokens, layout: BlockLayout, is_marked: bool) -> npt.NDArray[np.int64]:
        """Where documents begin among the tokens that `_placed` makes of these. Documents without a token have none."""
        ends = np.flatnonzero(tokens == self._mark[0])
        starts = np.concatenate([[0], ends + 1])[: len(ends)]
        if not is_marked:
            starts, ends = starts - np.arange(len(ends)), ends - np.arange(len(ends))
        elif self._mark_first:
            starts[1:] -= layout.continues
            ends += 1
        else:
            ends[: -1 if layout.open_end else None] += 1
        begins_here = starts < ends
        begins_here[: int(layout.continues)] = False
        return starts[begins_here]

    def _plain_documents(self, data: bytes, layout: BlockLayout) -> _Documents:
        assert self._separator is not None
        if has_mark(data) or not is_utf8(data):
            parts = self._separator.split(data)
            texts = [part for i, part in enumerate(parts) if part or (i == 0 and layout.continues)]
            return _Documents(len(texts), texts=texts, is_closed=not parts[-1])
        joined = self._separator.marked(data, MARK)
        while _TWO_MARKS in joined:  # An empty document is none.
            joined = joined.replace(_TWO_MARKS, MARK)
        if not layout.continues:
            joined = joined.removeprefix(MARK)
        is_closed = joined.endswith(MARK)
        if joined and not is_closed:
            joined += MARK
        return _Documents(joined.count(MARK), joined, is_closed=is_closed)

    def _rows(self, data: bytes, layout: BlockLayout, counts: Counts) -> _Documents:
        ends = np.asarray(layout.row_ends)
        counts.records = len(ends) + layout.missing_rows - layout.continues
        if not len(ends):
            return _Documents(0)
        joined = _rows_with_marks(data, ends)
        if has_mark(data) or not (data.isascii() or is_utf8(joined)):
            texts = [data[start:end] for start, end in pairwise((0, *ends.tolist()))]
            return self._careful_rows(texts, layout, counts)
        return _Documents(len(ends), joined)

    def _careful_rows(self, texts: list[bytes], layout: BlockLayout, counts: Counts) -> _Documents:
        is_part = layout.continues or layout.open_end  # The rest of that row may be encoded already.
        good: list[bytes] = []
        for number, text in enumerate(texts, 1):
            try:
                if self._errors == "strict":
                    repaired(text, "strict", counts)
                good.append(text)
            except BadBytes as error:
                if self._stops or is_part:
                    raise
                counts.bad.append((number, str(error)))
        return _Documents(len(good), texts=good)

    def _records(self, data: bytes, counts: Counts) -> Iterator[_Documents]:
        start = 0
        while start < len(data):
            end = data.find(b"\n", start + RECORDS_BYTES) + 1 or len(data)
            lines = data[start:end] if start or end < len(data) else data
            if (found := self._quick_records(lines)) is not None:
                yield found
                counts.records += found.count
            else:
                yield self._careful_records(lines, counts)
                counts.records += lines.count(b"\n") + (not lines.endswith(b"\n"))
            start = end

    def _quick_records(self, lines: bytes) -> _Documents | None:
        """None unless each line certainly is a record with a text."""
        if not is_utf8(lines):
            return None  # The reader does not look into fields that it skips.
        read = self._read_text
        try:
            texts = [read(line).encode() for line in lines.removesuffix(b"\n").split(b"\n")]
        except Exception:  # Whatever is unusual about a record: the slower way decides what it is.
            return None
        joined = MARK.join(texts) + MARK
        # A mark in a text has its leading byte, which is quick to count, though not with `bytes.count`.
        leads = np.count_nonzero(np.frombuffer(joined, np.uint8) == MARK[0])
        return _Documents(len(texts), joined) if leads == len(texts) else None

    @cached_property
    def _read_text(self) -> Callable[[bytes], str]:
        return self._text_field.quick_reader()

    def _careful_records(self, data: bytes, counts: Counts) -> _Documents:
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        texts: list[bytes] = []
        for number, line in enumerate(lines, counts.records + 1):
            if not line.strip():
                continue
            try:
                text = self._text_of_record(line, number, counts)
            except (BadRecord, BadBytes) as error:
                if self._stops:
                    raise
                counts.bad.append((number, str(error)))
                continue
            if text is None:
                counts.missing_texts += 1
            else:
                texts.append(text)
        return _Documents(len(texts), texts=texts)

    def _text_of_record(self, line: bytes, number: int, counts: Counts) -> bytes | None:
        try:
            record = json.loads(repaired(line, self._errors, counts))
        except (ValueError, RecursionError) as error:
            raise BadRecord(number, f"is not JSON ({error})") from error
        if record is None:
            return None
        if not isinstance(record, dict):
            raise BadRecord(number, "is not a JSON object")
        try:
            text = self._text_field.of(record)
        except KeyError as error:
            has, name = listed(field_names(record)), self._text_field.name
            raise BadRecord(number, f"has no field {name!r} (it has {has}); name one with --text-column") from error
        if text is None:
            return None
        if not isinstance(text, str):
            raise BadRecord(number, f"has a field {self._text_field.name!r} that is not text")
        return _encoded(text, number, self._errors, counts)


def _rows_with_marks(data: bytes, ends: npt.NDArray[np.int64]) -> bytes:
    """Each row with a mark after it. By pyarrow, which reads the rows anyway: an object for each took a third of the
    time where rows are words."""
    import pyarrow
    from pyarrow import compute

    offsets = np.concatenate([[0], ends]).astype(np.int32)  # A block has at most 16 MiB.
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
    rows = pyarrow.Array.from_buffers(pyarrow.binary(), len(ends), buffers)
    together = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(ends)], pyarrow.int32()), rows)
    joined: bytes = compute.binary_join(together, MARK)[0].as_py()
    return joined + MARK


def is_utf8(data: bytes) -> bool:
    """A part at a time: a decoded text that fits into the processor's cache takes half the time of a large one."""
    if data.isascii():
        return True
    view, start = memoryview(data), 0
    try:
        while start < len(data):
            end = start + VALIDATED_BYTES
            start += codecs.utf_8_decode(view[start:end], "strict", end >= len(data))[1]
    except UnicodeDecodeError:
        return False
    return True


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
    if is_utf8(data):
        return data
    if errors == "strict":
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise BadBytes(error.start, data[error.start : error.end]) from error
    return _repaired(data, "\ufffd" if errors == "replace" else "", counts)


def _repaired(data: bytes, substitute: str, counts: Counts) -> bytes:
    def count_and_substitute(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        counts.replaced_bytes += error.end - error.start
        return substitute, error.end

    codecs.register_error("memwatch-repair", count_and_substitute)
    return data.decode("utf-8", "memwatch-repair").encode()
