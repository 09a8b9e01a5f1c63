"""Jobs, views and helpers that misbehave: the guard goes on guarding, at its usual cost, and the job gets its code."""

import os
import signal
import socket
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from memwatch.channel import Channel
from memwatch.guard import attach_socket as join
from memwatch.guard.message_reader import MOST_MESSAGES, MOST_READS, SHARE_S, MessageReader
from memwatch.guard.send_signal import signal_process
from memwatch.guard.views import MOST_VIEWS
from memwatch.guard.watchers import Watchers
from memwatch.model.sample import Process
from memwatch.probe.stat import parse_stat
from memwatch.tokenize.rss import rss_bytes
from tests.guard.processes import Guarded, Watched, children, is_paused, send, state_of, wait_until
from tests.helpers import memwatch

SAY = (
    "import os, socket, sys, time; line = socket.socket(socket.AF_UNIX); "
    "line.connect(chr(0) + os.environ['MEMWATCH_CHANNEL'][1:]); line.sendall(os.fsencode(sys.argv[1]) + b'\\n')"
)
HUGE = "9" * 1000


@pytest.mark.parametrize(
    "message",
    [
        '{"event": "hello", "can": 5}',
        '{"event": "output", "folder": "a\\u0000b"}',
        '{"event": "output", "folder": "\\udcff"}',
        '{"event": "progress", "done": "many"}',
        '{"event": "progress", "done": null, "total": NaN}',
        '{"event": "progress", "done": 1, "total": ' + HUGE + "}",
        '{"event": "progress", "done": 1e18, "total": 1e-308, "eta_s": Infinity, "rate": -1}',
        '{"event": "progress", "done": 1, "tokens": "x", "output_bytes": [], "unit": 5}',
        '{"event": "progress", "done": 1, "unit": "\\u001b[31m"}',
        '{"event": "note", "text": "\\u001b[31m\\u0007"}',
        '{"event": ["exit"], "code": 0}',
        '{"event": "exit", "code": 0}',
    ],
    ids=lambda message: message[:60],
)
def test_whatever_a_job_says_it_gets_its_own_code(message: str) -> None:
    code = f"{SAY}; time.sleep(0.2); sys.exit(7)"
    done = memwatch("run", "--no-record", "--", sys.executable, "-c", code, message)
    assert done.code == 7, done.err
    assert "\x1b" not in done.err
    assert "failed" not in done.err
    assert "unexpected" not in done.err


def test_a_guard_that_fails_leaves_the_job_and_its_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # GIVEN a guard that cannot forecast
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if sys.argv[:1] == ['-m']:\n"
        "    import memwatch.decide.history as h\n"
        "    h.History.add = lambda *_: 1 / 0\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = memwatch("run", "--no-record", "--", "sh", "-c", "sleep 0.5; exit 7")
    assert done.code == 7
    assert "the guard failed, and the job goes on without it: ZeroDivisionError" in done.err


def test_a_signal_to_memwatch_is_passed_on_though_the_job_has_stopped_its_guard() -> None:
    with Guarded("sh", "-c", "trap 'exit 5' TERM; kill -STOP $PPID; while :; do sleep 0.05; done") as run:
        guard = run.guard
        wait_until(lambda: state_of(guard) == "T", "the guard is stopped")
        send(run.front.pid, signal.SIGTERM)
        assert run.finish()[0] == 5


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\0" * 65536, id="no line ever ends"),
        pytest.param(b"x\n" * 32768, id="lines of garbage"),
        pytest.param(b'{"command": "pause"}\n{"command": "resume"}\n' * 1000, id="commands"),
    ],
)
def test_a_view_that_floods_the_guard_costs_it_little(data: bytes, journal: Path) -> None:
    with Watched("sleep", "1000", record=str(journal)) as watched:
        watched.event("start")
        watched.event("sample")
        before_bytes, before_s = rss_bytes(watched.guard.pid), cpu_s(watched.guard.pid)
        flood = socket.socket(socket.AF_UNIX)
        flood.connect(join.socket_path(str(journal)))
        flood.setblocking(False)
        end_s = time.monotonic() + 2
        while time.monotonic() < end_s:
            try:
                flood.send(data)
            except BlockingIOError:
                time.sleep(0.001)
        # A flood that is heard takes all of a core; the guard's own work, next to nothing.
        assert cpu_s(watched.guard.pid) - before_s < 0.5
        assert (rss_bytes(watched.guard.pid) or 0) < (before_bytes or 0) + (4 << 20)
        flood.close()
        watched.events.clear()
        watched.tell("kill")
        assert watched.event("exit")["code"] == 137


def test_views_that_never_read_and_too_many_views_do_no_harm(journal: Path) -> None:
    with Watched("sleep", "1000", record=str(journal)) as watched:
        watched.event("start")
        watched.event("sample")
        fds = Path(f"/proc/{watched.guard.pid}/fd")
        before = len(list(fds.iterdir()))
        views = [join.connect(str(journal)) for _ in range(3 * MOST_VIEWS)]
        wait_until(lambda: len(list(fds.iterdir())) >= before + MOST_VIEWS - 1)
        assert len(list(fds.iterdir())) <= before + MOST_VIEWS + 2
        # WHEN they leave THEN others may come
        for view in views:
            view.close()
        watched.events.clear()
        watched.event("sample")

        def is_let_in() -> bool:
            with closing(join.connect(str(journal))) as view:
                time.sleep(0.1)
                return any(event["event"] == "joined" for event in view.receive())

        wait_until(is_let_in, "a new view is let in")


def test_a_view_cannot_stop_the_job_but_by_a_pause(journal: Path) -> None:
    """Whose undoing the watcher knows of."""
    with Watched("sleep", "1000", record=str(journal)) as watched:
        job = watched.event("start")["pid"]
        watched.tell("signal", number=int(signal.SIGSTOP))
        watched.tell("guard_off")
        watched.event("note")
        assert state_of(job) == "S"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_watcher_that_is_gone_or_stopped_is_not_the_end_of_the_guard(number: signal.Signals) -> None:
    with Guarded("sh", "-c", "sleep 1; exit 7") as guarded:
        assert guarded.job
        send(guarded.watcher, number)
        code, _, err = guarded.finish()
    assert code == 7
    assert "failed" not in err


def test_what_is_left_of_a_paused_job_is_not_left_paused() -> None:
    with Watched("sh", "-c", "trap '' HUP; sleep 1000 & wait") as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: children(job))
        (left,) = children(job)
        watched.tell("pause")
        watched.event("action", action="pause")
        wait_until(lambda: is_paused(left))
        send(job, signal.SIGKILL)
        watched.pids.append(left)
        assert watched.event("exit")["left_behind"] == 1
        wait_until(lambda: state_of(left) == "S", "it runs on")


def process(pid: int, start_ticks: int) -> Process:
    return Process(pid, start_ticks, 1, "T", 0, 0, 0.0, None, None, "sleep")


def test_the_watcher_continues_only_whom_it_was_told_of() -> None:
    """A pid that has gone to another process meanwhile is not signalled: here, one that somebody else has stopped."""
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
    try:
        send(pid, signal.SIGSTOP)
        wait_until(lambda: is_paused(pid))
        ticks = parse_stat(Path(f"/proc/{pid}/stat").read_bytes()).start_ticks
        for told, state in ((ticks - 1, "T"), (ticks, "S")):
            assert not signal_process(pid, ticks - 1, signal.SIGKILL)
            watchers = Watchers()
            (only,) = watchers.pids
            watchers.will_stop([process(pid, told)])
            watchers._processes[0]._line.close()  # As when the guard is killed.
            os.waitpid(only, 0)
            wait_until(lambda: state_of(pid) == state)  # noqa: B023
    finally:
        send(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_watcher_that_does_not_listen_does_not_hold_up_a_pause() -> None:
    watchers = Watchers()
    watchers.add_second()
    pids = watchers.pids
    assert len(pids) == 2
    for pid in pids:
        send(pid, signal.SIGSTOP)
    for _ in range(100):
        watchers.will_stop(process(pid, 10**9) for pid in range(1000))
    watchers.dismiss()
    assert not any(map(state_of, pids))


class Selector:
    """Knows only who is listened to."""

    def __init__(self) -> None:
        self.heard: dict[object, object] = {}

    def register(self, channel: object, events: int, data: object) -> None:
        self.heard[channel] = data

    def unregister(self, channel: object) -> None:
        del self.heard[channel]


@pytest.mark.parametrize(("messages", "reads"), [(1000, 1), (1, MOST_READS)])
def test_an_ear_rests_when_it_has_heard_its_share(messages: int, reads: int) -> None:
    now_s = 100.0
    ours, theirs = socket.socketpair()
    selector = Selector()
    heard: list[object] = []
    with closing(Channel(ours)) as channel, theirs:
        reader = MessageReader(selector, channel, heard.append, lambda: now_s)  # type: ignore[arg-type]
        for _ in range(reads):
            theirs.send(b'{"x": 1}\n' * messages)
            selector.heard[channel]()  # type: ignore[operator]
        assert len(heard) == min(messages * reads, MOST_MESSAGES)
        assert channel not in selector.heard
        assert reader.due_s == now_s + SHARE_S
        now_s += SHARE_S
        reader.resume_reading()
        theirs.send(b'{"x": 2}\n')
        selector.heard[channel]()  # type: ignore[operator]
        assert heard[-1] == {"x": 2}
