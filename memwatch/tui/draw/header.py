"""The first line: what runs, how it is, for how long, and whether it is guarded and recorded."""

from memwatch.errors import printable
from memwatch.tui.draw.lines import Line, Span, fitting, line, spread
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import clock, stopwatch
from memwatch.tui.model.picture import JobState, Picture, ViewKind


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    name = "memwatch" if picture.kind == ViewKind.RUN else f"memwatch {picture.kind}"
    left = line(Span(f" {name} ", "title"), " ", Span(printable(picture.title), "strong"))
    parts = [state(picture, look), line(Span(stopwatch(picture.elapsed_s)))] if picture.has_job else []
    if picture.kind == ViewKind.RUN:
        parts += [_guard(picture), _record(picture, look)]
    parts.append(line(Span(clock(picture.now_t), "dim")))
    # Of what is at the right, as much as leaves a third to what is at the left.
    return [spread(left, line(fitting(parts, 2 * width // 3, "  "), " "), width)]


def state(picture: Picture, look: Look) -> Line:
    """A word and a symbol, never colour alone."""
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
