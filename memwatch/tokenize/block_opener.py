"""Opens inputs for reading in blocks (blocks.py), from any position on, and finds the ends of ranges."""

from collections.abc import Sequence

from memwatch.errors import MemwatchError
from memwatch.model.units import format_size
from memwatch.tokenize.blocks import MOST_BLOCK_BYTES, Block, BlockSource, ReadPosition, Stop
from memwatch.tokenize.cuts import CELL_BYTES, LOOK_BACK_BYTES, Cuts, RecordCuts
from memwatch.tokenize.document_cuts import cuts_for
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.inputs.byte_streams import Stream
from memwatch.tokenize.inputs.input_formats import Kind
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.plain_file import PlainFile
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.split_rule import SplitRule
from memwatch.tokenize.stream_blocks import NEAR_BYTES, RangeStream, StreamBlocks, ViewBoundaries, too_long
from memwatch.tokenize.vocabulary import Encoding


class BlockOpener:
    """Opens inputs for reading in blocks, from any position on."""

    def __init__(self, inputs: Sequence[Input], settings: TokenizeSettings, encoding: Encoding) -> None:
        self.inputs = inputs
        self.settings = settings
        self._encoding = encoding
        self._split = SplitRule(inputs, settings)

    def open(self, at: ReadPosition) -> BlockSource:
        """All of an input from a position on."""
        source = self.inputs[at.input]
        if source.has_rows:
            return self.open_rows(at, None)
        if source.is_plain:
            return self.open_range(PlainFile(source), at, Stop(source.size_bytes or 0), owns_file=True)
        walk = (
            self._split.walk(at.input, 0, None)
            if at.offset == 0
            else self._split.resumed_walk(at.input, at.next_unit, at.owed, at.val_start, at.val_end)
        )
        stream = Stream(source)
        if source.archive is not None:
            from memwatch.tokenize.archive_blocks import ArchiveBlocks

            return ArchiveBlocks(source, stream, self.cuts_of, walk, at)
        stream.skip(at.offset, at.digest)
        return StreamBlocks(stream, source.name, source.kind, self.cuts_of(source.kind), walk)

    def open_rows(self, at: ReadPosition, stop_group: int | None) -> BlockSource:
        """Rows of an input that has them, up to a row group."""
        from memwatch.tokenize.row_blocks import RowBlocks  # Needs numpy, which the coordinator does without.

        cuts = cuts_for(self._encoding, separator=None)
        source = self.inputs[at.input]
        skips_long = self.settings.bad_records == "skip"
        return RowBlocks(source, self.settings.text_column, cuts, self._split, at, stop_group, skips_long)

    def open_range(self, file: PlainFile, at: ReadPosition, stop: Stop, owns_file: bool = False) -> BlockSource:
        """A range of a plain input, between two cuts."""
        cuts = self.cuts_of(file.source.kind)
        boundaries = ViewBoundaries(cuts, file)
        walk = self._split.walk(at.input, at.offset, boundaries)
        stream = RangeStream(file, at.offset, stop.offset, owns_file)
        return StreamBlocks(stream, file.source.name, file.source.kind, cuts, walk, boundaries, stop.in_document)

    def start_at(self, file: PlainFile, offset: int) -> Stop:
        """The first cut of a plain input at or after an offset: where a range ends, and the next one begins."""
        cuts = self.cuts_of(file.source.kind)
        back, reach = LOOK_BACK_BYTES, NEAR_BYTES
        while True:
            view = file.view(offset - back, offset + reach)
            cut = cuts.first_cut(view, offset)
            if cut is not None:
                return Stop(cut.at, cuts.is_inside_document(view, cut.at))
            if reach > MOST_BLOCK_BYTES:
                if isinstance(cuts, RecordCuts) and cuts.skips_long:
                    return Stop(file.next_line(offset))
                raise too_long(file.source.name, offset, cuts)
            back, reach = CELL_BYTES + LOOK_BACK_BYTES, 8 * reach

    def document_at(self, file: PlainFile, offset: int) -> int:
        """The first place of a plain input at or after an offset where a document begins, or its end."""
        if offset == 0:
            return 0
        found = ViewBoundaries(self.cuts_of(file.source.kind), file).at_or_after(offset)
        if found is None:
            raise MemwatchError(
                f"{file.source.name} has a document larger than {format_size(MOST_BLOCK_BYTES)} at byte {offset}, "
                "and --shuffle holds whole documents in memory"
            )
        return found

    def cuts_of(self, kind: Kind) -> Cuts:
        if kind in ("jsonl", "json"):
            return RecordCuts(skips_long=self.settings.bad_records == "skip")
        return cuts_for(self._encoding, separator_named(self.settings.documents))


class BlockReader:
    """Reads the blocks of all inputs, in order, from a position on."""

    def __init__(
        self, inputs: list[Input], settings: TokenizeSettings, encoding: Encoding, start: ReadPosition
    ) -> None:
        self.position = start
        self._opener = BlockOpener(inputs, settings, encoding)
        self._source: BlockSource | None = None

    @property
    def at_end(self) -> bool:
        return self.position.input >= len(self._opener.inputs)

    def next(self, limit: int) -> Block | None:
        """The next block of about `limit` bytes; None at the end."""
        while not self.at_end:
            if self._source is None:
                self._source = self._opener.open(self.position)
            block = self._source.next(self.position, limit)
            if block is not None:
                self.position = block.after
                return block
            self.close()
            self.position = ReadPosition(input=self.position.input + 1)
        return None

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None
