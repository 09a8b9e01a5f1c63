"""From inputs to blocks: pieces of about a MiB that can be encoded alone and in any order.

A block lies in one input, on one side of the split, and between two cuts. It carries the position after it, which is
all that is needed to go on from there.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from memwatch.errors import MemwatchError
from memwatch.model.units import format_size
from memwatch.tokenize.cuts import CELL_EDGE_BYTES, BlockCut, Cuts, RecordCuts, TextCuts
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.inputs import LONGEST_RECORD_BYTES, Input, Kind, StandardInput, Stream
from memwatch.tokenize.rows import Rows
from memwatch.tokenize.settings import Split, TokenizeSettings
from memwatch.tokenize.split import Splitter
from memwatch.tokenize.vocabulary import Encoding

# The longest record is the largest block. Text is cut long before that.
MOST_BLOCK_BYTES = LONGEST_RECORD_BYTES
MOST_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """Where a reader stands: before byte `offset` of the text of an input; in parquet, inside a row of a row group."""

    input: int = 0
    offset: int = 0
    before_bytes: int = 0  # the text of all inputs before this one
    in_document: bool = False
    row_group: int = 0
    row: int = 0
    row_offset: int = 0
    digest: str | None = None
    # The split.
    val_bytes: int = 0
    unit_start: int | None = None

    @property
    def total_bytes(self) -> int:
        return self.before_bytes + self.offset

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """How the bytes of a block are to be read: all a worker needs to know beside them."""

    kind: Kind
    continues: bool = False  # begins inside a document
    open_end: bool = False  # ends inside a document
    row_ends: tuple[int, ...] = ()
    missing_rows: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    data: bytes | memoryview
    layout: BlockLayout
    split: Split
    inexact: bool
    start: ReadPosition
    after: ReadPosition
    file_position: int  # of the input's file, for progress

    @property
    def length(self) -> int:
        return self.after.offset - self.start.offset

    def without_data(self) -> "Block":
        return replace(self, data=b"")


class BlockReader:
    """Reads the blocks of all inputs, in order, from a position on."""

    def __init__(
        self, inputs: list[Input], settings: TokenizeSettings, encoding: Encoding, start: ReadPosition
    ) -> None:
        self.position = start
        self._inputs = inputs
        self._settings = settings
        self._encoding = encoding
        self._splitter = Splitter(settings.val_fraction, start.val_bytes, start.unit_start)
        self._source: _Source | None = None

    @property
    def at_end(self) -> bool:
        return self.position.input >= len(self._inputs)

    def open(self) -> None:
        """Open the current input, which takes a while if it has to be read up to the position."""
        if self._source is None and not self.at_end:
            self._source = self._opened(self._inputs[self.position.input])

    def next(self, limit: int) -> Block | None:
        """The next block of about `limit` bytes; None at the end, and while standard input has not enough."""
        while not self.at_end:
            self.open()
            assert self._source is not None
            block = self._source.next(self.position, limit, self._splitter)
            if block is not None:
                self.position = block.after
                return block
            if not self._source.ended:
                return None
            self._end_input()
        return None

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None

    def _opened(self, source: Input) -> "_Source":
        at = self.position
        if source.kind == "parquet":
            rows = Rows(source, self._settings.text_column, at.row_group, at.row)
            return _RowBlocks(rows, TextCuts(self._encoding.pretokenizer, separator=None))
        separator = separator_named(self._settings.documents)
        cuts: Cuts = RecordCuts() if source.kind == "jsonl" else TextCuts(self._encoding.pretokenizer, separator)
        stream = StandardInput(at.offset, at.digest) if source.is_standard_input else Stream(source, at.offset)
        return _StreamBlocks(stream, source, cuts)

    def _end_input(self) -> None:
        self.close()
        if self._splitter.in_val:
            self._splitter.change_sides(self.position.total_bytes)
        self.position = ReadPosition(
            input=self.position.input + 1,
            before_bytes=self.position.total_bytes,
            val_bytes=self._splitter.val_bytes,
        )


class _Source(Protocol):
    ended: bool

    def next(self, at: ReadPosition, limit: int, splitter: Splitter) -> Block | None: ...

    def close(self) -> None: ...


class _StreamBlocks:
    """Blocks of a stream of bytes."""

    def __init__(self, stream: Stream | StandardInput, source: Input, cuts: Cuts) -> None:
        self.ended = False
        self._stream = stream
        self._source = source
        self._cuts = cuts
        self._window = b""

    def next(self, at: ReadPosition, limit: int, splitter: Splitter) -> Block | None:
        while self._filled(limit + CELL_EDGE_BYTES) and self._window:
            cut = self._cuts.block_end(self._window, at.offset, limit, at_end=self.ended)
            if cut is not None:
                return self._block(at, cut, splitter)
            if limit >= MOST_BLOCK_BYTES:
                raise MemwatchError(
                    f"{self._source.name} has a record larger than {format_size(MOST_BLOCK_BYTES)} at byte {at.offset}"
                )
            limit = min(2 * limit, MOST_BLOCK_BYTES)
        return None

    def close(self) -> None:
        self._stream.close()

    def _filled(self, size: int) -> bool:
        """Read until the window holds `size` bytes or the input ends; false if it has to wait for more."""
        while len(self._window) < size and not self.ended:
            if not self._stream.ready:
                return False
            data = self._stream.read(size - len(self._window))
            self._window += data
            self.ended = not data
        return True

    def _block(self, at: ReadPosition, cut: BlockCut, splitter: Splitter) -> Block:
        side: Split = "val" if splitter.in_val else "train"
        unit_end = self._unit_end(at, cut, splitter)
        if unit_end is not None:
            cut = BlockCut(unit_end)
            splitter.change_sides(at.total_bytes + unit_end)
        is_last = self.ended and cut.at == len(self._window)
        in_document = not is_last and self._cuts.in_document(self._window, cut.at)
        data = memoryview(self._window)[: cut.at]
        self._window = self._window[cut.at :]
        if self._stream.digest is not None:
            self._stream.digest.update(data)
        after = replace(
            at,
            offset=at.offset + len(data),
            in_document=in_document,
            digest=None if self._stream.digest is None else self._stream.digest.hexdigest(),
            val_bytes=splitter.val_bytes,
            unit_start=splitter.unit_start,
        )
        layout = BlockLayout(self._source.kind, continues=at.in_document, open_end=in_document)
        return Block(data, layout, side, cut.inexact, at, after, self._stream.file_position)

    def _unit_end(self, at: ReadPosition, cut: BlockCut, splitter: Splitter) -> int | None:
        """Where the split changes sides, if it does so within this block."""
        if splitter.change_at is None or splitter.change_at - at.total_bytes > cut.at:
            return None
        end = self._cuts.unit_end(self._window, max(splitter.change_at - at.total_bytes, 1))
        return end if end is not None and end <= cut.at else None


@dataclass(slots=True)
class _Row:
    group: int
    index: int
    text: bytes | None


class _RowBlocks:
    """Blocks of parquet rows: many whole rows, or a part of one that is larger than a block."""

    def __init__(self, rows: Rows, cuts: TextCuts) -> None:
        self.ended = False
        self._rows = rows
        self._cuts = cuts
        self._next_row: _Row | None = None

    def next(self, at: ReadPosition, limit: int, splitter: Splitter) -> Block | None:
        if not self._look_ahead():
            return None
        assert self._next_row is not None
        if at.row_offset or len(self._next_row.text or b"") > limit:
            return self._part_of_row(at, limit, splitter)
        return self._whole_rows(at, limit, splitter)

    def close(self) -> None:
        self._rows.close()

    def _look_ahead(self) -> bool:
        if self._next_row is None:
            row = self._rows.next()
            self._next_row = None if row is None else _Row(*row)
        self.ended = self._next_row is None
        return not self.ended

    def _whole_rows(self, at: ReadPosition, limit: int, splitter: Splitter) -> Block:
        side: Split = "val" if splitter.in_val else "train"
        change_at = splitter.change_at
        data = bytearray()
        ends: list[int] = []
        missing = 0
        last = self._next_row
        while len(ends) + missing < MOST_ROWS and self._look_ahead() and (row := self._next_row) is not None:
            if data and len(data) + len(row.text or b"") > limit:
                break
            last, self._next_row = row, None
            if row.text is None:
                missing += 1
            else:
                data += row.text
                ends.append(len(data))
            if change_at is not None and at.total_bytes + len(data) >= change_at:
                splitter.change_sides(at.total_bytes + len(data))
                break
        assert last is not None
        after = replace(
            at,
            row_group=last.group,
            row=last.index + 1,
            offset=at.offset + len(data),
            val_bytes=splitter.val_bytes,
            unit_start=splitter.unit_start,
        )
        layout = BlockLayout("parquet", row_ends=tuple(ends), missing_rows=missing)
        return Block(bytes(data), layout, side, False, at, after, self._rows.file_position)

    def _part_of_row(self, at: ReadPosition, limit: int, splitter: Splitter) -> Block:
        row = self._next_row
        assert row is not None
        assert row.text is not None
        side: Split = "val" if splitter.in_val else "train"
        window = row.text[at.row_offset : at.row_offset + limit + MOST_BLOCK_BYTES]
        at_end = at.row_offset + len(window) == len(row.text)
        cut = self._cuts.block_end(window, at.row_offset, limit, at_end)
        while cut is None:
            limit *= 2
            cut = self._cuts.block_end(window, at.row_offset, limit, at_end)
        is_last = at_end and cut.at == len(window)
        after = replace(at, row_group=row.group, offset=at.offset + cut.at)
        if is_last:
            self._next_row = None
            after = replace(after, row=row.index + 1, row_offset=0)
            if splitter.change_at is not None and after.total_bytes >= splitter.change_at:
                splitter.change_sides(after.total_bytes)
        else:
            after = replace(after, row=row.index, row_offset=at.row_offset + cut.at)
        after = replace(after, val_bytes=splitter.val_bytes, unit_start=splitter.unit_start)
        layout = BlockLayout("parquet", at.row_offset > 0, not is_last, row_ends=(cut.at,))
        return Block(window[: cut.at], layout, side, cut.inexact, at, after, self._rows.file_position)
