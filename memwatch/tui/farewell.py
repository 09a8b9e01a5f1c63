"""What stays on the terminal when the screen is left: the end of the job's output, and how it went."""

from memwatch.core.units import format_duration, format_size
from memwatch.errors import printable
from memwatch.tui.draw.glyphs import Glyphs
from memwatch.tui.model.picture import Picture
from memwatch.tui.model.terminal_text import PLAIN, Ink, TextLine

MOST_LINES = 100


def tail(picture: Picture, screen_rows: int, has_colours: bool) -> str:
    """A job that failed has said why in its last lines; a short output is there as a whole."""
    lines = picture.output[-max(MOST_LINES, screen_rows) :]
    return "".join(_written(text, has_colours) + "\n" for text in lines)


def summary(picture: Picture, glyphs: Glyphs, code: int | None) -> str:
    took = "" if picture.elapsed_s is None else f" in {format_duration(picture.elapsed_s)}"
    peak = "" if picture.peak_job_bytes is None else f"; it took {format_size(picture.peak_job_bytes)} at the most"
    symbol = glyphs.done if code == 0 else glyphs.failed
    how = f"{picture.ended}{took}" if picture.ended else f"the job ended with code {code}{took}"
    return f"memwatch: {symbol} {printable(how)}{peak}{_warnings(picture)}"


def detached(picture: Picture, journal: str | None) -> str:
    run = journal or picture.run_id
    if not run:
        return "memwatch: detached; the job runs on under guard, without a journal by which to attach again"
    return f"memwatch: detached; the job runs on under guard; to see it again: memwatch attach {printable(run)}"


def _warnings(picture: Picture) -> str:
    count = sum(happening.level == "warn" for happening in picture.happenings)
    acts = [happening for happening in picture.happenings if happening.level == "act"]
    words = f"; {count} warning{'s' if count != 1 else ''}" if count else ""
    return words + (f"; the guard: {printable(acts[-1].text)}" if acts else "")


def _written(text: TextLine, has_colours: bool) -> str:
    if not has_colours:
        return "".join(run for run, _ in text)
    return "".join(run if ink == PLAIN else f"\x1b[{_codes(ink)}m{run}\x1b[0m" for run, ink in text)


def _codes(ink: Ink) -> str:
    switches = ((ink.bold, "1"), (ink.dim, "2"), (ink.italic, "3"), (ink.underlined, "4"), (ink.reversed, "7"))
    codes = [code for is_on, code in switches if is_on]
    codes += [_colour(value, base) for value, base in ((ink.front, 38), (ink.back, 48)) if value is not None]
    return ";".join(codes) or "0"


def _colour(value: int | str, base: int) -> str:
    if isinstance(value, int):
        return f"{base};5;{value}"
    red, green, blue = (int(value[start : start + 2], 16) for start in (1, 3, 5))
    return f"{base};2;{red};{green};{blue}"
