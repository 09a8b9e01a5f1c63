"""What the keys do, and what the pictures mean."""

from itertools import zip_longest

from memwatch.tui.draw.lines import BLANK, Line, Span, line, padded
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import ViewKind
from memwatch.tui.screens.dialog import Dialog

_RUN = [
    ("p Space", "pause, resume"),
    ("s", "switch to shards"),
    ("f", "confine, release"),
    ("x", "stop: SIGTERM, SIGKILL"),
    ("K", "kill at once"),
    ("g", "guard on, off"),
    ("d", "detach; guard stays"),
    ("Ctrl-C", "to the job; twice: menu"),
]
_REPLAY = [
    ("Space", "play, stop"),
    ("← →", "a step back, forward"),
    ("n N", "next, previous event"),
    ("[ ]", "slower, faster"),
    ("Home End", "to the start, the end"),
]
_OUTPUT = [("l", "the job's output")]
_TABLE = {
    ViewKind.RUN: [("t o /", "tree, sort, filter")],
    ViewKind.REPLAY: [("t o /", "tree, sort, filter")],
    ViewKind.WATCH: [("o /", "sort, filter")],
    ViewKind.ATTACH: [],
}
_PANELS = [("Tab z", "next panel, zoom it"), ("c", "compact"), ("+ -", "longer, shorter charts")]
_EXPORT = [("e", "export the run")]
_END = [("Ctrl-P", "all commands, themes"), ("q", "quit")]
COLUMN = 34
ROOM_FOR_BOTH = 2 * COLUMN + 4  # columns
ROOM_FOR_LEGEND = 18  # rows


def help_dialog(kind: ViewKind, look: Look, width: int, height: int) -> Dialog:
    acts = {ViewKind.RUN: _RUN, ViewKind.REPLAY: _REPLAY}.get(kind, [])
    view = [*_TABLE[kind], *_PANELS, *_END]
    if acts:
        view = [*_OUTPUT, *_TABLE[kind], *_PANELS, *_EXPORT, *_END]
    keys = [_table(part) for part in (acts, view) if part]
    rows = _beside(keys) if width >= ROOM_FOR_BOTH else [row for part in keys for row in part]
    legend = [BLANK, *_legend(look, has_job=bool(acts))] if height >= ROOM_FOR_LEGEND else []
    return Dialog("keys", [*rows, *legend], [], look)


def _table(keys: list[tuple[str, str]]) -> list[Line]:
    return [line(Span(key.rjust(8), "key"), "  ", Span(words)) for key, words in keys]


def _beside(parts: list[list[Line]]) -> list[Line]:
    rows = zip_longest(*parts, fillvalue=BLANK)
    return [line(*(padded(part, COLUMN) for part in row[:-1]), row[-1]) for row in rows]


def _legend(look: Look, has_job: bool) -> list[Line]:
    glyphs = look.glyphs
    solid, shaded, dots, broken = glyphs.heights[-1] * 2, glyphs.others * 2, glyphs.dot * 3, glyphs.level * 3
    job = line(Span(solid, "job"), " the job   ", Span(shaded, "others"), " other programs")
    levels = "where the guard warns and acts" if has_job else "where a guard would warn and act"
    return [
        job if has_job else line(Span(shaded, "others"), " programs"),
        line(Span(dots, "forecast"), " forecast: memory use at the present rate"),
        line(Span(broken, "warn"), " warn, ", Span(broken, "act"), f" act: {levels}"),
    ]
