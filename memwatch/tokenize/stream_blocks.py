"""Blocks of a stream of bytes: a range of a plain file, a packed file or standard input. block_opener.py opens it."""

from contextlib import suppress
from dataclasses import replace
from typing import Literal, Protocol

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB, format_size
from memwatch.storage.address import is_remote
from memwatch.tokenize.blocks import MOST_BLOCK_BYTES, Block, BlockLayout, ReadPosition
from memwatch.tokenize.cuts import LOOK_BACK_BYTES, BlockCut, Cuts, View
from memwatch.tokenize.document_cuts import WholeDocumentCuts
from memwatch.tokenize.inputs.input_formats import Kind
from memwatch.tokenize.inputs.plain_file import PlainFile
from memwatch.tokenize.settings import Split
from memwatch.tokenize.split import NeedsMore, SplitWalk

# How far a boundary is first looked for; most are near.
NEAR_BYTES = 4 * KIB


class ByteStream(Protocol):
    """Text that is read once, from front to back. `file_position` is of the input's file, for progress."""

    @property
    def file_position(self) -> int: ...

    def read(self, size: int) -> bytes: ...

    def close(self) -> None: ...


class RangeStream:
    """A range of a plain file as a stream."""

    def __init__(self, file: PlainFile, start: int, stop: int, owns_file: bool) -> None:
        self._file = file
        self.file_position = start
        self._stop = stop
        self._owns_file = owns_file

    def read(self, size: int) -> bytes:
        data = self._file.read(self.file_position, min(self.file_position + size, self._stop))
        self.file_position += len(data)
        return data

    def unread(self, size: int) -> bool:
        """Go back, to read the last bytes again; false where that costs more than to keep them."""
        if is_remote(self._file.source.path):
            return False
        self.file_position -= size
        return True

    def close(self) -> None:
        if self._owns_file:
            self._file.close()


class _Viewer(Protocol):
    def view(self, start: int, end: int) -> View: ...


class ViewBoundaries:
    """Where the split may change sides, looked for in views of a file or of a window."""

    def __init__(self, cuts: Cuts, viewer: _Viewer) -> None:
        self._cuts = cuts
        self._viewer = viewer

    @property
    def reach_bytes(self) -> int:
        return self._cuts.boundary_reach_bytes

    def at_or_after(self, offset: int) -> int | None:
        """The first boundary from an offset on; None if there is none within reach."""
        reach = min(NEAR_BYTES, self._cuts.boundary_reach_bytes)
        while True:
            view = self._viewer.view(offset - LOOK_BACK_BYTES, offset + reach)
            found = self._cuts.boundary(view, offset)
            if found is not None:
                return found
            if view.at_end:
                return view.end
            if reach >= self._cuts.boundary_reach_bytes:
                return None
            reach = min(8 * reach, self._cuts.boundary_reach_bytes)

    def around(self, start: int, goal: int) -> tuple[int, int | None]:
        """The last boundary from `start` up to `goal`, and the first one from `goal` on."""
        beyond = self.at_or_after(goal)
        end = (goal if beyond is None else beyond) + NEAR_BYTES
        return self._cuts.last_boundary(self._viewer.view(start, end), start, goal), beyond


class StreamBlocks:
    """Blocks of a stream of bytes. Without `boundaries` the split is found in what was read so far."""

    def __init__(
        self,
        stream: ByteStream,
        name: str,
        kind: Kind,
        cuts: Cuts,
        walk: SplitWalk,
        boundaries: ViewBoundaries | None = None,
        stops_in_document: bool = False,
        continues_val: bool = False,
    ) -> None:
        self.ended = False
        self._stream = stream
        self._name = name
        self._kind: Literal["text", "jsonl", "json"] = kind if kind in ("jsonl", "json") else "text"
        self._cuts = cuts
        self._walk = walk
        self._finds_split_here = boundaries is None
        self._boundaries = boundaries or ViewBoundaries(cuts, self)
        self._stops_in_document = stops_in_document
        self._continues_val = continues_val  # a range of validation text that ended with the text before
        self._window = b""
        self._origin = 0

    def next(self, at: ReadPosition, limit: int) -> Block | None:
        """The block at `at`, of about `limit` bytes; longer where it can be cut nowhere. None at the end."""
        self._origin = at.offset
        fill = limit + self._cuts.margin_bytes
        while self._filled(fill):
            cut = self._cuts.block_end(self._window, at.offset, limit, at_end=self.ended)
            if cut is not None:
                with suppress(NeedsMore):
                    return self._block(at, cut)
            elif limit >= MOST_BLOCK_BYTES:
                raise too_long(self._name, at.offset, self._cuts)
            else:
                limit = min(2 * limit, MOST_BLOCK_BYTES)
            fill = max(2 * fill, limit + self._cuts.margin_bytes)
        return None

    def skipped(self, size: int) -> bytes:
        """Text that was in earlier blocks. Before the first call of `next`."""
        self._continues_val = False
        return self._stream.read(size)

    def close(self) -> None:
        self._stream.close()

    def view(self, start: int, end: int) -> View:
        """What the window has of a range."""
        if end > self._origin + len(self._window) and not self.ended:
            raise NeedsMore
        start = max(start, self._origin)
        data = self._window[start - self._origin : end - self._origin]
        return View(data, start, self.ended and start + len(data) >= self._origin + len(self._window))

    def _filled(self, size: int) -> bool:
        """Read until the window holds `size` bytes or the input ends; false if nothing is left."""
        while len(self._window) < size and not self.ended:
            data = self._stream.read(size - len(self._window))
            self._window = self._window + data if self._window else data
            self.ended = not data
        return bool(self._window)

    def _block(self, at: ReadPosition, cut: BlockCut) -> Block:
        side: Split = "train"
        edge = self._next_edge(at.offset, at.offset + cut.at)
        if self._walk.is_val(at.offset):
            side = "val"
        if edge is not None and edge - at.offset < cut.at:
            cut = BlockCut(edge - at.offset)
        in_document = self._in_document(cut.at)
        end = self._origin + len(self._window) if self.ended else None
        data, self._window = self._window[: cut.at], self._window[cut.at :]
        file_position = self._stream.file_position
        if not self.ended and isinstance(self._stream, RangeStream) and self._stream.unread(len(self._window)):
            self._window = b""  # To read the few bytes again is less than to put the next window together.
        after = replace(at, offset=at.offset + len(data), in_document=in_document, digest=None)
        if self._finds_split_here:
            walk = self._walk
            after = replace(
                after,
                next_unit=walk.next_unit,
                owed=walk.owed,
                val_start=walk.val_start,
                val_end=walk.val_end,
                end=end,
            )
        layout = BlockLayout(self._kind, continues=at.in_document, open_end=in_document)
        return Block(data, layout, side, cut.inexact, at, after, file_position, self._name)

    def _in_document(self, at: int) -> bool:
        if self.ended and at == len(self._window):
            return self._stops_in_document
        return self._cuts.in_document(self._window, at)

    def _next_edge(self, start: int, end: int) -> int | None:
        """The first change of sides after `start`, if one comes before `end`."""
        walk = self._walk
        if self._continues_val:
            walk.go_on(start, self._boundaries)
            self._continues_val = False
        while walk.val_end <= start and (known := walk.known_to()) is not None and known < end:
            walk.find_next(self._boundaries)
        return walk.edge_after(start)


def too_long(name: str, offset: int, cuts: Cuts) -> MemwatchError:
    """For a record or document that is larger than the largest block."""
    if isinstance(cuts, WholeDocumentCuts):
        return MemwatchError(
            f"{name} has a document larger than {format_size(MOST_BLOCK_BYTES)} at byte {offset}, and a cut in "
            "it could change tokens of this vocabulary; separate its documents with --documents line, blank or TEXT"
        )
    return MemwatchError(
        f"{name} has a record larger than {format_size(MOST_BLOCK_BYTES)} at byte {offset}; "
        "--bad-records skip leaves it out"
    )
