"""A run played again: any moment of it, forwards and back."""

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from memwatch.journal.events import encode, sample_event
from memwatch.journal.reader import JournalIndex
from memwatch.model.sample import Memory, Sample
from memwatch.tui.draw.lines import text_of
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import JobState, ViewKind
from memwatch.tui.replay_app import ReplayApp
from memwatch.tui.screens.panel_widget import PanelWidget
from memwatch.tui.sources.replay_source import ReplaySource
from tests.journal.examples import process
from tests.tui import script
from tests.tui.running import run_async


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journal") / "run.jsonl"
    events = sorted([*script.paused(), script.ended(310, 124)], key=lambda event: float(str(event["t"])))
    path.write_bytes(b"".join(encode(event) for event in events if event["event"] != "output"))
    return path


@pytest.fixture
def replay(journal: Path) -> Iterator[ReplaySource]:
    with closing(JournalIndex(journal)) as index:
        yield ReplaySource(index)


def test_it_begins_at_the_start_and_ends_at_the_end(replay: ReplaySource) -> None:
    assert replay.picture().state == JobState.RUNNING
    assert replay.picture().elapsed_s == 0
    replay.seek(replay.end_t)
    assert (replay.picture().state, replay.picture().exit_code) == (JobState.ENDED, 124)


def test_going_back_shows_what_was_there_before(replay: ReplaySource) -> None:
    replay.seek(script.START_T + 40)
    before = replay.picture()
    replay.seek(replay.end_t)
    replay.seek(script.START_T + 40)
    assert replay.picture() == before
    assert before.state == JobState.RUNNING
    assert before.peak_job_bytes is not None
    assert before.peak_job_bytes < 8 << 30


def test_events_are_gone_to_one_by_one(replay: ReplaySource) -> None:
    seen = []
    while replay.now_t < replay.end_t:
        replay.to_happening(1)
        seen.append(round(replay.now_t - script.START_T, 1))
    events = script.paused()
    verdicts = [event for event in events if event["event"] == "verdict"]
    changes = [after for before, after in pairwise(verdicts) if before["level"] != after["level"]]
    worth_a_line = [script.time_of(event) for event in changes if event["level"] in ("warn", "act")]
    acted = [script.time_of(event) for event in events if event["event"] == "action"]
    assert len(worth_a_line) >= 2
    assert seen == [t - script.START_T for t in sorted({*worth_a_line, *acted, replay.end_t})]
    replay.to_happening(-1)
    assert replay.picture().state == JobState.PAUSED


def test_a_step_is_a_sample(replay: ReplaySource) -> None:
    replay.seek(script.START_T + 50)
    replay.step(1)
    assert replay.now_t == script.START_T + 51
    replay.step(-1)
    assert replay.now_t == script.START_T + 50
    replay.seek(replay.start_t)
    replay.step(-1)
    assert replay.now_t == replay.start_t


def test_a_journal_that_was_torn_is_played_as_far_as_it_goes(journal: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(journal.read_bytes()[:5000] + b'{"t":17633\n\0\0\0\0\nnot json\n{"t":1763300300.5,"event":"sam')
    with closing(JournalIndex(torn)) as index:
        source = ReplaySource(index)
        source.seek(source.end_t)
        assert source.picture().title


def test_the_keys_move_in_time(replay: ReplaySource) -> None:
    app = ReplayApp(replay, Look(), "memwatch-dark", "run.jsonl")

    async def run() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            assert replay.is_playing
            await pilot.press("space")
            assert not replay.is_playing
            await pilot.press("end")
            assert "ENDED 124" in _text(app, "header")
            await pilot.press("N")
            assert "PAUSED" in _text(app, "header")
            await pilot.press("home", "right", "right")
            assert replay.now_t == script.START_T + 2
            await pilot.press("shift+right", "left")
            assert replay.now_t == script.START_T + 11
            speed = replay.speed
            await pilot.press("right_square_bracket")
            assert replay.speed > speed
            await pilot.press("left_square_bracket")
            assert replay.speed == speed
            await pilot.click("#timeline", offset=(60, 0))
            await pilot.pause()
            assert replay.now_t > script.START_T + 50
            await pilot.press("p", "x", "K", "s", "g")

    run_async(run())


def test_playing_goes_on_by_itself_and_stops_at_the_end(replay: ReplaySource) -> None:
    app = ReplayApp(replay, Look(), "memwatch-dark", "run.jsonl")
    replay.speed = 1800

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            while replay.now_t < replay.end_t:
                await pilot.pause(0.05)
            await pilot.pause(0.5)
            assert not replay.is_playing
            replay.speed = 0.5
            await pilot.press("space")
            assert replay.is_playing, "from the end it begins again"

    run_async(run())


def _text(app: ReplayApp, panel: str) -> str:
    return "\n".join(text_of(line) for line in app.screen.query_one(f"#{panel}", PanelWidget).lines)


def test_a_record_of_the_machine_looks_like_the_machine(tmp_path: Path) -> None:
    """No job, and who was big at each moment."""
    path = tmp_path / "record.jsonl"
    looks = [Sample(t, t, Memory(24 << 30, 12 << 30, 0, 0), others=(process(pid),)) for t, pid in ((1, 7), (2, 8))]
    path.write_bytes(b"".join(encode(sample_event(look)) for look in looks))
    with closing(JournalIndex(path)) as index:
        replay = ReplaySource(index, is_machine=True)
        assert (replay.picture().kind, replay.picture().has_job) == (ViewKind.REPLAY, False)
        assert [row.process.pid for row in replay.picture().processes] == [7]
        replay.seek(replay.end_t)
        assert [row.process.pid for row in replay.picture().processes] == [8]
