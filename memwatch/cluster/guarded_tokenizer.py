"""The tokenizer that a task finds in its worker process, or starts: under a guard, in a temporary folder.

Ray uses a worker process for many tasks, one at a time. A tokenizer that is still there from the last task of the same
run is used again; any other one is ended. Losing it loses nothing that is not in the done-marks.
"""

import fcntl
import glob
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from memwatch.cluster.guard_readings import GuardReadings
from memwatch.cluster.segment_tasks import SegmentTask
from memwatch.errors import ExitCode
from memwatch.model.wording import how_it_ended

PREFIX = "memwatch-task-"
LOCK = "lock"
LOOK_EVERY_S = 1.0
TAIL_CHARACTERS = 300


class GuardedTokenizer:
    def __init__(self, task: SegmentTask, node: str, guard_options: list[str]) -> None:
        self.made_for = _run_of(task)
        self.done_bytes = 0  # of the segments before this one
        self.when_exited: Callable[[], None] = lambda: None  # called from a thread of its own
        self._busy = threading.Lock()
        self._left = ExitStack()
        folder = self._left.enter_context(task_folder())
        self.readings = GuardReadings(os.path.join(folder, "journal.jsonl"))
        self._errors = os.path.join(folder, "err")
        job = [task.out, node, task.engine, str(task.budget_bytes), task.plan_sha256, task.changed_settings]
        command = [sys.executable, "-m", "memwatch.cluster.guarded_run", str(os.getpid()), "run", *guard_options]
        command += ["--record", self.readings.path, "--", sys.executable, "-m", "memwatch.cluster.task_tokenizer", *job]
        # One thread: Ray starts a task for every CPU.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
            )
        threading.Thread(target=self._clean_up, name="tokenizer-end", daemon=True).start()

    def fits(self, task: SegmentTask) -> bool:
        return self._process.poll() is None and self.made_for == _run_of(task)

    def made(self, number: int, step: Callable[[], None]) -> dict[str, Any] | None:
        """What became of the segment; None if the tokenizer had exited before it received the number. Calls `step` when
        the number is sent, and every second."""
        assert self._process.stdin is not None
        with self._busy:
            if self._process.stdin.closed:
                return None  # It was idle too long, and is cleaned up.
            self.readings.begin()
            try:
                lines = self._answers(number, step)
                code = None if len(lines) == 2 else self._process.wait()
            except BaseException:
                self._process.kill()
                raise
            self.readings.refresh()
            if code is not None:
                return None if not lines and code == ExitCode.OK else self._problem(code)
            self.done_bytes += int(lines[1].get("text_bytes", 0))
            return lines[1]

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self, number: int, step: Callable[[], None]) -> list[dict[str, Any]]:
        """The lines that it prints: two, or fewer if it exits before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{number}\n".encode())
            self._process.stdin.flush()
        step()
        lines: list[dict[str, Any]] = []
        data, out = b"", self._process.stdout.fileno()
        while len(lines) < 2:
            if not select.select([out], [], [], LOOK_EVERY_S)[0]:
                step()
                continue
            if not (more := os.read(out, 4096)):
                break
            *complete, data = (data + more).split(b"\n")
            for line in complete:
                with suppress(ValueError):
                    lines.append(json.loads(line))
        return lines

    def _problem(self, code: int) -> dict[str, Any]:
        if code == ExitCode.STOPPED:
            return {"problem": f"stopped for memory: {self.readings.stop_reason}"[:TAIL_CHARACTERS]}
        how = how_it_ended(code, code - 128 if code > 128 else None)
        with open(self._errors, "rb") as file:
            said = " ".join(file.read().decode(errors="replace").split())[-TAIL_CHARACTERS:]
        return {"problem": f"its process {how} {said}".strip()}

    def _clean_up(self) -> None:
        self._process.wait()
        with self._busy:
            self.when_exited()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            self._left.close()


def _run_of(task: SegmentTask) -> tuple[object, ...]:
    return task.out, task.plan_sha256, task.engine, task.budget_bytes, task.changed_settings


@contextmanager
def task_folder() -> Iterator[str]:
    """Locked as long as this process lives: pids mean nothing where containers share a folder. Ray kills its workers
    with SIGKILL, so the next one removes what they left."""
    remove_abandoned(tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix=PREFIX)
    lock = os.open(os.path.join(folder, LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned(where: str) -> None:
    for folder in glob.glob(os.path.join(glob.escape(where), f"{PREFIX}*")):
        try:
            lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # Another user's, or about to be locked.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # At work.
        finally:
            os.close(lock)
