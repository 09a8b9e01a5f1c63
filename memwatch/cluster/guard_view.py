"""What the guard of a rank finds, as the rank shows it to others: level and headroom, and its journal."""

import os
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from memwatch.cluster.kept_journals import KEEP_EVERY_S, KeptJournal
from memwatch.cluster.nodes import NodeStatus
from memwatch.cluster.ranks import Rank, rank_of
from memwatch.cluster.run_folder import RunFolder
from memwatch.cluster.run_report import RunReporter
from memwatch.errors import MemwatchError
from memwatch.storage.address import parent


def journal_name(rank: Rank | None) -> str:
    """The folder of its journal: the same if the rank is started again. None is the driver of a run on Ray."""
    return f"{socket.gethostname()}-{'driver' if rank is None else f'rank-{rank.number:05d}'}"


class RankGuard:
    def __init__(self, folder: RunFolder, name: str, reporter: RunReporter) -> None:
        self._folder = folder
        self._name = name
        self._reporter = reporter
        self._kept_s = time.monotonic()

    def shown(self, status: NodeStatus) -> NodeStatus:
        """Called with every beat. Also keeps the journal, in case this machine is lost; `memwatch run` keeps it again
        at the end."""
        readings = self._reporter.readings
        if readings is None:
            return status
        readings.refresh()
        now = time.monotonic()
        if now >= self._kept_s + KEEP_EVERY_S:
            self._kept_s = now
            with suppress(MemwatchError, OSError):
                KeptJournal(self._folder, self._name, None, readings.path).keep()
        return replace(status, headroom_bytes=readings.headroom_bytes, level=readings.level)


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
