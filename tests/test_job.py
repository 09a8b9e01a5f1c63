"""The job API, in scripts of their own: under memwatch, without it, and with children."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwatch.guard.job_channel import JobListener
from memwatch.job import HELLO, VARIABLE, Channel
from tests.guard.processes import wait_until
from tests.helpers import HANG_S

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "recipes" / "job_api.py"
SHARD = {"command": "shard", "reason": "RAM is full in about 9 s"}


class Guard:
    """The guard's end: runs a script, and talks to it."""

    def __init__(self, script: str, *arguments: str) -> None:
        self._listener = JobListener()
        self.messages: list[dict[str, Any]] = []
        self._heard = 0
        self._channel: Channel | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            # As most users have it: an unbuffered stdout hides what the end of the interpreter does to a buffer.
            env={**os.environ, VARIABLE: self._listener.address, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def channel(self) -> Channel:
        """The script's, which must have connected or do so soon."""
        wait_until(self._accept, "the script connects")
        assert self._channel is not None
        return self._channel

    def _accept(self) -> bool:
        if self._channel is None:
            self._channel = self._listener.accept(os.getpid())
        return self._channel is not None

    def close(self) -> None:
        self._listener.close()
        if self._channel is not None:
            self._channel.close()

    def hear(self, event: str) -> dict[str, Any]:
        """Wait for the next such message."""
        deadline_s = time.monotonic() + HANG_S
        while time.monotonic() < deadline_s:
            self.messages += self.channel.receive()
            while self._heard < len(self.messages):
                self._heard += 1
                if self.messages[self._heard - 1].get("event") == event:
                    return self.messages[self._heard - 1]
            assert self.channel.is_open, self.messages
            time.sleep(0.001)
        raise TimeoutError(event)

    def finish(self, text: str = "") -> tuple[str, str]:
        out, err = self.process.communicate(text, timeout=HANG_S)
        while self._accept() and self.channel.is_open:
            self.messages += self.channel.receive()
        return out, err

    def heard(self, event: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message.get("event") == event]


@pytest.fixture
def guards() -> Iterator[list[Guard]]:
    running: list[Guard] = []
    yield running
    for guard in running:
        guard.process.kill()
        guard.process.communicate()
        guard.close()


@pytest.fixture
def run(guards: list[Guard]) -> Any:
    def start(script: str, *arguments: str) -> Guard:
        guards.append(Guard(script, *arguments))
        return guards[-1]

    return start


def alone(script: str, **variables: str) -> str:
    """Run a script without memwatch."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True, text=True, timeout=HANG_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


class TestProgress:
    def test_it_is_sent_about_ten_times_a_second_and_the_last_one_always(self, run: Any) -> None:
        guard = run(
            "import time\nfrom memwatch import job\nend = time.monotonic() + 0.55\ndone = 0\n"
            "while time.monotonic() < end:\n    done += 1\n    job.progress(done, 10**12, 'rows')\nprint(done)"
        )
        out, err = guard.finish()
        sent = guard.heard("progress")
        assert 2 <= len(sent) <= 8
        assert sent[-1] == {"event": "progress", "done": int(out), "total": 10**12, "unit": "rows"}
        assert err == ""

    def test_completion_is_sent_at_once(self, run: Any) -> None:
        guard = run("from memwatch import job\nfor i in range(101): job.progress(i, 100)\ninput()")
        assert guard.hear("progress")["done"] == 0
        assert guard.hear("progress")["done"] == 100
        guard.finish("\n")

    def test_a_total_is_not_needed(self, run: Any) -> None:
        guard = run("from memwatch import job\njob.progress(7)")
        guard.finish()
        assert guard.heard("progress") == [{"event": "progress", "done": 7, "total": None, "unit": ""}]

    def test_what_is_no_number_is_passed_over(self, run: Any) -> None:
        guard = run(
            "from memwatch import job\n"
            "for bad in (None, 'x', float('nan'), float('inf'), [], 10**400, object()): job.progress(bad)\n"
            "class Int:\n    def __index__(self): return 3\n"
            "class Float:\n    def __float__(self): return 4.5\n"
            "job.progress(Int(), Float(), None)"
        )
        assert guard.finish()[1] == ""
        assert guard.heard("progress") == [{"event": "progress", "done": 3, "total": 4.5, "unit": "None"}]

    def test_a_guard_that_does_not_listen_or_is_gone_stops_nothing(self, run: Any) -> None:
        guard = run(
            "import sys, time\nfrom memwatch import job\njob.PROGRESS_INTERVAL_S = 0\n"
            "for i in range(20_000): job.progress(i)\n"  # More than a socket holds.
            "input()\n"
            "for i in range(1000): job.progress(i)\n"
            "print('done')"
        )
        guard.hear("progress")
        guard.channel.close()
        assert guard.process.communicate("\n", timeout=HANG_S) == ("done\n", "")


class TestPressure:
    def test_a_request_reaches_every_callback_once(self, run: Any) -> None:
        guard = run(
            "from memwatch import job\n"
            "job.on_pressure(lambda request: print('one', request.command, '|', request.reason, flush=True))\n"
            "@job.on_pressure\ndef two(request): print('two', request.command, flush=True)\n"
            "assert two.__name__ == 'two'\n"
            "job.progress(1)\ninput()"
        )
        assert guard.hear("hello") == HELLO == {"event": "hello", "can": ["shard"]}
        guard.hear("progress")
        guard.channel.send(SHARD)
        assert guard.process.stdout.readline() == "one shard | RAM is full in about 9 s\n"
        assert guard.process.stdout.readline() == "two shard\n"
        guard.channel.send(SHARD)
        assert guard.process.stdout.readline().startswith("one")
        assert guard.process.stdout.readline().startswith("two")
        assert guard.finish("\n") == ("", "")
        assert len(guard.heard("hello")) == 1

    def test_requests_that_pile_up_meanwhile_are_one(self, run: Any) -> None:
        guard = run(
            "import time\nfrom memwatch import job\n"
            "def slow(request): print(request.command, flush=True); time.sleep(0.2)\n"
            "job.on_pressure(slow)\ninput()\ntime.sleep(0.3)"
        )
        guard.hear("hello")
        guard.channel.send(SHARD)
        assert guard.process.stdout.readline() == "shard\n"
        for _ in range(5):
            guard.channel.send(SHARD)
        assert guard.process.stdout.readline() == "shard\n"
        assert guard.finish("\n")[0] == ""

    @pytest.mark.parametrize("error", ["ValueError('a\\nb')", "SystemExit(3)", "KeyboardInterrupt()"])
    def test_a_callback_that_fails_is_told_in_a_line_and_the_script_goes_on(self, run: Any, error: str) -> None:
        guard = run(
            "import sys\nfrom memwatch import job\n"
            f"def bad(request): raise {error}\n"
            "job.on_pressure(bad)\njob.on_pressure(lambda request: print('next', flush=True))\ninput()\nprint('end')"
        )
        guard.hear("hello")
        for _ in range(2):
            guard.channel.send(SHARD)
            assert guard.process.stdout.readline() == "next\n"
        out, err = guard.finish("\n")
        assert out == "end\n"
        assert err.count("\n") == 2
        assert err.startswith(f"memwatch: on_pressure: {error.partition('(')[0]}: ")
        assert guard.process.returncode == 0

    def test_a_script_that_exits_during_a_callback_loses_none_of_its_output(self, run: Any) -> None:
        guard = run(
            "from memwatch import job\n"
            "def slow(request):\n"
            "    for _ in range(200): print('x' * 5000, flush=True)\n"
            "job.on_pressure(slow)\ninput()\nprint('end')"
        )
        guard.hear("hello")
        guard.channel.send(SHARD)
        assert guard.process.stdout.readline() == "x" * 5000 + "\n"
        out, err = guard.finish("\n")
        assert (guard.process.returncode, err) == (0, "")
        assert "end\n" in out

    def test_nonsense_from_above_is_passed_over(self, run: Any) -> None:
        guard = run("from memwatch import job\njob.on_pressure(lambda request: print(request, flush=True))\ninput()")
        guard.hear("hello")
        for message in ({}, {"command": 7}, {"event": "shard"}, {"command": "rest", "reason": 3}):
            guard.channel.send(message)
        assert guard.process.stdout.readline() == "Request(command='rest', reason='')\n"
        guard.finish("\n")

    def test_the_script_ends_though_it_still_listens(self, run: Any) -> None:
        guard = run("from memwatch import job\njob.on_pressure(print)")
        assert guard.finish() == ("", "")
        assert guard.process.returncode == 0

    def test_a_guard_that_is_gone_costs_nothing(self, run: Any) -> None:
        guard = run(
            "import time\nfrom memwatch import job\njob.on_pressure(print)\ninput()\n"
            "before = time.process_time(); time.sleep(0.3); print(time.process_time() - before < 0.1)"
        )
        guard.hear("hello")
        guard.channel.close()
        assert guard.process.communicate("\n", timeout=HANG_S) == ("True\n", "")


class TestChildren:
    def test_a_forked_child_sends_nothing_and_takes_nothing(self, run: Any) -> None:
        guard = run(
            "import os, sys\nfrom memwatch import job\n"
            "job.on_pressure(lambda request: print('parent', flush=True))\njob.progress(1)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    job.on_pressure(lambda request: print('kid', flush=True))\n"
            "    for i in range(1000): job.progress(i, unit='kid')\n"
            "    sys.stdin.readline(); sys.exit()\n"
            "sys.stdin.readline(); os.waitpid(child, 0)"
        )
        guard.hear("progress")
        for _ in range(20):
            guard.channel.send(SHARD)
            assert guard.process.stdout.readline() == "parent\n"
        assert "kid" not in "".join(guard.finish("\n\n"))
        assert [message for message in guard.messages if message.get("unit") == "kid"] == []

    def test_the_guard_hears_the_end_of_the_script_though_a_child_lives_on(self, run: Any) -> None:
        guard = run(
            "import os, sys, time\nfrom memwatch import job\njob.progress(1)\n"
            "if os.fork() == 0:\n    os.close(1); os.close(2); time.sleep(5); os._exit(0)"
        )
        began_s = time.monotonic()
        guard.finish()
        assert time.monotonic() - began_s < 4

    @pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
    def test_workers_of_multiprocessing_are_left_alone(self, tmp_path: Path, guards: list[Guard], way: str) -> None:
        script = tmp_path / "script.py"
        script.write_text(
            "import multiprocessing\nfrom memwatch import job\n"
            "def work(i):\n    job.on_pressure(print)\n    job.progress(i, unit='worker')\n"
            "if __name__ == '__main__':\n"
            "    job.progress(1, unit='script')\n"
            f"    with multiprocessing.get_context('{way}').Pool(2) as pool: pool.map(work, range(4))\n"
        )
        # Workers import the script by its name, so it must be run by its name.
        guards.append(guard := Guard(f"import os, sys; os.execv(sys.executable, [sys.executable, {str(script)!r}])"))
        assert guard.finish()[1] == ""
        assert [message["unit"] for message in guard.messages] == ["script"]

    def test_a_program_the_script_starts_does_not_find_the_channel(self, run: Any) -> None:
        guard = run(
            "import os, subprocess, sys\nfrom memwatch import job\njob.progress(1)\n"
            "subprocess.run([sys.executable, '-c', 'import os; print(*os.environ)'])"
        )
        assert VARIABLE not in guard.finish()[0].split()

    def test_a_script_that_closes_everything_writes_into_nothing_else(self, run: Any) -> None:
        guard = run(
            "import os, socket\nfrom memwatch import job\njob.progress(1)\n"
            "os.closerange(3, 100)\n"
            "pairs = [socket.socketpair() for _ in range(20)]\n"
            "import time; time.sleep(0.15); job.progress(2)\n"
            "for pair in pairs:\n"
            "    for end in pair:\n"
            "        end.setblocking(False)\n"
            "        try: print(end.recv(100))\n"
            "        except BlockingIOError: pass"
        )
        assert guard.finish() == ("", "")


class TestOutsideMemwatch:
    @pytest.mark.parametrize(
        "variables",
        [
            pytest.param({}, id="no variable"),
            pytest.param({VARIABLE: ""}, id="empty"),
            pytest.param({VARIABLE: "@memwatch-nobody"}, id="nobody there"),
            pytest.param({VARIABLE: "@memwatch-" + "x" * 200}, id="too long"),
            pytest.param({VARIABLE: "3"}, id="a descriptor"),
        ],
    )
    def test_nothing_happens(self, variables: dict[str, str]) -> None:
        out = alone(
            "import os, threading\nbefore = os.listdir('/proc/self/fd')\n"
            "from memwatch import job\n"
            "job.on_pressure(print); job.progress(1, 2, 'rows'); job.progress('x')\n"
            "print(threading.active_count(), os.listdir('/proc/self/fd') == before)",
            **variables,
        )
        assert out == "1 True\n"

    def test_a_call_costs_next_to_nothing(self) -> None:
        out = alone(
            "import timeit\nfrom memwatch import job\n"
            "print(min(timeit.repeat(lambda: job.progress(1, 2), number=10_000, repeat=5)) / 10_000)"
        )
        assert float(out) < 5e-6


class TestRecipe:
    def _is_right(self, path: Path, count: int) -> bool:
        return path.read_text().split() == [str(n * n) for n in range(count)]

    def test_it_runs_without_memwatch(self, tmp_path: Path) -> None:
        command = [sys.executable, str(RECIPE), str(tmp_path / "squares.txt"), "--count", "1000"]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("1000 squares, 0 early flushes\n", "")
        assert self._is_right(tmp_path / "squares.txt", 1000)

    def test_it_flushes_when_asked_to(self, run: Any, tmp_path: Path) -> None:
        script = "import runpy, sys; sys.argv[0:1] = []; runpy.run_path(sys.argv[0], run_name='__main__')"
        guard = run(script, str(RECIPE), str(tmp_path / "squares.txt"), "--count", "300000")
        guard.channel.send(SHARD)  # Before it listens: it is heard as soon as it does.
        out, err = guard.finish()
        assert err == ""
        assert out == "300000 squares, 1 early flushes\n"
        assert self._is_right(tmp_path / "squares.txt", 300_000)
        assert guard.heard("progress")[-1]["done"] == 300_000


def test_the_tokenizer_says_that_it_can_shard(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text\n" * 100)
    guard = run("import sys; from memwatch.tokenize.command import *; sys.exit(tokenize())", str(tmp_path / "a.txt"))
    guard.finish()
    assert guard.process.returncode == 0
    assert guard.messages[0] == HELLO


def test_a_line_without_an_end_is_not_kept() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    for _ in range(40):
        theirs.send(b"x" * 65536)
        assert channel.receive() == []
    assert len(channel._received) <= 65536
    theirs.send(b"\n" + json.dumps(SHARD).encode() + b"\n")
    assert channel.receive() == [SHARD]
    theirs.close()
    channel.close()
