"""The app for a run that is over: the same screen, and keys that move in time."""

from typing import Any, ClassVar

from textual.binding import Binding

from memwatch.journal.reader import JournalIndex
from memwatch.tui.app import MemwatchApp
from memwatch.tui.draw.edges import timeline
from memwatch.tui.draw.glyphs import ScreenOptions
from memwatch.tui.draw.lines import Line
from memwatch.tui.draw.look import Look
from memwatch.tui.full_screen import look_for, run_app
from memwatch.tui.model.picture import Picture
from memwatch.tui.screens.panel_widget import Drawing
from memwatch.tui.sources.replay_source import ReplaySource
from memwatch.tui.themes import theme_for


class ReplayApp(MemwatchApp):
    BINDINGS: ClassVar[list[Any]] = [
        Binding("right", "step(1)", "a step forward", show=False),
        Binding("left", "step(-1)", "a step back", show=False),
        Binding("shift+right", "skip(10)", "10 s forward", show=False),
        Binding("shift+left", "skip(-10)", "10 s back", show=False),
        Binding("n", "next_event(1)", "next event"),
        Binding("N", "next_event(-1)", "previous event"),
        Binding("right_square_bracket", "faster(1)", "faster"),
        Binding("left_square_bracket", "faster(-1)", "slower"),
        Binding("home", "seek(0.0)", "to the start", show=False),
        Binding("end", "seek(1.0)", "to the end", show=False),
    ]

    def __init__(self, source: ReplaySource, look: Look, theme: str, journal: str) -> None:
        super().__init__(source, look, theme, journal)
        self._replay = source

    def timeline(self) -> Drawing:
        return Drawing(self._timeline)

    def _timeline(self, picture: Picture, look: Look, width: int, height: int) -> list[Line]:
        replay, glyphs = self._replay, look.glyphs
        words = f"{glyphs.play if replay.is_playing else glyphs.paused} {replay.speed:g}{glyphs.times}"
        marks = [(one.t, one.level) for one in replay.happenings]
        return [timeline((replay.start_t, replay.now_t, replay.end_t), marks, words, width, glyphs)]

    def on_mount(self) -> None:
        super().on_mount()
        self._replay.play(True)

    def action_pause(self) -> None:
        self._replay.play(not self._replay.is_playing)
        self.draw()

    def action_step(self, direction: int) -> None:
        self._replay.play(False)
        self._replay.step(direction)
        self.draw()

    def action_skip(self, seconds: int) -> None:
        self._replay.seek(self._replay.now_t + seconds)
        self.draw()

    def action_next_event(self, direction: int = 1) -> None:
        self._replay.play(False)
        self._replay.to_happening(direction)
        self.draw()

    def action_faster(self, step: int) -> None:
        self._replay.faster(step)
        self.draw()

    def action_seek(self, share: float) -> None:
        self._replay.play(False)
        self._replay.seek(self._replay.start_t + share * (self._replay.end_t - self._replay.start_t))
        self.draw()


def show_replay(index: JournalIndex, name: str, is_machine: bool, options: ScreenOptions) -> None:
    """`name` is what `memwatch export` knows it by."""
    source = ReplaySource(index, is_machine)
    run_app(ReplayApp(source, look_for(options), theme_for(options.theme), name))
