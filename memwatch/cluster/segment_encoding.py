"""Encodes segments of a plan: what a worker process loads once and uses for each of its segments."""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from memwatch.cluster.run_folder import SharedPlan
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import choose
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.messages import ReadTask
from memwatch.tokenize.pagecache import STEP_BYTES
from memwatch.tokenize.plan import WORST_GROWTH_BYTES, longest_document_bytes, may_grow
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.segment_encoder import OpenFiles, Piece, encode_blocks, encode_segment
from memwatch.tokenize.segments import Segment
from memwatch.tokenize.settings import DEFAULT_BLOCK_BYTES, TokenizeSettings
from memwatch.tokenize.tally import LISTED_RECORDS, listed_bad
from memwatch.tokenize.vocabulary_file import encoding_of, loadable_file


@dataclass(slots=True)
class SegmentCounts:
    """What a segment held beside its tokens, as the manifest adds it up. `first` is where its train tokens begin."""

    text_bytes: int = 0
    documents: int = 0
    missing_texts: int = 0
    replaced_bytes: int = 0
    inexact_cuts: int = 0
    records: int = 0
    bad_records: int = 0
    bad: list[dict[str, Any]] = field(default_factory=list)  # lines count from the start of the segment
    val_ranges: list[list[int]] = field(default_factory=list)
    first: dict[str, Any] | None = None

    def add(self, piece: Piece) -> None:
        block = piece.block
        self.text_bytes += block.length
        self.documents += piece.counts.documents
        self.missing_texts += piece.counts.missing_texts
        self.replaced_bytes += piece.counts.replaced_bytes
        self.inexact_cuts += block.inexact
        self._add_records(piece)
        if block.split == "val":
            self._add_val_range(block.start.offset, block.after.offset)
        elif self.first is None and not block.layout.continues:
            self.first = block.start.as_json()

    def _add_records(self, piece: Piece) -> None:
        bad = piece.counts.bad
        room = max(LISTED_RECORDS - len(self.bad), 0)
        before = self.records if piece.lines_before is None else piece.lines_before
        self.bad += [listed_bad(piece.block.name, before + number, problem) for number, problem in bad[:room]]
        self.bad_records += len(bad)
        self.records += piece.counts.records

    def _add_val_range(self, start: int, end: int) -> None:
        if self.val_ranges and self.val_ranges[-1][1] == start:
            self.val_ranges[-1][1] = end
        else:
            self.val_ranges.append([start, end])

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class SegmentEncoding:
    def __init__(
        self, plan: SharedPlan, engine: str, budget_bytes: int, changed: dict[str, Any], vocabulary: str | None = None
    ) -> None:
        """`changed` are the settings that may differ from the plan's, `vocabulary` is the file on this machine."""
        self.settings = TokenizeSettings(**{**plan.settings, **changed})
        self.encoding = encoding_of(self.settings, vocabulary)
        inputs = [Input(**source) for source in plan.inputs]
        # On each machine the engine is compared with tiktoken before it is used.
        chosen = choose(engine, self.encoding, loadable_file(self.encoding), True)
        self.engine = f"{chosen.engine.name} {chosen.engine.version}"
        self.note = chosen.note
        self._encoder = BlockEncoder(chosen.engine, self.encoding, self.settings)
        free_bytes = budget_bytes + WORST_GROWTH_BYTES - (rss_bytes(os.getpid()) or 0)
        longest = longest_document_bytes(self.encoding, chosen.engine.name, free_bytes)
        self._encoder.longest_document_bytes = longest
        self._opener = BlockOpener(inputs, self.settings, self.encoding)
        self._segments = [Segment(*segment) for segment in plan.segments]
        self._files = OpenFiles()
        self._budget_bytes = self._full_budget_bytes = budget_bytes
        self._dtype = np.dtype(self.encoding.dtype).newbyteorder("<")

    def encoded(self, number: int, counts: SegmentCounts) -> Iterator[tuple[str, bytes, bytes]]:
        """The tokens of a segment in order, each piece with its side of the split, and the places where documents
        begin, if there is to be an index. Fills `counts` on the way."""
        tokens = {"train": 0, "val": 0}
        is_first_shard = self.settings.val == "first-shard" and number == 0
        for piece in self._pieces(self._segments[number]):
            if is_first_shard:
                piece = piece._replace(block=replace(piece.block, split="val"))
            counts.add(piece)
            split, starts = piece.block.split, np.asarray(piece.counts.starts, "<i8") + tokens[piece.block.split]
            tokens[split] += len(piece.tokens)
            yield split, np.asarray(piece.tokens, self._dtype).tobytes(), starts.astype("<i8").tobytes()
            if not may_grow(self._encoder.engine, rss_bytes(os.getpid()) or 0, self._budget_bytes):
                self._encoder.engine.renew()

    def shrink(self) -> None:
        """From another thread: renew the engine after every piece, which frees its caches."""
        self._budget_bytes = 0

    def grow(self) -> None:
        self._budget_bytes = self._full_budget_bytes

    def _pieces(self, segment: Segment) -> Iterator[Piece]:
        source = self._opener.inputs[segment.input]
        if segment.end is None:
            start = ReadPosition(segment.input)
            return encode_blocks(self._opener.open(start), self._encoder, source, start, DEFAULT_BLOCK_BYTES)
        task = ReadTask(0, segment.input, segment.begin, segment.end)
        pieces = encode_segment(self._opener, self._encoder, task, self._files, DEFAULT_BLOCK_BYTES)
        return self._dropped_behind(pieces, source, segment.begin) if source.is_plain else pieces

    def _dropped_behind(self, pieces: Iterator[Piece], source: Input, begin: int) -> Iterator[Piece]:
        """What was read is dropped from the page cache. The segment before may be read by another process just now."""
        dropped = begin
        for piece in pieces:
            yield piece
            at = piece.block.after.offset
            if at - dropped >= STEP_BYTES:
                self._files.forget(source, max(dropped, begin + STEP_BYTES), at)
                dropped = at
