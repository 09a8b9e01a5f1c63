"""Every key: what it sends to the guard, what it asks first, what it shows."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from memwatch.tui.app import Left, MemwatchApp
from memwatch.tui.draw import edges
from memwatch.tui.draw.lines import text_of
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import ViewKind
from memwatch.tui.replay_app import ReplayApp
from memwatch.tui.screens.dashboard import Dashboard
from memwatch.tui.screens.dialog import Dialog
from memwatch.tui.screens.output_screen import OutputScreen
from memwatch.tui.screens.panel_widget import PanelWidget
from tests.tui import script
from tests.tui.running import run_async
from tests.tui.script import ScriptedSource

SIZE = (120, 36)
FOREIGN = ["python3", "train.py"]


class Screen:
    """An app on a scripted run, and what a test asks of it."""

    def __init__(self, events: list[dict[str, Any]], kind: ViewKind = ViewKind.RUN) -> None:
        self.source = ScriptedSource(events, kind)
        self.app = MemwatchApp(self.source, Look())

    def text(self, *panels: str) -> str:
        """What stands in these panels of the screen that is on top."""
        shown = [panel for panel in self.app.screen.query(PanelWidget) if not panels or panel.id in panels]
        return "\n".join(text_of(line) for panel in shown if panel.display for line in panel.lines)

    @property
    def sent(self) -> list[str]:
        return [str(message["command"]) for message in self.source.sent]

    @property
    def said(self) -> list[str]:
        return [notification.message for notification in self.app._notifications]


Steps = Callable[[Screen, "Pilot[Left]"], Awaitable[None]]


def on_screen(
    steps: Steps,
    events: list[dict[str, Any]] | None = None,
    kind: ViewKind = ViewKind.RUN,
    size: tuple[int, int] = SIZE,
) -> Screen:
    screen = Screen(script.brief() if events is None else events, kind)

    async def run() -> None:
        async with screen.app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(screen, pilot)

    run_async(run())
    return screen


def press(*keys: str, events: list[dict[str, Any]] | None = None, kind: ViewKind = ViewKind.RUN) -> Screen:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press(*keys)
        await pilot.pause()

    return on_screen(steps, events, kind)


@pytest.mark.parametrize(
    ("keys", "command"),
    [
        pytest.param(["p"], "pause", id="p pauses"),
        pytest.param(["space"], "pause", id="so does space"),
        pytest.param(["s", "s"], "shard", id="s shards, once it was said again"),
        pytest.param(["x", "x"], "stop", id="x stops, once it was said again"),
        pytest.param(["K", "K"], "kill", id="K kills, once it was said again"),
        pytest.param(["g", "g"], "guard_off", id="g turns the guard off, once it was said again"),
        pytest.param(["q", "x"], "stop", id="q offers to stop"),
        pytest.param(["q", "K"], "kill", id="q offers to kill"),
    ],
)
def test_a_key_gives_its_command(keys: list[str], command: str) -> None:
    assert press(*keys).sent == [command]


@pytest.mark.parametrize("key", ["s", "x", "K", "g", "q"])
@pytest.mark.parametrize("answer", ["escape", "n", "ctrl+c"])
def test_what_destroys_asks_first_and_can_be_taken_back(key: str, answer: str) -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press(key)
        assert isinstance(screen.app.screen, Dialog)
        assert screen.sent == []
        await pilot.press(answer)
        await pilot.pause()
        assert isinstance(screen.app.screen, Dashboard)

    assert on_screen(steps).sent == []


def test_p_resumes_what_is_paused() -> None:
    assert press("p", events=script.paused()).sent == ["resume"]


def test_g_turns_the_guard_on_again_without_asking() -> None:
    off = {"t": script.START_T + 273, "event": "guard", "is_on": False, "can": []}
    screen = press("g", events=[*script.brief(), off])
    assert screen.sent == ["guard_on"]


def test_a_job_that_cannot_shard_is_not_asked_to() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("s")
        assert screen.said == ["this job cannot switch to shards; p pauses it, x stops it"]
        assert "shard" not in screen.text("footer")

    events = [script.start(FOREIGN), *script.brief()[1:]]
    assert on_screen(steps, events).sent == []


def test_a_foreign_job_that_says_it_can_shard_is_asked_to() -> None:
    can = {"t": script.START_T + 1, "event": "guard", "is_on": True, "can": ["shard"]}
    assert press("s", "s", events=[script.start(FOREIGN), can, *script.brief()[1:]]).sent == ["shard"]


def test_a_job_that_writes_shards_from_the_start_is_shown_so_and_not_offered_to_switch() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        assert "shards" in screen.text("header")
        assert "shard" not in screen.text("footer")
        await pilot.press("s")
        assert screen.said == ["the job writes shards already"]

    report = {**script.progress(21), "sharded": True}
    assert on_screen(steps, [*script.brief(), report]).sent == []


def test_what_was_done_is_said() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("p")
        assert screen.said == []
        screen.source.tell(script.action(273, "pause", "user"))
        await pilot.pause(0.3)
        assert screen.said == ["the job is paused"]
        assert "PAUSED" in screen.text("header")
        assert "by you" in screen.text("banner")
        screen.source.tell(script.action(274, "resume", "user"))
        await pilot.pause(0.3)
        assert "RUNNING" in screen.text("header")

    on_screen(steps)


def test_what_could_not_be_done_is_said() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        screen.source.hears = False
        await pilot.press("p")
        assert screen.said == ["the guard does not respond; try again"]

    on_screen(steps)


def test_the_first_ctrl_c_is_the_jobs_and_the_second_asks() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("ctrl+c")
        assert screen.source.sent == [{"command": "signal", "number": 2}]
        await pilot.press("ctrl+c")
        assert isinstance(screen.app.screen, Dialog)
        assert len(screen.source.sent) == 1

    on_screen(steps)


@pytest.mark.parametrize("keys", [["d"], ["q", "d"]])
def test_d_detaches(keys: list[str]) -> None:
    screen = press(*keys)
    assert screen.sent == []
    assert screen.app.return_value == Left.DETACHED


def test_the_screen_is_left_when_the_job_ends() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        screen.source.tell(script.ended(280))
        screen.source.end()
        await pilot.pause()

    assert on_screen(steps).app.return_value == Left.ENDED


def test_l_shows_the_whole_output_and_l_leads_back() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("l")
        await pilot.pause(0.1)
        assert isinstance(screen.app.screen, OutputScreen)
        assert "block 0012" in screen.text("whole")
        await pilot.press("l")
        assert isinstance(screen.app.screen, Dashboard)

    on_screen(steps)


def test_the_whole_output_is_scrolled_from_end_to_end() -> None:
    lines = script.output(1, "".join(f"line {number}\n" for number in range(300)))

    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("l")
        await pilot.pause(0.1)
        assert "line 299" in screen.text("whole")
        await pilot.press("home")
        assert "line 0 " in screen.text("whole")
        await pilot.press("pagedown")
        assert "line 0 " not in screen.text("whole")
        assert "line 10 " in screen.text("whole")
        await pilot.press("end")
        assert "line 299" in screen.text("whole")

    on_screen(steps, [script.start(), lines])


def test_the_banner_and_its_countdown_stay_on_the_output_page() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("l")
        await pilot.pause(0.1)
        assert "PAUSED" in screen.text("banner")
        assert "stopped in" in screen.text("banner")
        await pilot.press("p")

    assert on_screen(steps, script.paused()).sent == ["resume"], "what helps the job helps from here, too"


def test_on_the_output_page_keys_do_not_act_on_panels_that_are_hidden() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        before = screen.app.look
        await pilot.press("l")
        await pilot.pause(0.1)
        await pilot.press("o", "t", "plus", "z", "c", "slash")
        assert screen.app.look == before
        assert screen.said == []
        await pilot.press("escape")
        assert isinstance(screen.app.screen, Dashboard)
        await pilot.press("o")
        assert screen.app.look != before, "on the dashboard they do"

    on_screen(steps)


def test_a_key_that_comes_before_the_screen_is_up_does_nothing() -> None:
    screen = Screen(script.brief())

    async def run() -> None:
        async with screen.app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            screen.app._is_shown = False
            await pilot.press("p", "x", "x")
            assert screen.sent == []
            await pilot.press("ctrl+c")
            assert screen.sent == ["signal"], "Ctrl-C is for the job at any time"

    run_async(run())


def test_every_key_in_the_last_line_can_be_clicked_and_does_something() -> None:
    for app, pictures in (
        (MemwatchApp, [ScriptedSource(script.brief()).picture(), ScriptedSource(script.paused()).picture()]),
        (MemwatchApp, [ScriptedSource([], ViewKind.WATCH).picture()]),
        (ReplayApp, [ScriptedSource(script.brief(), ViewKind.REPLAY).picture()]),
    ):
        for name, _, action in (key for picture in pictures for key in edges.keys(picture)):
            method = f"action_{action.removeprefix('app.')}"
            assert not action or hasattr(app, method), f"a click on {name} does nothing"


def test_o_sorts_by_something_else() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        seen = []
        for _ in range(4):
            seen.append(screen.text("processes").splitlines()[0].split(" by ")[1].split()[0])
            await pilot.press("o")
        assert seen == ["memory", "cpu", "disk", "pid"]

    on_screen(steps)


def test_t_makes_a_list_of_the_tree() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        assert "├─ worker" in screen.text("processes")
        await pilot.press("t")
        assert "├─ worker" not in screen.text("processes")

    on_screen(steps)


def test_slash_filters_while_one_types_and_escape_ends_it() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("slash", *"worker 7")
        await pilot.pause()
        assert "worker 7/8" in screen.text("processes")
        assert "worker 6/8" not in screen.text("processes")
        await pilot.press("enter")
        await pilot.press("p")
        assert screen.sent == ["pause"], "keys are keys again"
        await pilot.press("escape")
        assert "worker 6/8" in screen.text("processes") or "more" in screen.text("processes")
        await pilot.press("slash", "q", "escape")
        assert "no process matches" not in screen.text("processes")

    on_screen(steps)


def test_z_zooms_the_focused_panel_and_back() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("z")
        await pilot.pause()
        shown = {panel.id for panel in screen.app.screen.query(PanelWidget) if panel.display}
        assert shown == {"header", "banner", "memory", "footer"}
        assert screen.app.screen.query_one("#memory", PanelWidget).size.height == 33
        await pilot.press("escape")
        screen.app.screen.query_one("#events", PanelWidget).focus()
        await pilot.press("z")
        await pilot.pause()
        assert screen.app.screen.query_one("#events", PanelWidget).size.height == 33

    on_screen(steps)


def test_c_is_compact() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("c")
        await pilot.pause()
        assert "STALL" in screen.text("vitals")
        await pilot.press("c")
        await pilot.pause()
        assert screen.text("vitals") == ""

    on_screen(steps)


def test_plus_and_minus_change_the_time_that_charts_show() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        assert "60 s ago" in screen.text("memory")
        await pilot.press("plus", "plus")
        assert "5 min ago" in screen.text("memory")
        await pilot.press("minus")
        assert "2 min ago" in screen.text("memory")

    on_screen(steps)


def test_arrows_scroll_the_processes() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("down", "down", "down")
        assert "memwatch tokenize" not in screen.text("processes")
        await pilot.press("pageup")
        assert "memwatch tokenize" in screen.text("processes")

    on_screen(steps)


@pytest.mark.parametrize("key", ["question_mark", "f1"])
def test_help_tells_the_keys_and_any_key_leads_back(key: str) -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press(key)
        await pilot.pause()
        assert "detach; guard stays" in screen.text()
        await pilot.press("a")
        assert isinstance(screen.app.screen, Dashboard)

    on_screen(steps)


@pytest.mark.parametrize("kind", [ViewKind.WATCH, ViewKind.ATTACH])
def test_help_names_no_keys_for_a_job_where_there_is_none(kind: ViewKind) -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert "zoom" in screen.text()
        assert not any(words in screen.text() for words in ("the job", "export", "tree"))

    on_screen(steps, kind=kind)


def test_the_palette_has_the_actions() -> None:
    screen = Screen(script.brief())
    names = [command.title for command in screen.app.get_system_commands(screen.app.get_default_screen())]
    assert {"Pause or resume", "Switch to shards", "Kill", "Detach", "Export", "Theme"} <= set(names)


def test_ctrl_p_opens_the_palette() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert type(screen.app.screen).__name__ == "CommandPalette"
        await pilot.press("escape")

    on_screen(steps)


def test_e_asks_for_the_form_and_says_what_became_of_it() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("e")
        assert "HTML report" in screen.text()
        await pilot.press("escape")

    on_screen(steps)


def test_a_run_without_a_journal_cannot_be_exported() -> None:
    events = script.brief()
    screen_events = [{**events[0], "run": ""}, *events[1:]]

    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("e")
        assert screen.said == ["this run is not recorded, so there is nothing to export"]
        assert "no rec" in screen.text("header")

    on_screen(steps, screen_events)


def test_a_click_on_a_key_does_what_the_key_does() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        footer = screen.text("footer")
        await pilot.click("#footer", offset=(footer.index("p pause"), 0))
        await pilot.pause()
        banner = screen.text("banner")
        await pilot.click("#banner", offset=(banner.index("[p]"), 0))
        await pilot.pause()
        await pilot.click("#banner", offset=(banner.index("[s]"), 0))
        await pilot.pause()
        assert "switch to shards?" in screen.text()
        await pilot.press("s")

    assert on_screen(steps, script.warning()).sent == ["pause", "pause", "shard"]


@pytest.mark.parametrize("key", ["p", "s", "x", "K", "g"])
def test_without_a_job_there_is_nothing_to_do_to_it(key: str) -> None:
    screen = press(key, events=[], kind=ViewKind.WATCH)
    assert screen.sent == []


@pytest.mark.parametrize("key", ["q", "ctrl+c", "d"])
def test_without_a_job_one_just_leaves(key: str) -> None:
    assert press(key, events=[], kind=ViewKind.WATCH).app.return_value == Left.QUIT


def test_what_comes_from_outside_cannot_write_on_the_screen() -> None:
    nasty = "name\x1b[2J\x1b]0;title\x07\nline\u202e"
    events = script.brief()
    start = {**script.start(["sh", "-c", nasty])}
    note = {"t": script.START_T + 30, "event": "note", "text": nasty}
    verdict = script.verdict(31, "warn", nasty)
    progress = {"t": script.START_T + 5, "event": "progress", "done": 1, "total": 2, "unit": nasty, "name": nasty}

    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        screen.source.tell(note, verdict, progress)
        await pilot.pause(0.3)
        assert all(character.isprintable() or character == "\n" for character in screen.text())
        assert all(text.isprintable() for text in screen.said)

    on_screen(steps, [start, *events[1:]])


def test_an_impatient_key_in_a_dialog_is_no_answer_to_another() -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        await pilot.press("x")
        dialog = screen.app.screen
        assert isinstance(dialog, Dialog)
        dialog.answer("stop")
        dialog.answer("")
        dialog.answer("stop")
        await pilot.pause()
        assert isinstance(screen.app.screen, Dashboard)

    assert on_screen(steps).sent == ["stop"]


@pytest.mark.parametrize(
    ("events", "kind", "there", "not_there"),
    [
        pytest.param(script.brief, ViewKind.RUN, "p pause", "resume", id="running"),
        pytest.param(script.paused, ViewKind.RUN, "p resume", "pause", id="paused"),
        pytest.param(script.watched, ViewKind.WATCH, "q quit", "stop", id="no job"),
    ],
)
def test_a_tiny_screen_names_keys_that_do_something(
    events: Callable[[], list[dict[str, Any]]], kind: ViewKind, there: str, not_there: str
) -> None:
    async def steps(screen: Screen, pilot: "Pilot[Left]") -> None:
        keys = next(row for row in reversed(screen.text("tiny").splitlines()) if row.strip())
        assert there in keys
        assert not_there not in keys

    on_screen(steps, events(), kind, size=(50, 10))
