"""Memory, swap, pressure and GPU in a few lines, each with its own small history: for terminals of 80 columns."""

from memwatch.tui.draw import gpu_panel, memory_panel, pressure, swap
from memwatch.tui.draw.bars import spark
from memwatch.tui.draw.lines import Line, Span, line, padded, width_of
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import percent, size
from memwatch.tui.model.picture import Picture
from memwatch.tui.model.series import Value, columns

LABEL = 6
SPARK = 16
WITH_PEAK = 70


def title(picture: Picture, look: Look) -> Line:
    return memory_panel.title(picture, look)


def subtitle(picture: Picture, look: Look) -> Line:
    return memory_panel.subtitle(picture, look)


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    rows = [_ram(picture, look, width), _pressure(picture, look, width)]
    if swap.total_bytes(picture):
        rows.insert(1, _swap(picture, look, width))
    rows += [_gpu(picture, number, look, width) for number in range(len(gpu_panel.cards(picture)))]
    rows = rows[:height]
    room = height - len(rows)
    if room >= 3 and picture.room is not None:
        rows[1:1] = memory_panel.chart(picture, picture.room, look, width, room)
    elif room >= 1 and picture.room is not None:
        rows.insert(1, memory_panel.job_line(picture, look, width))
    return rows


def _ram(picture: Picture, look: Look, width: int) -> Line:
    room = picture.room
    if room is None:
        return line(Span("RAM".ljust(LABEL), "dim"), Span("n/a", "dim"))
    job = picture.job_bytes
    left = line(Span("RAM".ljust(LABEL), "dim"))
    if job is not None:
        left = line(left, Span("job ", "dim"), Span(size(job).ljust(9), "job"), " ")
        if width >= WITH_PEAK:
            left = line(left, Span("peak ", "dim"), size(picture.peak_job_bytes).ljust(9), " ")
    left = line(left, Span("free ", "dim"), size(room.available_bytes).ljust(9), " ")
    right = line(" ", Span(percent(room.used_fraction).rjust(5), "strong"))
    return line(
        left, memory_panel.room_bar(picture, room, look, max(width - width_of(left) - width_of(right), 4)), right
    )


def _with_spark(
    name: str, words: Line, picture: Picture, look: Look, width: int, value: Value, top: float, role: str
) -> Line:
    column_s = look.chart_span_s(picture.elapsed_s) / SPARK
    (values,) = columns(picture.points, picture.now_t, column_s, SPARK, value)
    left = padded(line(Span(name.ljust(LABEL), "dim"), words), width - SPARK - 1)
    return line(left, " ", spark(values, top, look.glyphs, role))


def _swap(picture: Picture, look: Look, width: int) -> Line:
    words = swap.numbers(picture, look, width - SPARK - LABEL - 2)
    top = swap.total_bytes(picture)
    return _with_spark("SWAP", words, picture, look, width, lambda point: point.swap_used_bytes or None, top, "others")


def _pressure(picture: Picture, look: Look, width: int) -> Line:
    words = pressure.memory_line(picture, width - SPARK - LABEL - 2)
    if picture.sample is not None and picture.sample.pressure is None:
        words = line(Span("n/a", "dim"))
    top = pressure.TOP_FRACTION
    return _with_spark(
        "STALL", words, picture, look, width, lambda point: point.stall_some_fraction or None, top, "job"
    )


def _gpu(picture: Picture, number: int, look: Look, width: int) -> Line:
    words = gpu_panel.numbers(gpu_panel.cards(picture)[number], look, width - SPARK - LABEL - 2)
    return _with_spark(
        f"GPU{number}", words, picture, look, width, lambda point: point.gpu_fraction or None, 1.0, "job"
    )
