"""Encodes a segment: a range of one input, knowing nothing of what lies before it.

    encode_segment(opener, encoder, task, files)    pieces of the segment, one after the other

It depends on the inputs, the settings and the range alone, so any process on any machine may call it.
"""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import NamedTuple

from memwatch.errors import MemwatchError
from memwatch.storage.address import is_remote
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import Block, BlockSource, ReadPosition, Stop
from memwatch.tokenize.encoding import BadBytes, BadRecord, BlockEncoder, DocumentTooLong
from memwatch.tokenize.engines import Tokens
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.plain_file import PlainFile
from memwatch.tokenize.messages import Counts, ReadTask
from memwatch.tokenize.pagecache import STEP_BYTES

COUNT_LINES_BYTES = 4 << 20


class BadInput(MemwatchError):
    """What is wrong with the input, and where; a whole sentence."""


class EngineFailed(MemwatchError):
    """The engine cannot encode a text that is fine."""


class Piece(NamedTuple):
    """A part of a segment that lies on one side of the split."""

    block: Block
    tokens: Tokens
    counts: Counts
    reading_s: float
    encoding_s: float
    lines_before: int | None = (
        None  # in the input, or in the member of an archive; None if it was entered in the middle
    )


@dataclass(slots=True)
class OpenFiles:
    """The plain input that a process read last stays open, and its pages are dropped behind it."""

    _file: PlainFile | None = None

    def get(self, source: Input) -> PlainFile:
        if self._file is None or self._file.source != source:
            self.close()
            self._file = PlainFile(source)
        return self._file

    def forget(self, source: Input, start: int, end: int) -> None:
        """Drop a range from the page cache, also of an input that was read before the present one, and may be gone."""
        if self._file is not None and self._file.source == source:
            self._file.forget(start, end)
        elif not is_remote(source.path):
            with suppress(MemwatchError), closing(PlainFile(source)) as file:
                file.forget(start, end)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def encode_segment(
    opener: BlockOpener, encoder: BlockEncoder, task: ReadTask, files: OpenFiles, block_bytes: int
) -> Iterator[Piece]:
    source = opener.inputs[task.input]
    position = ReadPosition(task.input) if task.start is None else ReadPosition.from_json(task.start)
    began_s = time.monotonic()
    try:
        if source.is_plain:
            file = files.get(source)
            if task.start is None:
                start = opener.start_at(file, task.begin)
                position = ReadPosition(task.input, start.offset, start.in_document)
            stop = opener.start_at(file, task.end)
            blocks = opener.open_range(file, position, Stop(max(stop.offset, position.offset), stop.in_document))
        else:
            if task.start is None:
                position = ReadPosition(task.input, row_group=task.begin)
            blocks = opener.open_rows(position, task.end)
    except BadInput:
        raise
    except MemwatchError as error:
        raise BadInput(str(error)) from error
    try:
        yield from encode_blocks(blocks, encoder, source, position, block_bytes, began_s)
    finally:
        blocks.close()


def encode_slice(
    opener: BlockOpener, encoder: BlockEncoder, part: tuple[int, int, int], files: OpenFiles, block_bytes: int
) -> Iterator[Piece]:
    """The documents that begin in a slice: bytes of a plain input, or row groups of parquet."""
    number, begin, end = part
    source, began_s = opener.inputs[number], time.monotonic()
    if not source.is_plain:
        yield from encode_segment(opener, encoder, ReadTask(0, number, begin, end), files, block_bytes)
        return
    file = files.get(source)
    try:
        start, stop = opener.document_at(file, begin), opener.document_at(file, end)
        position = ReadPosition(number, start)
        blocks = opener.open_range(file, position, Stop(stop))
    except MemwatchError as error:
        raise BadInput(str(error)) from error
    if start < stop:
        yield from encode_blocks(blocks, encoder, source, position, block_bytes, began_s)
    file.forget(begin + STEP_BYTES, end)  # The slices before it belong to other batches.


def encode_blocks(
    blocks: BlockSource,
    encoder: BlockEncoder,
    source: Input,
    position: ReadPosition,
    block_bytes: int,
    began_s: float = 0.0,
) -> Iterator[Piece]:
    lines = position.lines
    while True:
        try:
            block = blocks.next(position, block_bytes)
        except MemwatchError as error:
            raise BadInput(str(error)) from error
        read_s = time.monotonic()
        if block is None:
            return
        lines = lines if block.start.member == position.member else 0
        lines_before = None if source.is_plain or source.has_rows else lines
        tokens, counts = encode_block(encoder, block, source, lines_before)
        lines += counts.records
        encoded_s = time.monotonic()
        yield Piece(block, tokens, counts, read_s - began_s, encoded_s - read_s, lines_before)
        position = block.after
        began_s = time.monotonic()


def encode_block(
    encoder: BlockEncoder, block: Block, source: Input, lines_before: int | None
) -> tuple[Tokens, Counts]:  # fmt: skip
    """Without `lines_before` the lines of the input before the block are counted when one has to be named."""
    if block.inexact and encoder.settings.exact:
        raise BadInput(
            f"{block.name} has no safe place to cut before byte {block.after.offset}, so its tokens may differ there "
            "from those of the whole text; leave out --exact to accept that"
        )
    try:
        return encoder.encode(bytes(block.data), block.layout)
    except BadRecord as error:
        if lines_before is None:
            lines_before = _lines_before(source, block.start.offset)
        what = "record" if block.layout.kind == "json" else "line"
        raise BadInput(f"{what} {lines_before + error.line} of {block.name} {error}") from error
    except DocumentTooLong as error:
        raise BadInput(f"{block.name} at byte {block.start.offset} or after {error}") from error
    except BadBytes as error:
        raise BadInput(f"{block.name} at byte {block.start.offset + error.offset} {error}") from error
    except MemwatchError as error:
        raise EngineFailed(f"{block.name} at byte {block.start.offset}: {error}") from error


def _lines_before(source: Input, offset: int) -> int:
    file = PlainFile(source)
    try:
        starts = range(0, offset, COUNT_LINES_BYTES)
        return sum(file.read(start, min(start + COUNT_LINES_BYTES, offset)).count(b"\n") for start in starts)
    finally:
        file.close()
