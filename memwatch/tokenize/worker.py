"""A worker: encodes blocks in shared memory until the coordinator ends it or exits."""

import mmap
import os
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from memwatch.errors import MemwatchError
from memwatch.tokenize.encoding import BadBytes, BadRecord, BlockEncoder
from memwatch.tokenize.engines import choose
from memwatch.tokenize.messages import BlockDone, BlockFailed, Ready, Shrink, Task, WorkerBroken
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding


class Worker:
    def __init__(
        self, connection: Connection, slots: list[mmap.mmap], encoder: BlockEncoder, dtype: str, budget_bytes: int
    ) -> None:
        self._connection = connection
        self._slots = slots
        self._encoder = encoder
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._budget_bytes = budget_bytes

    def work(self) -> None:
        while True:
            match self._connection.recv():
                case Task() as task:
                    self._connection.send(self._done(task))
                    if (rss_bytes(os.getpid()) or 0) > self._budget_bytes:
                        self._encoder.engine.renew()
                case Shrink(memory_budget_bytes):
                    self._budget_bytes = memory_budget_bytes
                    self._encoder.engine.renew()

    def _done(self, task: Task) -> BlockDone | BlockFailed:
        slot = self._slots[task.slot]
        try:
            tokens, counts = self._encoder.encode(slot[: task.length], task.layout)
        except BadRecord as error:
            return BlockFailed(task.number, task.slot, str(error), line=error.line)
        except BadBytes as error:
            return BlockFailed(task.number, task.slot, str(error), offset=error.offset)
        except MemwatchError as error:
            return BlockFailed(task.number, task.slot, str(error))
        np.frombuffer(slot, self._dtype, count=len(tokens))[:] = tokens
        return BlockDone(task.number, task.slot, len(tokens), counts)


def main(
    connection: Connection,
    slots: list[mmap.mmap],
    settings: TokenizeSettings,
    encoding: Encoding,
    ranks: Path,
    wanted_engine: str,
    check_engine: bool,
    budget_bytes: int,
) -> None:
    try:
        chosen = choose(wanted_engine, encoding, ranks, check_engine)
        connection.send(Ready(f"{chosen.engine.name} {chosen.engine.version}", chosen.note))
        encoder = BlockEncoder(chosen.engine, encoding, settings)
        Worker(connection, slots, encoder, encoding.dtype, budget_bytes).work()
    except (EOFError, ConnectionError):
        pass  # The coordinator has gone, or closed the connection: nothing is left to do.
    except MemwatchError as error:
        connection.send(WorkerBroken(str(error)))
    except Exception as error:
        connection.send(WorkerBroken(f"a worker failed: {type(error).__name__}: {error}"))
