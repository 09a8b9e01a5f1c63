"""A soak: one guard over tokenize runs without end, with views that come and go, pauses, resumes and switches.

    python -m tests.faults.soak --minutes 20

Everything is chosen at random (--seed). At the end it tells how the guard's memory and descriptors have moved, what was
left behind, and how many rounds ended with exactly the tokens of the first one.
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from memwatch.channel import Channel
from memwatch.errors import MemwatchError
from memwatch.guard.attach_socket import connect
from memwatch.tokenize.rss import rss_bytes
from tests.guard.processes import children, command_of, send, wait_until
from tests.helpers import HANG_S, memwatch

# Rounds end under a name of their own, where they are looked at and removed; the file `stop` ends the loop.
LOOP = """
i=0
while ! [ -e stop ]; do
    i=$((i + 1))
    "$@" --out work --force || exit
    mv work "round-$i"
done
"""
OPTIONS = ("--val-ratio", "0", "--shard-tokens", "300k", "--workers", "1", "--block-size", "64k")
MOST_VIEWS = 4
# What an allocator moves to and fro, and a page or two for the views that happen to be there.
STEADY_RSS_BYTES = 512 << 10
# With fewer, the last quarter is one moment, in which a pause or a new worker may just have its descriptors open.
LEAST_LOOKS = 16


@dataclass
class Look:
    """At one moment of the soak."""

    clock_s: float
    guard_rss_bytes: int
    guard_fds: int  # without those of the views that we know of
    coordinator_fds: int | None


@dataclass
class Outcome:
    looks: list[Look] = field(default_factory=list)
    rounds: int = 0
    exact_rounds: int = 0
    done: dict[str, int] = field(default_factory=dict)
    exit_code: int | None = None
    orphans: list[int] = field(default_factory=list)

    @property
    def rss_growth_bytes(self) -> float:
        """From the second quarter to the last one: the first is for getting warm."""
        rss = [look.guard_rss_bytes for look in self.looks]
        quarter = max(len(rss) // 4, 1)
        return statistics.median(rss[-quarter:]) - statistics.median(rss[quarter : 2 * quarter] or rss)

    @property
    def rss_slope_bytes_per_minute(self) -> float:
        later = self.looks[len(self.looks) // 4 :]
        if len(later) < 3:
            return 0.0
        slope = statistics.linear_regression(
            [look.clock_s for look in later], [float(look.guard_rss_bytes) for look in later]
        ).slope
        return 60 * slope

    @property
    def guard_fds(self) -> tuple[int, int]:
        return min(look.guard_fds for look in self.looks), max(look.guard_fds for look in self.looks)

    @property
    def coordinator_fds(self) -> tuple[int, int]:
        known = [look.coordinator_fds for look in self.looks if look.coordinator_fds is not None]
        return (min(known), max(known)) if known else (0, 0)

    @property
    def problems(self) -> list[str]:
        quarter = max(len(self.looks) // 4, 1)
        early = max(look.guard_fds for look in self.looks[: 2 * quarter])
        late = min(look.guard_fds for look in self.looks[-quarter:])  # Some belong to processes that come and go.
        checks = {
            f"exit code {self.exit_code}": self.exit_code != 0,
            "no round was finished": self.rounds == 0,
            f"{self.rounds - self.exact_rounds} rounds with other tokens": self.exact_rounds < self.rounds,
            f"the guard grew by {self.rss_growth_bytes / 1024:.0f} KiB": self.rss_growth_bytes > STEADY_RSS_BYTES,
            f"the guard had {early} descriptors at the most, later {late} at the least": late > early
            and len(self.looks) >= LEAST_LOOKS,
            f"processes left behind: {self.orphans}": bool(self.orphans),
        }
        return [problem for problem, is_there in checks.items() if is_there]

    def lines(self) -> list[str]:
        minutes = (self.looks[-1].clock_s - self.looks[0].clock_s) / 60
        rss = [look.guard_rss_bytes / 2**20 for look in self.looks]
        eighth = max(len(rss) // 8, 1)
        medians = [statistics.median(rss[start : start + eighth]) for start in range(0, len(rss) - eighth + 1, eighth)]
        did = ", ".join(f"{name} {count}" for name, count in sorted(self.done.items()))
        return [
            f"soak        {minutes:.1f} min, {len(self.looks)} looks; {did}",
            f"rounds      {self.rounds}, exact {self.exact_rounds}; exit code {self.exit_code}",
            f"guard RSS   {min(rss):.1f} to {max(rss):.1f} MiB, slope {self.rss_slope_bytes_per_minute / 1024:+.1f} "
            f"KiB/min, from the second quarter to the last {self.rss_growth_bytes / 1024:+.0f} KiB",
            f"            by eighths of the time {' '.join(f'{median:.2f}' for median in medians)} MiB",
            "descriptors guard {} to {} (views apart), coordinator {} to {}".format(
                *self.guard_fds, *self.coordinator_fds
            ),
            f"orphans     {len(self.orphans)}",
            *(f"PROBLEM     {problem}" for problem in self.problems),
        ]


class Soak:
    def __init__(self, text: Path, folder: Path, seed: int, engine: str = "tiktoken") -> None:
        self._chance = random.Random(seed)
        self._folder = folder
        self._journal = folder / "soak.jsonl"
        self._outcome = Outcome()
        self._views: list[Channel] = []
        self._attached: list[subprocess.Popen[bytes]] = []
        self._seen: set[tuple[int, str]] = set()
        self._command = [sys.executable, "-m", "memwatch.tokenize", str(text), *OPTIONS, "--engine", engine]
        first = folder / "first"
        made = memwatch("run", "--no-record", "--ui", "none", "tokenize", text, "--out", first, "--val-ratio", "0")
        assert made.code == 0, made.err
        self._expected = (first / "train.bin").read_bytes()

    def run(self, seconds: float) -> Outcome:
        options = ["--ui", "none", "--record", str(self._journal)]
        loop = ["sh", "-c", LOOP, "loop", *self._command]
        front = subprocess.Popen(
            [sys.executable, "-m", "memwatch", "run", *options, "--", *loop],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_until(lambda: self._journal.with_suffix(".sock").exists(), "the guard can be joined")
            self._guard = children(front.pid)[0]
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s and front.poll() is None:
                self._do_something()
                self._look()
                self._check_rounds()
            self._end(front)
        finally:
            for pid, start in self._seen:
                if _start_of(pid) == start:
                    send(pid, signal.SIGKILL)
            front.kill()
            front.wait(HANG_S)
        return self._outcome

    def _do_something(self) -> None:
        name = self._chance.choice(["pause", "pause", "shard", "join", "leave", "attach", "detach", "nothing"])
        getattr(self, f"_{name}")()
        self._outcome.done[name] = self._outcome.done.get(name, 0) + 1
        time.sleep(self._chance.uniform(0.1, 1.0))

    def _nothing(self) -> None:
        for view in self._views:
            if self._chance.random() < 0.8:  # Some never read.
                view.receive()

    def _pause(self) -> None:
        """And resume, sometimes twice or by another view."""
        self._tell("pause")
        time.sleep(self._chance.uniform(0.0, 1.0))
        for _ in range(self._chance.randint(1, 2)):
            self._tell("resume")

    def _shard(self) -> None:
        self._tell("shard")

    def _join(self) -> None:
        if len(self._views) < MOST_VIEWS:
            self._views.append(connect(str(self._journal)))

    def _leave(self) -> None:
        if self._views:
            self._views.pop(self._chance.randrange(len(self._views))).close()

    def _attach(self) -> None:
        if len(self._attached) < MOST_VIEWS:
            command = [sys.executable, "-m", "memwatch", "attach", str(self._journal)]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self._attached.append(subprocess.Popen(command, **quiet))  # type: ignore[call-overload]

    def _detach(self) -> None:
        if self._attached:
            left = self._attached.pop(self._chance.randrange(len(self._attached)))
            left.send_signal(self._chance.choice([signal.SIGINT, signal.SIGKILL]))
            left.wait(HANG_S)

    def _tell(self, command: str) -> None:
        with suppress(MemwatchError):
            view = connect(str(self._journal))
            view.send({"command": command})
            view.close()

    def _look(self) -> None:
        tree = _tree(self._guard)
        self._seen |= {(pid, start) for pid in tree if (start := _start_of(pid)) is not None}
        coordinators = [pid for pid in tree if command_of(pid)[1:3] == ["-m", "memwatch.tokenize"]]
        rss, fds = rss_bytes(self._guard), _fds(self._guard)
        if rss is not None and fds is not None:
            views = len(self._views) + sum(view.poll() is None for view in self._attached)
            coordinator = _fds(coordinators[0]) if coordinators else None
            self._outcome.looks.append(Look(time.monotonic(), rss, fds - views, coordinator))

    def _check_rounds(self) -> None:
        for folder in self._folder.glob("round-*"):
            parts = sorted(folder.glob("train*.bin"))
            self._outcome.rounds += 1
            self._outcome.exact_rounds += b"".join(part.read_bytes() for part in parts) == self._expected
            shutil.rmtree(folder)

    def _end(self, front: "subprocess.Popen[bytes]") -> None:
        for view in self._views:
            view.close()
        (self._folder / "stop").touch()
        self._outcome.exit_code = front.wait(HANG_S)
        self._check_rounds()
        for attached in self._attached:
            attached.wait(HANG_S)
        # A process that was killed may take a moment to go.
        deadline_s = time.monotonic() + 2
        while time.monotonic() < deadline_s and self._left():
            time.sleep(0.02)
        self._outcome.orphans = self._left()

    def _left(self) -> list[int]:
        return [pid for pid, start in self._seen if _start_of(pid) == start]


def _tree(pid: int) -> list[int]:
    pids = [pid]
    for parent in pids:
        pids += children(parent)
    return pids


def _start_of(pid: int) -> str | None:
    """What tells it from a later process with the same pid; None if it is gone."""
    with suppress(OSError):
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else fields[18]
    return None


def _fds(pid: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description="Guard tokenize runs for a long time, and disturb them.")
    parser.add_argument("text", type=Path)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("soak"))
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    outcome = Soak(options.text.resolve(), options.folder.resolve(), options.seed).run(60 * options.minutes)
    print("\n".join(outcome.lines()))
    shutil.rmtree(options.folder, ignore_errors=True)
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
