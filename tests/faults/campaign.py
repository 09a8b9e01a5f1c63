"""A campaign of faults: harm a tokenize run in every way we can think of, give the same command again, compare.

    python -m tests.faults.campaign TEXT --times 20

Each kind of fault is done that many times, at random moments (--seed); a line each says how many results were the same
to the byte as those of a run that nobody harmed.
"""

import argparse
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memwatch.journal.reader import read_events
from tests.faults.clock import JumpingClock
from tests.faults.jobs import SLOW, RunningJob, contents, started_writing
from tests.guard.processes import children, command_of, send, state_of, wait_until
from tests.helpers import HANG_S, memwatch

OPTIONS = ("--val-ratio", "0.01", "--documents", "blank", "--shard-tokens", "300k")
JUMPS_S = (-(10**9), -86400, -3600, 3600, 86400, 10**9)


class Harmed:
    """One run that is to be harmed, in a folder of its own."""

    def __init__(self, text: Path, folder: Path, mode: str, chance: random.Random) -> None:
        self.text = folder / "in.txt"
        shutil.copy2(text, self.text)
        self.folder = folder
        self.out = folder / "out"
        self.journal = folder / "run.jsonl"
        self.chance = chance
        self.command = (self.text, "--out", self.out, *OPTIONS, "--mode", mode)

    def start(self, **options: object) -> RunningJob:
        return RunningJob(*self.command, *SLOW, record=self.journal, **options)

    def is_done(self) -> bool:
        return (self.out / "manifest.json").exists()

    def wait_a_moment(self) -> None:
        """Until it writes, and then some of the time that it takes."""
        wait_until(lambda: started_writing(self.out) or self.is_done(), "the run begins to write")
        time.sleep(self.chance.uniform(0.0, 0.5))

    def finish(self) -> dict[str, bytes]:
        """By the same command, as often as it takes."""
        if not self.is_done():
            done = memwatch("run", "--no-record", "tokenize", *self.command)
            # The harmed run may have gone on without its terminal, and have finished meanwhile.
            assert done.code == 0 or self.is_done(), done.err
        return contents(self.out)


Harm = Callable[[Harmed], None]


def kill(role: str) -> Harm:
    def harm(run: Harmed) -> None:
        with run.start() as running:
            wait_until(lambda: _who(running, role) or running.process.poll() is not None, f"there is a {role}")
            # Sometimes at once, while it starts; mostly while it works.
            time.sleep(run.chance.choice([0.0, 0.3, 1.0]) * run.chance.uniform(0.5, 1.5))
            everyone = running.tree()
            for pid in _who(running, role):
                send(pid, signal.SIGKILL)
            _, err = running.finish()
            assert "Traceback" not in err, err
            wait_until(lambda: not any(map(state_of, everyone)), "everyone has ended")

    return harm


def _who(running: RunningJob, role: str) -> list[int]:
    front = running.process.pid
    guards = [pid for pid in children(front) if "memwatch.guard" in command_of(pid)]
    if role == "front":
        return [front]
    if role == "guard":
        return guards[:1]
    if role == "watcher":
        return children(guards[0])[:1] if guards else []
    job = running.job_tree()
    return job[:1] if role == "coordinator" else job[1:2]


def fill_the_disk(run: Harmed) -> None:
    run.out.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "memwatch-test", run.out], check=True)
    try:
        with run.start() as running:
            run.wait_a_moment()
            with suppress(OSError):
                (run.out / "other").write_bytes(b"x" * (40 << 20))
            code, err = running.finish()
        assert code == 124 or run.is_done(), err
        (run.out / "other").unlink()
        made = run.finish()
    finally:
        subprocess.run(["umount", run.out], check=True)
    for name, data in made.items():
        (run.out / name).write_bytes(data)
    (run.out / "manifest.json").touch()


def tear_the_journal(run: Harmed) -> None:
    with run.start() as running:
        run.wait_a_moment()
        everyone = running.tree()
        for pid in _who(running, "guard"):
            send(pid, signal.SIGKILL)
        running.finish()
        wait_until(lambda: not any(map(state_of, everyone)), "everyone has ended")
    data = run.journal.read_bytes()
    kept = data[: run.chance.randrange(len(data))]
    run.journal.write_bytes(kept + bytes(run.chance.choice([0, 4096])))
    whole_lines = kept.count(b"\n")
    assert whole_lines <= len(list(read_events(run.journal))) <= whole_lines + 1
    done = memwatch("export", run.journal, "--csv", "-")
    assert done.code == 0, done.err


def change_the_input(run: Harmed) -> None:
    before, status = run.text.read_bytes(), run.text.stat()
    with run.start() as running:
        run.wait_a_moment()
        with run.text.open("ab") as file:
            file.write(b"a line that came later\n")
        code, err = running.finish()
    # On a fast machine it may have been too late to matter.
    assert code == 1 or run.is_done(), err
    assert run.is_done() or not (run.out / "train.bin").exists()
    run.text.write_bytes(before)
    os.utime(run.text, ns=(status.st_atime_ns, status.st_mtime_ns))


def make_the_clock_jump(run: Harmed) -> None:
    clock = JumpingClock(run.folder)
    with run.start(env=clock.environment) as running:
        while running.process.poll() is None:
            clock.jump_to(run.chance.choice(JUMPS_S))
            time.sleep(run.chance.uniform(0.0, 0.3))
        code, err = running.finish()
    assert code == 0, err
    assert_left_alone(run)


def stop_the_guard(run: Harmed) -> None:
    """The job goes on without it, to its end; and the guard, when it wakes, does nothing about what is past."""
    with run.start() as running:
        run.wait_a_moment()
        (guard,) = _who(running, "guard") or [running.process.pid]
        send(guard, signal.SIGSTOP)
        wait_until(lambda: run.is_done(), "the job goes on, and ends")
        send(guard, signal.SIGCONT)
        code, err = running.finish()
    assert code == 0, err
    assert_left_alone(run)


def close_the_terminal(run: Harmed) -> None:
    command = [sys.executable, "-m", "memwatch", "run", "--no-record", "tokenize", *map(str, (*run.command, *SLOW))]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    try:
        run.wait_a_moment()
    finally:
        os.close(terminal)
        deadline_s = time.monotonic() + HANG_S
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            assert time.monotonic() < deadline_s, "it never ended"
            time.sleep(0.01)


def assert_left_alone(run: Harmed) -> None:
    actions = [event["action"] for event in read_events(run.journal) if event["event"] == "action"]
    assert set(actions) <= {"warn"}, actions  # Others may be filling the machine's memory, which is none of ours.


KINDS: dict[str, Harm] = {
    **{f"kill the {role}": kill(role) for role in ("coordinator", "worker", "guard", "watcher", "front")},
    "disk full": fill_the_disk,
    "torn journal": tear_the_journal,
    "input changed": change_the_input,
    "clock jumps": make_the_clock_jump,
    "guard stopped": stop_the_guard,
    "terminal closed": close_the_terminal,
}


def why_not(kind: str) -> str | None:
    """Why it cannot be done here."""
    if kind == "disk full" and os.geteuid() != 0:
        return "only root can mount a small disk"
    if kind == "clock jumps" and not JumpingClock.can_be_made():
        return "needs gcc"
    return None


def unharmed(text: Path, mode: str, folder: Path) -> dict[str, bytes]:
    done = memwatch("run", "--no-record", "tokenize", text, "--out", folder, *OPTIONS, "--mode", mode)
    assert done.code == 0, done.err
    return contents(folder)


def one(kind: str, text: Path, mode: str, folder: Path, chance: random.Random) -> dict[str, bytes]:
    """Harm one run, and return what it made all the same."""
    run = Harmed(text, folder, mode, chance)
    KINDS[kind](run)
    return run.finish()


def main() -> int:
    parser = argparse.ArgumentParser(description="Harm tokenize runs, and compare what they make all the same.")
    parser.add_argument("text", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="memwatch-faults-") as name:
        top = Path(name)
        expected = {mode: unharmed(options.text, mode, top / mode) for mode in ("stream", "shard")}
        for kind in KINDS:
            if (why := why_not(kind)) is not None:
                print(f"{kind:20} not done: {why}", flush=True)
                continue
            same = 0
            for i in range(options.times):
                mode = chance.choice(list(expected))
                folder = top / f"{i}"
                folder.mkdir()
                try:
                    same += one(kind, options.text, mode, folder, chance) == expected[mode]
                except AssertionError as error:
                    print(f"{kind:20} {error}", flush=True)
                shutil.rmtree(folder)
            failed += options.times - same
            print(f"{kind:20} {options.times:4} times, byte-identical {same:4}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
