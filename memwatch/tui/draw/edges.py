"""The lines at the edges of the screen: header, footer with the keys, and the timeline of a replay."""

from dataclasses import replace

from memwatch.errors import printable
from memwatch.model.wording import clock_time
from memwatch.tui.draw.glyphs import Glyphs
from memwatch.tui.draw.lines import Line, Span, cut, fitting, joined, line, spread, width_of
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import stopwatch
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
_WEIGHT = {"info": 0, "warn": 1, "act": 2}


def header_lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    """What runs, how it is, for how long, and whether it is guarded and recorded."""
    name = "memwatch" if picture.kind == ViewKind.RUN else f"memwatch {picture.kind}"
    left = line(Span(f" {name} ", "title"), " ", Span(printable(picture.title), "strong"))
    parts = [state(picture, look), line(Span(stopwatch(picture.elapsed_s)))] if picture.has_job else []
    if picture.kind == ViewKind.RUN:
        parts += [_guard(picture), _record(picture, look)]
    if picture.kind == ViewKind.ATTACH:
        parts.append(line(Span(nodes_at_work(picture))))
    parts.append(line(Span(clock_time(picture.now_t), "dim")))
    # Of what is at the right, as much as leaves a third to what is at the left.
    return [spread(left, line(fitting(parts, 2 * width // 3, "  "), " "), width)]


def nodes_at_work(picture: Picture) -> str:
    working = sum(row.state in ("working", "paused") for row in picture.nodes)
    return f"{working} of {len(picture.nodes)} nodes"


def state(picture: Picture, look: Look) -> Line:
    """The state of the job as a symbol and a word, because not everybody sees colours."""
    glyphs = look.glyphs
    symbol, word, role = {
        JobState.STARTING: (glyphs.running, "STARTING", "dim"),
        JobState.RUNNING: (glyphs.running, "RUNNING", "ok"),
        JobState.PAUSED: (glyphs.paused, "PAUSED", "warn"),
        JobState.STOPPING: (glyphs.stopping, "STOPPING", "act"),
        JobState.ENDED: (glyphs.done, "DONE", "ok"),
        JobState.WATCHING: (glyphs.running, "WATCHING", "ok"),
    }[picture.state]
    if picture.state == JobState.RUNNING and picture.is_confined:
        symbol, word, role = glyphs.stopping, "CONFINED", "watch"
    if picture.state == JobState.ENDED and picture.exit_code:
        symbol, word, role = glyphs.failed, f"ENDED {picture.exit_code}", "act"
    shards = (Span(f" {glyphs.shards} shards", "watch"),) if picture.is_sharded else ()
    return line(Span(f"{symbol} {word}", role), shards)


def _guard(picture: Picture) -> Line:
    if picture.is_guard_on:
        return line(Span("guard ", "dim"), Span("on", "ok"))
    return line(Span("guard ", "dim"), Span("OFF", "act"))


def _record(picture: Picture, look: Look) -> Line:
    return line(Span(f"rec {look.glyphs.running}", "dim") if picture.is_recorded else Span("no rec", "dim"))


def footer_lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    """The keys, each of which can be clicked."""
    others = keys(picture)[: -len(_END)]
    end = joined([drawn_key(key) for key in _END])
    shown = fitting([drawn_key(key) for key in others], max(width - width_of(end) - 4, 0), "  ")
    return [cut(line(" ", shown, "  " if shown else "", end), width)]


def keys(picture: Picture) -> list[Key]:
    """The most important first, and at the end those that are always there."""
    return [*_keys(picture), *_END]


def _keys(picture: Picture) -> list[Key]:
    if picture.kind == ViewKind.WATCH:
        return [key for key in _VIEW if key[0] in "o/zc"]
    if picture.kind == ViewKind.ATTACH:
        return [key for key in _VIEW if key[0] in "zc"]
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


def drawn_key(key: Key) -> Line:
    name, word, action = key
    return (Span(name, "key", action=action), Span(f" {word}", "dim", action=action))


def timeline(
    times: tuple[float, float, float], marks: list[tuple[float, str]], words: str, width: int, glyphs: Glyphs
) -> Line:
    """Where a replay stands in the whole run, with what happened marked on it. A click goes there.

    `times` are those of the start, of now, and of the end.
    """
    start_t, now_t, end_t = times
    left = line(" ", Span(f"{words:<7}", "key", action="app.pause"), Span(f" {clock_time(now_t)}  ", "strong"))
    right = line(Span(f"  {stopwatch(now_t - start_t)} of {stopwatch(end_t - start_t)} ", "dim"))
    room = max(width - width_of(left) - width_of(right), 1)

    def column(t: float) -> int:
        return min(max(round((t - start_t) / max(end_t - start_t, 1e-9) * (room - 1)), 0), room - 1)

    here = column(now_t)
    cells = [Span(glyphs.passed, "job")] * here + [Span(glyphs.across, "frame")] * (room - here)
    for t, level in sorted(marks, key=lambda mark: _WEIGHT[mark[1]]):
        cells[column(t)] = Span(glyphs.tick, "dim") if level == "info" else Span(glyphs.warning, level)
    cells[here] = Span(glyphs.here, "strong")
    shares = (number / max(room - 1, 1) for number in range(room))
    return line(
        left,
        *(replace(cell, action=f"app.seek({share:.4f})") for cell, share in zip(cells, shares, strict=True)),
        right,
    )
