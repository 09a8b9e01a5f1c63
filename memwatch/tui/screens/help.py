"""What the keys do, and what the pictures mean."""

from memwatch.tui.draw.lines import BLANK, Line, Span, line
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import Kind
from memwatch.tui.screens.dialog import Dialog

_RUN = [
    ("p Space", "pause, resume"),
    ("s", "switch to shards (jobs that can)"),
    ("x", "stop: ask it to end, wait, kill"),
    ("K", "kill at once"),
    ("g", "guard on, off"),
    ("d", "detach: job and guard run on"),
    ("Ctrl-C", "to the job; the second one asks"),
]
_REPLAY = [
    ("Space", "play, stand still"),
    ("← →", "a step back, forward"),
    ("n N", "next, previous event"),
    ("[ ]", "slower, faster"),
    ("Home End", "to the start, to the end"),
]
_VIEW = [
    ("l", "the job's whole output"),
    ("t o /", "tree, sort, filter processes"),
    ("Tab z", "next panel, zoom it"),
    ("c", "compact"),
    ("+ -", "longer, shorter charts"),
    ("e", "export the run"),
    ("Ctrl-P", "all commands, themes"),
    ("q", "quit"),
]


def help_dialog(kind: Kind, look: Look) -> Dialog:
    keys = {Kind.RUN: _RUN, Kind.REPLAY: _REPLAY, Kind.WATCH: []}[kind]
    glyphs = look.glyphs
    solid, shaded, dots, broken = glyphs.heights[-1] * 2, glyphs.others * 2, glyphs.dot * 3, glyphs.level * 3
    legend = [
        line(Span(solid, "job"), " the job   ", Span(shaded, "others"), " other programs"),
        line(Span(dots, "forecast"), " forecast: how memory goes on at this rate"),
        line(Span(broken, "warn"), " warn, ", Span(broken, "act"), " act: where the guard steps in"),
    ]
    return Dialog("keys", [*_table([*keys, *_VIEW]), BLANK, *legend], [], look)


def _table(keys: list[tuple[str, str]]) -> list[Line]:
    return [line(Span(key.rjust(8), "key"), "  ", Span(words)) for key, words in keys]
