"""Swap: how much is used, and how fast pages go in and out. Both at once is thrashing."""

from memwatch.tui.draw.bars import spark
from memwatch.tui.draw.lines import Line, Span, fitting, label, line
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import percent, rate, size
from memwatch.tui.model.picture import Picture
from memwatch.tui.model.series import columns


def total_bytes(picture: Picture) -> int:
    """The size of swap; 0 if there is none, or it is unknown."""
    memory = None if picture.sample is None else picture.sample.memory
    return 0 if memory is None else memory.swap_total_bytes


def title(picture: Picture, look: Look) -> Line:
    memory = None if picture.sample is None else picture.sample.memory
    words = [Span("swap", "title")]
    if memory is not None and memory.swap_total_bytes:
        words.append(Span(f" {size(memory.swap_total_bytes)}", "dim"))
        if memory.zram_bytes:
            words.append(Span(f", {size(memory.zram_bytes)} of it compressed RAM", "dim"))
    return tuple(words)


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    memory = None if picture.sample is None else picture.sample.memory
    if memory is None:
        return [line(Span("n/a", "dim"))]
    if not memory.swap_total_bytes:
        return [line(Span("none: when RAM is full, the kernel kills a process", "dim"))]
    return [numbers(picture, look, width), history(picture, look, width)]


def numbers(picture: Picture, look: Look, width: int) -> Line:
    memory = None if picture.sample is None else picture.sample.memory
    if memory is None or not memory.swap_total_bytes:
        return line(Span("none" if memory is not None else "n/a", "dim"))
    used = memory.swap_total_bytes - memory.swap_free_bytes
    coming, going = picture.rates.swap_in_bytes_s, picture.rates.swap_out_bytes_s
    enough = None if picture.judged is None else picture.judged.warn_swap_bytes_s
    role = "warn" if enough is not None and min(coming or 0, going or 0) >= enough else ""
    parts = [
        line(Span(size(used)), Span(f" {percent(used / memory.swap_total_bytes)}", "dim")),
        label("in", rate(coming), role),
        label("out", rate(going), role),
    ]
    return fitting(parts, width)


def history(picture: Picture, look: Look, width: int) -> Line:
    column_s = look.chart_span_s(picture.elapsed_s) / width
    (used,) = columns(picture.points, picture.now_t, column_s, width, lambda point: point.swap_used_bytes)
    return spark([value or None for value in used], total_bytes(picture), look.glyphs, "others")
