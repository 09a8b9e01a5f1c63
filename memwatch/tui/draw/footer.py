"""The last line: the keys, each of which can be clicked."""

from memwatch.tui.draw.lines import Line, Span, cut, fitting, joined, line, width_of
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import JobState, Picture, ViewKind

Key = tuple[str, str, str]  # the key, what it does, the action

_VIEW: list[Key] = [
    ("l", "output", "app.output"),
    ("t", "tree", "app.tree"),
    ("o", "sort", "app.sort"),
    ("/", "filter", "app.filter"),
    ("z", "zoom", "app.zoom"),
    ("c", "compact", "app.compact"),
]
_END: list[Key] = [("?", "help", "app.help"), ("q", "quit", "app.ask_to_quit")]


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    others = keys(picture)[: -len(_END)]
    end = joined([drawn(key) for key in _END])
    shown = fitting([drawn(key) for key in others], max(width - width_of(end) - 4, 0), "  ")
    return [cut(line(" ", shown, "  " if shown else "", end), width)]


def keys(picture: Picture) -> list[Key]:
    """The most important first, and at the end those that are always there."""
    return [*_keys(picture), *_END]


def _keys(picture: Picture) -> list[Key]:
    if picture.kind == ViewKind.WATCH:
        return [key for key in _VIEW if key[0] in "o/zc"]
    if picture.kind == ViewKind.REPLAY:
        return [("space", "play", "app.pause"), ("←→", "step", ""), ("n", "next event", "app.next_event"),
                ("[]", "speed", ""), *_VIEW, ("e", "export", "app.export")]  # fmt: skip
    is_paused = picture.state == JobState.PAUSED
    acts: list[Key] = [("p", "resume" if is_paused else "pause", "app.pause"), ("x", "stop", "app.stop")]
    if picture.is_confined or picture.can_confine:
        acts.append(("f", "release" if picture.is_confined else "confine", "app.confine"))
    if picture.can_shard and not picture.is_sharded:
        acts.insert(1, ("s", "shard", "app.shard"))
    return [*acts, _VIEW[0], *_VIEW[1:4], ("d", "detach", "app.detach"), *_VIEW[4:], ("e", "export", "app.export")]


def drawn(key: Key) -> Line:
    name, word, action = key
    return (Span(name, "key", action=action), Span(f" {word}", "dim", action=action))
