"""The end of a run: the validation files from the parts of the segments, then the manifest; nothing partial remains."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

from memwatch.cluster.run_folder import MANIFEST, RunFolder, SegmentFile, SegmentMark, SharedPlan
from memwatch.cluster.run_manifest import bad_records_of, manifest_from
from memwatch.cluster.segment_files import starts_in
from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.storage.retrying import upload_pieces
from memwatch.tokenize.formats.format_registry import FORMATS, has_index
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.tally import check_bad_records
from memwatch.tokenize.vocabulary_file import encoding_of

COPY_BYTES = 8 * MIB


class ValPiece(NamedTuple):
    """Tokens of a segment's part that go to one validation file."""

    mark: SegmentMark
    start: int
    end: int


def val_files(marks: Iterable[SegmentMark], most_tokens: int | None) -> list[list[ValPiece]]:
    """Which tokens go to which validation file: one, unless the format limits its size."""
    files: list[list[ValPiece]] = [[]]
    room = most_tokens
    for mark in marks:
        start, total = 0, 0 if mark.val is None else mark.val.tokens
        while start < total:
            if room == 0:
                files.append([])
                room = most_tokens
            end = total if room is None else min(total, start + room)
            files[-1].append(ValPiece(mark, start, end))
            room = None if room is None else room - (end - start)
            start = end
    return files


class ValWriter:
    """Joins the parts in the order of the segments, checked against the marks on the way."""

    def __init__(self, folder: RunFolder, plan: SharedPlan) -> None:
        self._folder = folder
        self._settings = TokenizeSettings(**plan.settings)
        self._format = FORMATS[self._settings.format]
        self._token_bytes = encoding_of(self._settings).token_bytes
        self._names = plan.names

    def write(self, marks: Sequence[SegmentMark]) -> tuple[list[SegmentFile], list[SegmentFile]]:
        """All validation files, and the index of each, if there is to be one."""
        pieces = val_files(marks, self._format.most_tokens(self._token_bytes))
        files = [self._write_tokens(number, each) for number, each in enumerate(pieces)]
        if not has_index(self._settings):
            return files, []
        return files, [self._write_index(number, each) for number, each in enumerate(pieces)]

    def _write_tokens(self, number: int, pieces: list[ValPiece]) -> SegmentFile:
        tokens = sum(piece.end - piece.start for piece in pieces)

        def content() -> Iterator[bytes]:
            yield self._format.header(tokens, self._token_bytes)
            for piece in pieces:
                yield from self._tokens_of(piece)

        return self._upload(self._names.file("val", number, sharded=True), tokens, content)

    def _tokens_of(self, piece: ValPiece) -> Iterator[bytes]:
        part, address = piece.mark.val, self._folder.val_part(piece.mark.number)
        assert part is not None
        digest, end = hashlib.sha256(), piece.end * self._token_bytes
        for start in range(piece.start * self._token_bytes, end, COPY_BYTES):
            data = self._folder.store.read(address, start, min(start + COPY_BYTES, end))
            digest.update(data)
            yield data
        if piece.end - piece.start == part.tokens and digest.hexdigest() != part.sha256:
            raise MemwatchError(
                f"{address} differs from its done-mark; "
                f"remove {self._folder.mark_address(piece.mark.number)} to make segment {piece.mark.number} again"
            )

    def _write_index(self, number: int, pieces: list[ValPiece]) -> SegmentFile:
        with tempfile.TemporaryFile() as joined:
            tokens = self._join_starts(pieces, joined)
            starts = starts_in(joined)
            name = self._names.index("val", number, sharded=True)
            return self._upload(name, 0, lambda: self._format.index(starts, tokens, self._token_bytes))

    def _join_starts(self, pieces: list[ValPiece], joined: IO[bytes]) -> int:
        """Positions in a part become positions in the file. Returns the number of tokens of the file."""
        import numpy as np  # Only here: a rank does without it.

        tokens = 0
        for piece in pieces:
            address, file = self._folder.val_starts(piece.mark.number), piece.mark.val_starts
            size = 0 if file is None else file.size_bytes
            for offset in range(0, size, COPY_BYTES):
                starts = np.frombuffer(self._folder.store.read(address, offset, min(offset + COPY_BYTES, size)), "<i8")
                inside = starts[(starts >= piece.start) & (starts < piece.end)]
                joined.write((inside - piece.start + tokens).astype("<i8").tobytes())
            tokens += piece.end - piece.start
        return tokens

    def _upload(self, name: str, tokens: int, content: Callable[[], Iterator[bytes]]) -> SegmentFile:
        digest, size = hashlib.sha256(), 0

        def pieces() -> Iterator[bytes]:
            nonlocal digest, size
            digest, size = hashlib.sha256(), 0
            for piece in content():
                digest.update(piece)
                size += len(piece)
                yield piece

        upload_pieces(self._folder.store, self._folder.file(name), pieces, self._folder.scratch)
        return SegmentFile(name, tokens, size, digest.hexdigest())


def finish_run(folder: RunFolder, plan: SharedPlan, seconds: float, peak_rss_bytes: int | None, bad_limit: str) -> None:
    """Write the validation files and the manifest of a run whose segments are all done."""
    settings = TokenizeSettings(**plan.settings)
    marks = list(folder.marks(len(plan.segments)))
    bad = bad_records_of(plan, marks)
    records = sum(mark.counts["records"] for mark in marks)
    check_bad_records(bad["skipped"], records, bad_limit, bad["first"], grace=0)
    val, val_index = ValWriter(folder, plan).write(marks) if settings.wants_val else ([], [])
    encoding = encoding_of(settings)
    write_manifest(folder, manifest_from(plan, marks, val, val_index, encoding, seconds, peak_rss_bytes))


def write_manifest(folder: RunFolder, manifest: dict[str, Any]) -> None:
    folder.store.put(folder.file(MANIFEST), json.dumps(manifest, indent=1).encode() + b"\n")
