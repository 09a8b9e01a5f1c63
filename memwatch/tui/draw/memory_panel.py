"""The machine's memory and the job's part in it, against a scale that does not move, with what is to come."""

from memwatch.model.units import GIB, MIB, soon
from memwatch.tui.draw.bars import stacked
from memwatch.tui.draw.chart import Chart, ChartLevel, chart_lines, split_width
from memwatch.tui.draw.lines import Line, Span, fitting, label, line, width_of
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import percent, size
from memwatch.tui.model.picture import MemoryRoom, Picture
from memwatch.tui.model.series import columns

NO_MEMORY = "n/a: this system does not report its memory"


def title(picture: Picture, look: Look) -> Line:
    words = [Span("memory", "title")]
    if picture.room is not None:
        limit = " limit" if picture.room.is_limit else ""
        # The need of the whole run stands in the same frame, and is news.
        swap = ", no swap" if has_no_swap(picture) and not need_line(picture) else ""
        words.append(Span(f" {size(picture.room.capacity_bytes)}{limit}{swap}", "dim"))
    return tuple(words)


def has_no_swap(picture: Picture) -> bool:
    memory = None if picture.sample is None else picture.sample.memory
    return memory is not None and not memory.swap_total_bytes


def subtitle(picture: Picture, look: Look) -> Line:
    """The guard's forecast, in words: of the next seconds or, where nothing is near, of the whole run."""
    left_s = picture.full_in_s
    if left_s is None:
        return need_line(picture)
    role = picture.judged.level if picture.judged is not None and picture.judged.is_grave else "watch"
    return (Span(f"full in {soon(left_s)}", role),)


def need_line(picture: Picture) -> Line:
    """What the whole run will need, in words; empty where that is not known or the run is over."""
    if picture.need is None or picture.exit is not None:
        return ()
    return (Span(picture.need.summary, "dim" if picture.need.full_at is None else "watch"),)


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    if picture.room is None:
        return [line(Span("no sample yet" if picture.sample is None else NO_MEMORY, "dim"))]
    drawn = [job_line(picture, look, width), room_line(picture, picture.room, look, width)]
    if height - len(drawn) >= 3:
        drawn += chart(picture, picture.room, look, width, height - len(drawn))
    return drawn


def job_line(picture: Picture, look: Look, width: int) -> Line:
    sample = picture.sample
    if sample is None or not picture.has_job:
        return fitting(_machine(picture), width)
    swap = sample.job_swap_bytes if sample.job else None
    parts = [
        line(Span("job ", "dim"), Span(size(picture.job_ram_bytes), "job")),
        label("peak", size(picture.peak_job_bytes)),
        label("swapped", size(swap)) if swap else (),
        *_headroom(picture),
    ]
    return fitting(parts, width)


def _machine(picture: Picture) -> list[Line]:
    return [label("used", size(None if picture.room is None else picture.room.used_bytes)), *_headroom(picture)]


def _headroom(picture: Picture) -> list[Line]:
    headroom = None if picture.judged is None else picture.judged.headroom_bytes
    reserve = None if picture.judged is None else picture.judged.reserve_bytes
    shown = None if headroom is None else max(headroom, 0)
    return [
        label("headroom", size(shown), "act" if shown == 0 else ""),
        label("reserve", size(reserve)),
    ]


def room_line(picture: Picture, room: MemoryRoom, look: Look, width: int) -> Line:
    left = line(Span("free ", "dim"), Span(size(room.available_bytes).ljust(9)), " ")
    right = line(" ", Span(percent(room.used_fraction).rjust(5), "strong"), Span(" used", "dim"))
    return line(left, room_bar(picture, room, look, max(width - width_of(left) - width_of(right), 4)), right)


def room_bar(picture: Picture, room: MemoryRoom, look: Look, width: int) -> Line:
    """The job's part, everybody else's, and what is free."""
    capacity = max(room.capacity_bytes, 1)
    job = min(picture.job_ram_bytes or 0, room.used_bytes)
    return stacked([(job / capacity, "job"), ((room.used_bytes - job) / capacity, "others")], width, look.glyphs)


def chart(picture: Picture, room: MemoryRoom, look: Look, width: int, height: int) -> list[Line]:
    unit, name = (GIB, "GiB") if room.capacity_bytes >= 2 * GIB else (MIB, "MiB")
    labels = f"{room.capacity_bytes / unit:.0f} {name}", f"{room.capacity_bytes / unit / 2:.0f} {name}"
    past, future = split_width(width, max(map(len, labels)))
    column_s = look.chart_span_s(picture.elapsed_s) / past
    used, job = columns(
        picture.points, picture.now_t, column_s, past, lambda point: point.used_bytes, lambda point: point.job_bytes
    )
    coming, edges, ahead = _coming(picture, room, column_s, future), [], ""
    if picture.full_in_s is None and (projected := _projected(picture, room, future)) is not None:
        edges, ahead = projected[::2], "100 %"
        coming = projected[1]
    drawn = Chart(
        top=room.capacity_bytes,
        top_label=labels[0],
        middle_label=labels[1],
        column_s=column_s,
        values=used,
        below=job,
        coming=coming,
        coming_edges=edges,
        ahead=ahead,
        levels=_levels(picture, room),
    )
    return chart_lines(drawn, height, width, look.glyphs)


def _coming(picture: Picture, room: MemoryRoom, column_s: float, count: int) -> list[float | None]:
    """The guard's forecast: at this rate, until memory is full. A forecast without confidence is not drawn."""
    fill_bytes_s = None if picture.judged is None else picture.judged.fill_bytes_s
    if not fill_bytes_s or picture.full_in_s is None:
        return [None] * count
    rising = (room.used_bytes + fill_bytes_s * column_s * (i + 1) for i in range(count))
    return [value if value <= room.capacity_bytes else None for value in rising]


def _projected(picture: Picture, room: MemoryRoom, count: int) -> list[list[float | None]] | None:
    """What the machine uses until the job is done, in a straight line: at the low end, in the middle, at the high end.

    The last column is the job's end, however long that takes.
    """
    need, job_bytes = picture.need, picture.job_bytes
    if need is None or job_bytes is None or picture.exit is not None:
        return None
    ends = (need.low_bytes, need.need_bytes, need.high_bytes)
    return [[_rising(room, max(end - job_bytes, 0) * (i + 1) / count) for i in range(count)] for end in ends]


def _rising(room: MemoryRoom, more_bytes: float) -> float | None:
    value = room.used_bytes + more_bytes
    return value if value <= room.capacity_bytes else None


def _levels(picture: Picture, room: MemoryRoom) -> list[ChartLevel]:
    judged = picture.judged
    if judged is None or judged.reserve_bytes is None:
        return []
    kept_free = room.capacity_bytes - judged.reserve_bytes
    levels = {"warn": judged.warn_headroom_bytes, "act": judged.act_headroom_bytes}
    return [ChartLevel(kept_free - headroom, name, name) for name, headroom in levels.items() if headroom is not None]
