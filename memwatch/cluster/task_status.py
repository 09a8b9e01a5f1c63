"""What a task shows of itself in the output folder while it runs: status, and the journal of its guard."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, replace

from memwatch.cluster.guarded_tokenizer import GuardedTokenizer
from memwatch.cluster.kept_journals import KEEP_EVERY_S, KeptJournal
from memwatch.cluster.nodes import NodeStatus, announce
from memwatch.cluster.run_folder import RunFolder
from memwatch.cluster.segment_tasks import SegmentTask
from memwatch.errors import MemwatchError


@dataclass(slots=True)
class _Past:
    """What the earlier tasks of this process did. Ray uses a worker process for many tasks; losing it loses nothing
    that is not in the done-marks."""

    beat: int = 0
    tasks: int = 0
    done: int = 0
    done_bytes: int = 0
    busy_s: float = 0.0


_past: dict[str, _Past] = {}


def node_name(host: str, machine: str) -> str:
    return f"{host}-{machine[:8]}"


class TaskStatus:
    def __init__(self, task: SegmentTask, machine: str, host: str, tokenizer: GuardedTokenizer) -> None:
        node = node_name(host, machine)
        self._task = task
        self._folder = RunFolder(task.out)
        self._tokenizer, self._readings = tokenizer, tokenizer.readings
        self._before_bytes = tokenizer.done_bytes
        self._past = _past.setdefault(task.out, _Past())
        self._past.tasks += 1
        self._task_of_process = self._past.tasks
        self._status = NodeStatus(f"{node}-{os.getpid()}", host, None, None, 1, running=(task.number,), machine=node)
        self._journal = KeptJournal(self._folder, node, task.number, self._readings.path)
        self._started_s = self._kept_s = time.monotonic()
        self._beat_s = float("-inf")
        tokenizer.when_exited = self._show_idle

    def step(self) -> None:
        """Called when the tokenizer has begun, so that it does not wait for a store, and every second from then on. A
        store that fails makes the view older, and does no harm."""
        now = time.monotonic()
        if now >= self._beat_s + self._task.beat_s:
            self._beat_s = now
            self._readings.refresh()
            self._announce(self._status)
        if now >= self._kept_s + KEEP_EVERY_S:
            self._kept_s = now
            with suppress(MemwatchError, OSError):
                self._journal.keep()

    def end(self, is_done: bool) -> None:
        """The end of a segment that is done is not announced: the next one is about to begin, and would wait for it."""
        past = self._past
        past.busy_s += time.monotonic() - self._started_s
        past.done_bytes += self._tokenizer.done_bytes - self._before_bytes
        self._before_bytes, self._readings.done_bytes = self._tokenizer.done_bytes, None
        past.done += is_done
        self._started_s = time.monotonic()
        if not is_done:
            self._announce(replace(self._status, running=(), ended=True))
        is_uneventful = is_done and self._readings.is_uneventful
        with suppress(MemwatchError, OSError):
            if past.tasks == 1 or not is_uneventful:
                self._journal.keep()
            else:
                self._journal.drop()

    def _show_idle(self) -> None:
        """The tokenizer has exited: no other task came. When the run is over, nothing is written to its folder."""
        with suppress(MemwatchError, OSError):
            if self._past.tasks == self._task_of_process and self._folder.has_plan:
                self._announce(replace(self._status, running=(), ended=True))

    def _announce(self, status: NodeStatus) -> None:
        past, readings = self._past, self._readings
        past.beat += 1
        done_bytes = past.done_bytes + max((readings.done_bytes or 0) - self._before_bytes, 0)
        busy_s = past.busy_s + time.monotonic() - self._started_s
        shown = replace(
            status,
            beat=past.beat,
            done=past.done,
            done_bytes=done_bytes,
            rate_bytes_s=done_bytes / busy_s if done_bytes and busy_s else None,
            headroom_bytes=readings.headroom_bytes,
            level=readings.level,
            is_paused=readings.is_paused,
        )
        with suppress(MemwatchError, OSError):
            announce(self._folder, shown)
