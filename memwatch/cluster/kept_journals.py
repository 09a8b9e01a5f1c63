"""The journals of all nodes, kept with the run in OUT/.memwatch-journals, for `memwatch diagnose OUT`.

NODE/segment-00012-1f3a.jsonl    of a task: if anything happened in it, and of the first task of each process
NODE/rank.jsonl                  of a rank, or of the driver of a run on Ray
NODE/segment-00012-1f3a.problem  why an attempt at a segment failed
"""

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from memwatch.cluster.ranks import Rank, rank_of
from memwatch.cluster.run_folder import RunFolder
from memwatch.errors import MemwatchError
from memwatch.storage.address import join, name_of, parent

JOURNALS = ".memwatch-journals"
# A task has some hundred kilobytes; of a rank that runs for days, the end is what matters.
KEPT_BYTES = 8 << 20
# A machine that is lost has left what happened until so long before.
KEEP_EVERY_S = 30.0
_PROBLEM = ".problem"
_SEGMENT = re.compile(r"segment-(\d+)-[0-9a-f]+\.jsonl")


class KeptJournal:
    """The copy of one local journal. `number` is the segment of a task, None for a rank."""

    def __init__(self, folder: RunFolder, node: str, number: int | None, path: str) -> None:
        name = "rank.jsonl" if number is None else f"segment-{number:05d}-{secrets.token_hex(2)}.jsonl"
        self._store = folder.store
        self._address = join(folder.out, JOURNALS, node, name)
        self._path = path
        self._is_kept = False

    def keep(self) -> None:
        try:
            data = _ends_of(self._path)
        except FileNotFoundError:
            return  # The guard has written nothing.
        self._store.put(self._address, data)
        self._is_kept = True

    def drop(self) -> None:
        if self._is_kept:
            self._store.remove(self._address)


def _ends_of(path: str) -> bytes:
    """The journal; of a long one its start event and its last part."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        if size <= KEPT_BYTES:
            return file.read()
        head = file.readline()
        file.seek(size - KEPT_BYTES)
        file.readline()  # It may be half a line.
        return head + file.read()


@dataclass(frozen=True, slots=True)
class SegmentProblem:
    """A failed attempt. `source` is the input that the segment is of."""

    number: int
    node: str
    problem: str
    source: str
    t: float


def keep_problem(folder: RunFolder, number: int, node: str, problem: str, source: str) -> None:
    """For `diagnose`; if the store fails, the run does not."""
    record = SegmentProblem(number, node, problem, source, time.time())
    name = f"segment-{number:05d}-{secrets.token_hex(2)}{_PROBLEM}"
    with suppress(MemwatchError, OSError):
        folder.store.put(join(folder.out, JOURNALS, node, name), json.dumps(asdict(record)).encode() + b"\n")


def found_problems(folder: RunFolder) -> list[SegmentProblem]:
    found = []
    for info in folder.store.list_folder(join(folder.out, JOURNALS)):
        if info.address.endswith(_PROBLEM):
            with suppress(ValueError, TypeError):
                found.append(SegmentProblem(**json.loads(folder.store.read(info.address))))
    return sorted(found, key=lambda problem: problem.t)


@dataclass(frozen=True, slots=True)
class FoundJournal:
    """`segment` is None for the journal of a rank."""

    address: str
    node: str
    segment: int | None

    @property
    def name(self) -> str:
        return self.node if self.segment is None else f"{self.node}-segment-{self.segment}"


def found_journals(folder: RunFolder) -> list[FoundJournal]:
    found = []
    for info in folder.store.list_folder(join(folder.out, JOURNALS)):
        if info.address.endswith(_PROBLEM):
            continue
        segment = _SEGMENT.fullmatch(name_of(info.address))
        number = None if segment is None else int(segment[1])
        found.append(FoundJournal(info.address, name_of(parent(info.address)), number))
    return sorted(found, key=lambda journal: journal.address)


def journal_name(rank: Rank | None) -> str:
    """The folder of its journal: the same if the rank is started again. None is the driver of a run on Ray."""
    return f"{socket.gethostname()}-{'driver' if rank is None else f'rank-{rank.number:05d}'}"


def keep_journal(path: str, arguments: Sequence[str]) -> None:
    """At the end of `memwatch run`, whose tokenizer had these arguments: with the exit event, which only the guard
    knows. A run whose folder cannot be written to has said so."""
    from memwatch.cluster.rank_command import RANK_COMMAND

    with suppress(MemwatchError, OSError):
        options = RANK_COMMAND.make_context("tokenize", list(arguments)).params
        rank = rank_of(options["rank"], options["world_size"], os.environ) or Rank()
        name = journal_name(None if options["ray_address"] is not None else rank)
        folder = RunFolder(options["out"] or parent(options["inputs"][0]) or ".")
        if folder.is_finished or folder.load_plan() is not None:
            KeptJournal(folder, name, None, path).keep()
