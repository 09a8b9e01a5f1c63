"""The worker process of a rank: encodes one segment after the other until the rank exits or ends it."""

import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from memwatch.cluster.run_folder import RunFolder, SegmentMark
from memwatch.cluster.segment_encoding import SegmentCounts, SegmentEncoding
from memwatch.cluster.segment_files import EncodedPieces, IndexFile, TokenFile, raw_starts, write_segment
from memwatch.cluster.shared_vocabulary import vocabulary_here
from memwatch.cluster.worker_process import (
    FromWorker,
    SegmentDone,
    SegmentFailed,
    WorkerFailed,
    WorkerOrder,
    WorkerReady,
)
from memwatch.errors import MemwatchError
from memwatch.storage.retrying import StorageUnavailable
from memwatch.tokenize.formats.format_registry import FORMATS, has_index
from memwatch.tokenize.interrupts import ASK_FOR_SHARDS, ASK_TO_STOP

Report = Callable[[float], None]


class SegmentWorker:
    def __init__(self, order: WorkerOrder) -> None:
        self._order = order
        self._folder = RunFolder(order.out)
        plan = self._folder.load_plan()
        if plan is None:
            raise MemwatchError(f"{self._folder.plan_address} is missing; another process has finished the run")
        if order.plan_sha256 not in (None, plan.sha256):
            raise MemwatchError(f"{self._folder.plan_address} is the plan of another run, started meanwhile")
        self._encoding = SegmentEncoding(
            plan,
            order.engine,
            order.budget_bytes,
            order.changed_settings,
            order.vocabulary or vocabulary_here(self._folder, plan),
        )
        self._names = plan.names

    @property
    def ready(self) -> WorkerReady:
        return WorkerReady(self._encoding.engine, self._encoding.note)

    def shrink(self) -> None:
        """Memory is short: keep nothing that can be computed again."""
        self._encoding.shrink()

    def grow(self) -> None:
        """The next segment may take its memory again."""
        self._encoding.grow()

    def done(self, number: int, report: Report | None = None) -> SegmentDone | SegmentFailed:
        """`report` is called with the bytes of text that are done."""
        try:
            mark = self._made(number, report)
            self._folder.write_mark(mark)
        except StorageUnavailable as error:
            return SegmentFailed(number, str(error), may_pass=True)
        except MemwatchError as error:
            return SegmentFailed(number, str(error), may_pass=False)
        except OSError as error:
            return SegmentFailed(number, f"{error.strerror or error}: {error.filename}", may_pass=True)
        return SegmentDone(number, mark.tokens)

    def _made(self, number: int, report: Report | None) -> SegmentMark:
        began_s = time.monotonic()
        counts = SegmentCounts()
        encoding, output = self._encoding.encoding, FORMATS[self._encoding.settings.format]
        shard = self._folder.file(self._names.file("train", number, sharded=True))
        header = (lambda tokens: output.header(tokens, encoding.token_bytes)) if output.header_bytes else None
        index = val_starts = None
        if has_index(self._encoding.settings):
            address = self._folder.file(self._names.index("train", number, sharded=True))
            index = IndexFile(address, lambda starts, tokens: output.index(starts, tokens, encoding.token_bytes))
            val_starts = IndexFile(self._folder.val_starts(number), raw_starts)
        train = TokenFile(shard, encoding.token_bytes, header, index)
        val = TokenFile(self._folder.val_part(number), encoding.token_bytes, index=val_starts)
        pieces = _reported(self._encoding.encoded(number, counts), counts, report)
        written, val_written = write_segment(self._folder.store, self._folder.scratch, pieces, train, val)
        seconds = round(time.monotonic() - began_s, 3)
        return SegmentMark(
            number, written.tokens, val_written.tokens, counts.as_json(), self._encoding.engine, seconds,
            self._order.node, written.index, val_written.index,
        )  # fmt: skip


def _reported(pieces: EncodedPieces, counts: SegmentCounts, report: Report | None) -> EncodedPieces:
    for piece in pieces:
        if report is not None:
            report(counts.text_bytes)
        yield piece


def work(connection: Connection) -> None:
    order: WorkerOrder = connection.recv()
    worker = SegmentWorker(order)
    connection.send(worker.ready)
    while True:
        connection.send(worker.done(connection.recv()))


def main() -> None:
    for number in (*ASK_TO_STOP, ASK_FOR_SHARDS):
        signal.signal(number, signal.SIG_IGN)  # Sent to the whole job; the rank decides what they mean.
    connection = Connection(int(sys.argv[1]))
    failure: FromWorker
    try:
        work(connection)
    except (EOFError, ConnectionError):
        return  # The rank has exited.
    except MemwatchError as error:
        failure = WorkerFailed(str(error))
    except Exception as error:
        failure = WorkerFailed(f"a worker failed: {type(error).__name__}: {error}")
    connection.send(failure)


if __name__ == "__main__":
    main()
