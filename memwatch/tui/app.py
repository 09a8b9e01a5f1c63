"""The app: keys and what they do. What is shown comes from a source, and is drawn elsewhere."""

import gc
import time
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.app import SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from memwatch.decide.actions import outcome
from memwatch.errors import printable
from memwatch.tui.draw.layout import output_columns
from memwatch.tui.draw.lines import line
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import JobState, Picture, ViewKind
from memwatch.tui.screens.dashboard import Dashboard
from memwatch.tui.screens.dialog import Choice, Dialog
from memwatch.tui.screens.output_screen import OutputScreen
from memwatch.tui.screens.panel_widget import PAGE, Drawing
from memwatch.tui.sources import Event, EventSource
from memwatch.tui.themes import DARK, LIGHT
from memwatch.tui.workarounds import SteadyApp

# However fast things happen, nobody reads faster; what somebody waits for comes sooner than what just goes on.
LEAST_BETWEEN_DRAWS_S = 0.2
GOING_ON_BETWEEN_DRAWS_S = 0.5
GOING_ON = ("output", "sample", "progress", "verdict", "nodes")
TICK_S = 1.0
ANSWER_WITHIN_S = 3.0
KEYS_ALWAYS = ("ctrl+c", "ctrl+z")
OF_DASHBOARD = ("tree", "sort", "filter", "zoom", "compact", "span", "scroll", "undo_view")


class Left(StrEnum):
    """Why the screen was left."""

    ENDED = "ended"  # nothing more will come
    DETACHED = "detached"
    QUIT = "quit"


class MemwatchApp(SteadyApp[Left]):
    TITLE = "memwatch"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[Any]] = [
        Binding("p", "pause", "pause or resume"),
        Binding("space", "pause_or_play", "pause or resume", show=False),
        Binding("s", "shard", "switch to shards"),
        Binding("f", "confine", "confine or release"),
        Binding("x", "stop", "stop"),
        Binding("K", "kill", "kill"),
        Binding("g", "guard", "guard on or off"),
        Binding("l", "output", "output"),
        Binding("t", "tree", "tree"),
        Binding("o", "sort", "sort"),
        Binding("slash", "filter", "filter"),
        Binding("z", "zoom", "zoom"),
        Binding("c", "compact", "compact"),
        Binding("e", "export", "export"),
        Binding("d", "detach", "detach"),
        Binding("q", "ask_to_quit", "quit"),
        Binding("question_mark,f1", "help", "help"),
        Binding("plus,equals_sign", "span(1)", "longer charts", show=False),
        Binding("minus", "span(-1)", "shorter charts", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", f"scroll(-{PAGE})", show=False),
        Binding("pagedown", f"scroll({PAGE})", show=False),
        Binding("escape", "undo_view", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
        Binding("ctrl+q", "ask_to_quit", show=False, priority=True),
    ]

    def __init__(self, source: EventSource, look: Look, theme: str = DARK.name, journal: str | None = None) -> None:
        # With the terminal's own colours, Textual takes NO_COLOR at its word; with others it makes them grey.
        super().__init__(ansi_color=None if look.has_colours else True)
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = theme
        self._source = source
        self._journal = journal
        self.look = look
        self.set_class(look.glyphs.is_ascii, "-ascii")
        self._drawn_s = 0.0
        self._is_draw_due = False
        self._is_shown = False
        self._has_numbers = False
        self._was_grave = False
        self._interrupted = False
        self._asked: dict[str, float] = {}

    @property
    def picture(self) -> Picture:
        return self._source.picture()

    def get_default_screen(self) -> Screen[Any]:
        return Dashboard(self.picture, self.look, self.timeline())

    def timeline(self) -> Drawing | None:
        """What a replay shows of its time."""
        return None

    def on_mount(self) -> None:
        self._source.start(self._changed, self._ended)
        self.set_interval(TICK_S, self._tick)
        self.draw()
        self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        self._is_shown = True
        gc.enable()

    async def on_event(self, event: events.Event) -> None:
        """Drops keys that were typed before the first frame, but never Ctrl-C."""
        if isinstance(event, events.Key) and not self._is_shown and event.key not in KEYS_ALWAYS:
            return
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys for panels do nothing on a page that does not show them."""
        return not (action in OF_DASHBOARD and isinstance(self.screen, OutputScreen))

    def on_unmount(self) -> None:
        self._source.stop()

    def on_resize(self) -> None:
        width, height = self.size
        self._source.send({"command": "resize", "rows": height, "columns": output_columns(width)})

    # What comes from the source

    def _changed(self, events: list[Event]) -> None:
        for event in events:
            self._take_event(event)
        if not self._is_draw_due:
            self._is_draw_due = True
            goes_on = self._has_numbers and all(event.get("event") in GOING_ON for event in events)
            between_s = GOING_ON_BETWEEN_DRAWS_S if goes_on else LEAST_BETWEEN_DRAWS_S
            self.set_timer(max(between_s - (time.monotonic() - self._drawn_s), 0.001), self.draw)

    def _ended(self) -> None:
        self.exit(Left.ENDED)

    def _tick(self) -> None:
        """Redraws the clock when no event arrives."""
        if time.monotonic() - self._drawn_s > 0.9 * TICK_S:
            self.draw()
        for command, asked_s in list(self._asked.items()):
            if time.monotonic() - asked_s > ANSWER_WITHIN_S:
                del self._asked[command]
                self.say(f"the guard has not responded: {command}", "warning")

    def draw(self) -> None:
        self._is_draw_due = False
        self._drawn_s = time.monotonic()
        picture = self.picture
        self._has_numbers = picture.sample is not None
        for screen in self.screen_stack:
            show = getattr(screen, "show", None)
            if show is not None and screen.is_mounted:
                show(picture, self.look)

    def _take_event(self, event: Event) -> None:
        match event.get("event"):
            case "verdict":
                is_grave = event.get("level") in ("warn", "act")
                if is_grave and not self._was_grave:
                    self.bell()
                self._was_grave = is_grave
            case "action" if event.get("by") == "user" and event.get("action") in _DONE:
                self._asked.pop(event["action"], None)
                is_done = event.get("result") in (None, "done")
                self.say(_DONE[event["action"]] if is_done else outcome(event))
            case "guard":
                self._asked.pop("guard_on", None)
                self._asked.pop("guard_off", None)
            case "note":
                self._asked.clear()
                self.say(str(event.get("text", "")))

    def say(self, text: str, severity: Any = "information") -> None:
        self.notify(printable(text), severity=severity, timeout=4, markup=False)

    # What the user wants done to the job

    def ask_guard(self, command: str) -> None:
        if self._source.kind != ViewKind.RUN:
            self.say("there is no job here")
        elif self.picture.state == JobState.ENDED:
            self.say("the job has ended")
        elif self._source.send({"command": command}):
            self._asked[command] = time.monotonic()
        else:
            self.say("the guard does not respond; try again", "warning")

    def action_pause(self) -> None:
        self.ask_guard("resume" if self.picture.state == JobState.PAUSED else "pause")

    def action_pause_or_play(self) -> None:
        self.action_pause()

    def action_shard(self) -> None:
        picture = self.picture
        if picture.kind == ViewKind.RUN and not picture.can_shard:
            self.say("this job cannot switch to shards; p pauses it, x stops it")
        elif picture.is_sharded:
            self.say("the job writes shards already")
        else:
            text = ["The job then needs less memory. It cannot switch back to one file."]
            self._ask_first("switch to shards?", text, Choice("s", "switch", "shard", "act"))

    def action_confine(self) -> None:
        if self.picture.is_confined:
            self.ask_guard("release")
            return
        text = ["It keeps the memory it has and swaps its own pages for more.", "It becomes slower; others do not."]
        self._ask_first("confine the job?", text, Choice("f", "confine", "confine", "act"))

    def action_stop(self) -> None:
        text = ["It receives SIGTERM; if it does not exit, SIGKILL follows."]
        if self.picture.title.startswith("tokenize "):
            text.append("What was made so far is kept: the same command continues it.")
        self._ask_first("stop the job?", text, Choice("x", "stop", "stop", "act"))

    def action_kill(self) -> None:
        text = ["It receives SIGKILL and cannot save anything."]
        self._ask_first("kill the job?", text, Choice("K", "kill", "kill", "act"))

    def action_guard(self) -> None:
        if not self.picture.is_guard_on:
            self.ask_guard("guard_on")
            return
        text = ["Without it the job can freeze the machine.", "Warnings are still shown; nothing is paused or stopped."]
        self._ask_first("turn the guard off?", text, Choice("g", "turn off", "guard_off", "act"))

    def _ask_first(self, title: str, text: list[str], choice: Choice) -> None:
        if self._source.kind != ViewKind.RUN:
            self.say("there is no job here")
            return
        self._question(title, text, [choice])

    def _question(self, title: str, text: list[str], choices: list[Choice]) -> None:
        def answered(value: str | None) -> None:
            if value == "detach":
                self.action_detach()
            elif value:
                self.ask_guard(value)

        self.push_screen(Dialog(title, [line(row) for row in text], choices, self.look), answered)

    def action_interrupt(self) -> None:
        """The first Ctrl-C goes to the job, as in any terminal; the second one opens a question."""
        if isinstance(self.screen, Dialog):
            self.screen.answer("")
        elif self._source.kind != ViewKind.RUN:
            self.exit(Left.QUIT)
        elif self._interrupted:
            self.action_ask_to_quit()
        else:
            self._interrupted = True
            self._source.send({"command": "signal", "number": 2})
            self.say("sent Ctrl-C to the job; press it again to choose what to do")

    def action_ask_to_quit(self) -> None:
        if isinstance(self.screen, Dialog):
            return
        if self._source.kind != ViewKind.RUN:
            self.exit(Left.QUIT)
            return
        choices = [
            Choice("x", "stop the job", "stop", "act"),
            Choice("K", "kill it", "kill", "act"),
            Choice("d", "detach", "detach"),
        ]
        text = "The job is still running. Detached, it stays under guard."
        if self.picture.state == JobState.PAUSED:
            text = "The job is paused. Detached, it stays under guard, and paused until memory is free."
        self._question("leave?", [text], choices)

    def action_detach(self) -> None:
        if self._source.kind == ViewKind.RUN:
            self.exit(Left.DETACHED)
        else:
            self.exit(Left.QUIT)

    # What the user wants to see

    def action_output(self) -> None:
        if self.picture.has_job and not isinstance(self.screen, OutputScreen):
            self.push_screen(OutputScreen())
            self.call_after_refresh(self.draw)

    def action_help(self) -> None:
        from memwatch.tui.screens.help import help_dialog

        if not isinstance(self.screen, Dialog):
            self.push_screen(help_dialog(self._source.kind, self.look, *self.size))

    def action_tree(self) -> None:
        self._set_look(as_tree=not self.look.as_tree)
        self.say("processes as a tree" if self.look.as_tree else "processes as a list")

    def action_sort(self) -> None:
        self._set_look(order=self.look.order.next)

    def action_span(self, step: int) -> None:
        self._set_look(span_s=self.look.other_span_s(self.picture.elapsed_s, step))

    def action_filter(self) -> None:
        from memwatch.tui.screens.dialog import Filter

        if isinstance(self.screen, Dashboard):
            self.screen.mount(Filter(self.look.wanted))

    def filter_by(self, wanted: str) -> None:
        self._set_look(wanted=wanted)

    def action_zoom(self) -> None:
        if isinstance(self.screen, Dashboard):
            self.screen.toggle_zoom()

    def action_compact(self) -> None:
        if isinstance(self.screen, Dashboard):
            self.screen.toggle_compact()

    def action_scroll(self, rows: int) -> None:
        if isinstance(self.screen, Dashboard):
            self.screen.scroll_focused(rows)

    def action_undo_view(self) -> None:
        if isinstance(self.screen, Dashboard):
            self.screen.leave_zoom()
            if self.look.wanted:
                self.filter_by("")

    def _set_look(self, **changes: Any) -> None:
        self.look = replace(self.look, **changes)
        self.draw()

    def action_export(self) -> None:
        run = self._journal or self.picture.run_id
        if not run:
            self.say("this run is not recorded, so there is nothing to export")
            return
        choices = [Choice("h", "HTML report", "html"), Choice("c", "CSV", "csv"), Choice("j", "JSON", "json")]
        text = [line("Written into the current folder.")]

        def answered(form: str | None) -> None:
            if form:
                self.run_worker(self._export(run, form), exclusive=True)

        self.push_screen(Dialog("export this run", text, choices, self.look), answered)

    async def _export(self, run: str, form: str) -> None:
        from memwatch.tui.exporting import export

        self.say("exporting")
        self.say(await export(run, form, Path.cwd()))

    def get_system_commands(self, screen: Screen[Any]) -> Any:
        for binding in self.BINDINGS:
            if binding.description and binding.key != "space":
                words = binding.description.capitalize()
                key = _KEY_NAMES.get(binding.key, binding.key)
                yield SystemCommand(words, f"key {key}", partial(self.run_action, binding.action))
        yield SystemCommand("Theme", "Choose another theme", self.action_change_theme)


_KEY_NAMES = {
    "slash": "/",
    "question_mark,f1": "?",
    "plus,equals_sign": "+",
    "minus": "-",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
}
_DONE = {
    "pause": "the job is paused",
    "resume": "the job is resumed",
    "shard": "the job switches to shards",
    "confine": "the job is confined to the memory it has",
    "release": "the job is no longer confined",
    "stop": "the job is stopping (SIGTERM)",
    "kill": "the job is killed (SIGKILL)",
}
