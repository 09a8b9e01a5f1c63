"""The end of a run: val.bin from the segments' parts, then the manifest, then nothing unfinished remains."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memwatch.cluster.marks import SegmentFile, SegmentMark
from memwatch.cluster.run_folder import MANIFEST, RunFolder
from memwatch.cluster.run_manifest import bad_records_of, manifest_from
from memwatch.cluster.shared_plan import SharedPlan
from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.storage.uploading import upload_pieces
from memwatch.tokenize.bad_records import check_bad_records
from memwatch.tokenize.formats import header
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import encoding_named

COPY_BYTES = 8 * MIB


@dataclass(frozen=True, slots=True)
class ValFile:
    """How val.bin is called and what stands before its tokens (by the number of tokens)."""

    name: str
    header: Callable[[int], bytes]


def write_val(folder: RunFolder, marks: Sequence[SegmentMark], val: ValFile) -> SegmentFile:
    """Join the parts in the order of the segments. Checked against the marks on the way."""
    parts = [(mark.number, mark.val) for mark in marks if mark.val is not None]
    tokens = sum(part.tokens for _, part in parts)
    head = val.header(tokens)
    digest, size = hashlib.sha256(), 0

    def pieces() -> Iterator[bytes]:
        nonlocal digest, size
        digest, size = hashlib.sha256(), 0
        for piece in _joined(folder, head, parts):
            digest.update(piece)
            size += len(piece)
            yield piece

    upload_pieces(folder.store, folder.file(val.name), pieces, folder.scratch)
    return SegmentFile(val.name, tokens, size, digest.hexdigest())


def _joined(folder: RunFolder, head: bytes, parts: Iterable[tuple[int, SegmentFile]]) -> Iterator[bytes]:
    yield head
    for number, part in parts:
        address = folder.val_part(number)
        digest = hashlib.sha256()
        for start in range(0, part.size_bytes, COPY_BYTES):
            piece = folder.store.read(address, start, min(start + COPY_BYTES, part.size_bytes))
            digest.update(piece)
            yield piece
        if digest.hexdigest() != part.sha256:
            raise MemwatchError(
                f"{address} differs from its done-mark; "
                f"remove {folder.mark_address(number)} to make segment {number} again"
            )


def finish_run(folder: RunFolder, plan: SharedPlan, seconds: float, peak_rss_bytes: int | None, bad_limit: str) -> None:
    """Write val.bin and the manifest of a run whose segments are all done."""
    settings = TokenizeSettings(**plan.settings)
    encoding = encoding_named(settings.encoding)
    marks = list(folder.marks(len(plan.segments)))
    bad = bad_records_of(plan, marks)
    records = sum(mark.counts["records"] for mark in marks)
    check_bad_records(bad["skipped"], records, bad_limit, bad["first"], grace=0)
    val = None
    if settings.val_fraction:
        name = plan.names.file("val", 0, sharded=True)
        val = write_val(folder, marks, ValFile(name, lambda tokens: header(settings.format, tokens, encoding)))
    write_manifest(folder, manifest_from(plan, marks, val, encoding, seconds, peak_rss_bytes))


def write_manifest(folder: RunFolder, manifest: dict[str, Any]) -> None:
    folder.store.put(folder.file(MANIFEST), json.dumps(manifest, indent=1).encode() + b"\n")
