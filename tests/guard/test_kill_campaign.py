"""Random kills of memwatch's processes, with the job paused or not: nothing of it stays stopped, nothing of it dies.

Where the job writes to a terminal of memwatch, or ptrace is forbidden, one of memwatch's four processes must be left.

12 of them in the ordinary suite, 200 with --campaign.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from memwatch.guard.watchers import COMMAND_LINES
from tests.guard.processes import NoPtrace, children, command_of, is_paused, send, state_of, wait_until
from tests.helpers import HANG_S

ORDINARY, CAMPAIGN = 12, 200
WATCHERS = {"watcher": COMMAND_LINES[0], "keeper": COMMAND_LINES[1]}

# Threads, a child with a child in a session of its own, a child that the job itself has stopped, and short-lived
# children all the time.
JOB = """
import json, os, signal, subprocess, sys, threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
child = subprocess.Popen(["sh", "-c", "setsid -w sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
grandchild = int(child.stdout.readline())
stopped = subprocess.Popen(["sleep", "1001"], process_group=0)
os.kill(stopped.pid, signal.SIGSTOP)
with open(sys.argv[1] + ".new", "w") as file:
    json.dump({"stopped": stopped.pid, "others": [os.getpid(), child.pid, grandchild]}, file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    subprocess.run(["sleep", "0.03"])
"""


class Fronted:
    """The real front with a screen that shows nothing, its guard and watchers, and the job."""

    def __init__(self, pids: Path, entrance: NoPtrace | None, job: str, *options: str) -> None:
        command = [sys.executable, "-m", "tests.guard.quiet_front", *options, sys.executable, "-c", job, str(pids)]
        if entrance is not None:
            command = entrance.command(*command)
        self.front = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
        )
        wait_until(pids.exists, "the job starts")
        found = json.loads(pids.read_text())
        self.stopped: int = found["stopped"]
        self.others: list[int] = found["others"]
        # On a busy machine the signal has been sent and has not stopped it yet.
        wait_until(lambda: state_of(self.stopped) == "T", "the job has stopped its child")
        (self.guard,) = children(self.front.pid)
        wait_until(lambda: all(map(self.watcher_pids, WATCHERS)), "both watchers start")
        self.watchers = {name: self.watcher_pids(name) for name in WATCHERS}

    def watcher_pids(self, name: str) -> list[int]:
        return [pid for pid in children(self.guard) if command_of(pid)[:1] == [WATCHERS[name]]]

    def all_watchers(self) -> list[int]:
        """Those that were killed, too."""
        return [pid for name in WATCHERS for pid in {*self.watchers[name], *self.watcher_pids(name)}]

    def tell(self, command: str) -> None:
        assert self.front.stdin is not None
        with suppress(BrokenPipeError):
            self.front.stdin.write(command + "\n")
            self.front.stdin.flush()

    def signal(self, name: str, number: signal.Signals) -> None:
        match name:
            case "front":
                send(self.front.pid, number)
            case "guard":
                send(self.guard, number)
            case _:
                # It may have been replaced.
                known = self.watchers[name]
                known += [pid for pid in self.watcher_pids(name) if pid not in known]
                if state_of(known[-1]) is not None:
                    send(known[-1], number)

    def running(self) -> set[int]:
        """All of the job but what it has stopped itself: also what it has just started."""
        return {*self.others, *children(self.others[0])} - {self.stopped}

    def close(self) -> None:
        everyone = [self.front.pid, self.guard, *self.all_watchers(), *self.others, self.stopped]
        for pid in [*children(self.others[0]), *children(self.others[1]), *everyone]:
            send(pid, signal.SIGKILL)
        self.front.communicate(timeout=HANG_S)
        wait_until(lambda: not any(map(state_of, everyone)))


@contextmanager
def fronted(pids: Path, entrance: NoPtrace | None = None, job: str = JOB, *options: str) -> Iterator[Fronted]:
    made = Fronted(pids, entrance, job, *options)
    try:
        yield made
    finally:
        made.close()


def any_thread_is_stopped(pid: int) -> bool:
    with suppress(OSError):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                state = Path(f"/proc/{pid}/task/{tid}/stat").read_text().rpartition(")")[2].split()[0]
                if state in ("t", "T"):
                    return True
    return False


def harm(run: Fronted, victims: list[str], chance: random.Random) -> list[str]:
    """Pause and resume, stop and kill at random. Returns what was done, in order, for the report of a failure."""
    done: list[str] = []

    def wait() -> None:
        longest_s = chance.choice([0, 0, 0.01, 0.3])
        if longest_s:
            time.sleep(chance.uniform(0, longest_s))

    for command in chance.choice([["pause"], ["pause"], ["pause", "resume", "pause"], ["pause", "resume"], []]):
        done.append(command)
        run.tell(command)
        wait()
    for victim in victims:
        if chance.random() < 0.3:
            sleeper = chance.choice(victims)
            done.append(f"SIGSTOP {sleeper}")
            run.signal(sleeper, signal.SIGSTOP)
            wait()
        done.append(f"SIGKILL {victim}")
        run.signal(victim, signal.SIGKILL)
        wait()
    return done


def nobody_is_harmed(run: Fronted, done: list[str]) -> None:
    story = ", ".join(done)
    wait_until(lambda: state_of(run.guard) is None, story)
    wait_until(lambda: not any(map(any_thread_is_stopped, run.running())), f"all run on after: {story}")
    for pid in run.others:
        assert state_of(pid) is not None, f"{pid} of {run.others} died after: {story}"
    # Not at once: who is let go of first runs, to see that it is stopped.
    wait_until(lambda: state_of(run.stopped) == "T", f"what the job itself had stopped stays so after: {story}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        count = CAMPAIGN if metafunc.config.getoption("--campaign") else ORDINARY
        metafunc.parametrize("seed", range(count))


def test_whoever_is_killed_in_whatever_order_the_job_is_unharmed(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    # The guard always: while it lives, a job that its user has paused is meant to be paused.
    victims = ["guard", *chance.sample(["front", *WATCHERS], chance.randint(0, 3))]
    chance.shuffle(victims)
    with fronted(tmp_path / "pids") as run:
        nobody_is_harmed(run, harm(run, victims, chance))


# In every order that matters: one of the four is left.
ALL_BUT_ONE = [
    ["guard", "watcher", "keeper"],
    ["watcher", "front", "guard"],
    ["guard", "front", "watcher"],
    ["keeper", "guard", "front"],
    ["front", "guard", "keeper"],
]


@pytest.mark.parametrize("victims", [["guard"], *ALL_BUT_ONE], ids="+".join)
def test_where_ptrace_is_forbidden_one_that_is_left_is_enough(victims: list[str], tmp_path: Path) -> None:
    """With a terminal of its own, as on the full screen, the job has a session of its own: no HUP for its orphans."""
    with fronted(tmp_path / "pids", NoPtrace(), JOB, "--terminal") as run:
        run.tell("pause")
        wait_until(lambda: all(map(is_paused, run.others)))
        for victim in victims:
            run.signal(victim, signal.SIGKILL)
        nobody_is_harmed(run, victims)


# Writes more than a terminal holds that nobody reads.
WRITES = JOB.replace(
    "while True:", "while True:\n    print('x' * 999, flush=True); open(sys.argv[1] + '.on', 'a').write('x')"
)


@pytest.mark.parametrize("victims", [["guard", "front"], *ALL_BUT_ONE], ids="+".join)
@pytest.mark.parametrize("command", ["pause", "resume"])
def test_a_job_that_writes_to_a_terminal_of_memwatch_goes_on_writing(
    command: str, victims: list[str], tmp_path: Path
) -> None:
    """A terminal that nobody holds would have the kernel send HUP to the job."""
    with fronted(tmp_path / "pids", None, WRITES, "--terminal") as run:
        run.tell(command)
        for victim in victims:
            run.signal(victim, signal.SIGKILL)
        nobody_is_harmed(run, victims)
        progress = tmp_path / "pids.on"
        before = progress.stat().st_size
        wait_until(lambda: progress.stat().st_size > before + 100, "it goes on writing")


def test_pkill_by_the_name_of_memwatch_leaves_the_job_unharmed(tmp_path: Path) -> None:
    """`pkill -KILL -f memwatch` hits front, guard and watcher at once. Here only ours: others run memwatch too."""
    with fronted(tmp_path / "pids", None, WRITES, "--terminal") as run:
        ours = [run.front.pid, run.guard, *run.all_watchers()]
        hit = [pid for pid in ours if "memwatch" in " ".join(command_of(pid)) or pid == run.front.pid]
        assert len(hit) == len(ours) - 1
        for pid in hit:
            send(pid, signal.SIGKILL)
        nobody_is_harmed(run, ["pkill"])
