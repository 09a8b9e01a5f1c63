"""The graphics cards: their use, and whether this job uses them."""

from memwatch.errors import printable
from memwatch.model.sample import Gpu
from memwatch.tui.draw.bars import bar
from memwatch.tui.draw.lines import Line, Span, fitting, label, line
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import percent, size
from memwatch.tui.model.picture import Picture


def cards(picture: Picture) -> tuple[Gpu, ...]:
    return () if picture.sample is None else picture.sample.gpus or ()


def title(picture: Picture, look: Look) -> Line:
    found = cards(picture)
    if len(found) == 1:
        return (Span("gpu", "title"), Span(f" {printable(found[0].name)}", "dim"))
    return (Span("gpu", "title"), Span(f" {len(found)} cards", "dim"))


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    found = cards(picture)
    if len(found) == 1:
        return [numbers(found[0], look, width), _use(picture, width)]
    return [line(Span(f"{gpu.index} ", "dim"), numbers(gpu, look, width - 2)) for gpu in found[:height]]


def numbers(gpu: Gpu, look: Look, width: int) -> Line:
    if gpu.asleep:
        return line(Span("suspended (not woken up)", "dim"))
    parts = [
        line(bar(gpu.used_fraction, 8, look.glyphs), " ", Span(percent(gpu.used_fraction).rjust(5))),
        label("mem", _of(gpu.memory_used_bytes, gpu.memory_total_bytes)),
        line(Span("n/a" if gpu.temperature_c is None else f"{gpu.temperature_c:.0f} °C")),
        line(Span(_power(gpu))),
    ]
    return fitting(parts, width, "  ")


def _of(used: int | None, total: int | None) -> str:
    return f"{size(used)} of {size(total)}"


def _power(gpu: Gpu) -> str:
    if gpu.power_w is None:
        return ""
    return f"{gpu.power_w:.0f} W" if gpu.power_limit_w is None else f"{gpu.power_w:.0f} of {gpu.power_limit_w:.0f} W"


def _use(picture: Picture, width: int) -> Line:
    if not picture.has_job:
        return ()
    taken = [gpu.job_memory_bytes for gpu in cards(picture) if gpu.job_memory_bytes is not None]
    if sum(taken):
        return fitting([label("this job has", f"{size(sum(taken))} of its memory")], width)
    tokenizing = " (tokenizing is CPU work)" if picture.title.startswith("tokenize ") else ""
    return fitting([line(Span(f"this job uses no GPU{tokenizing}", "dim"))], width)
