"""What stays on the terminal when the screen is left: the end of the job's output, and how it went."""

from memwatch.errors import printable
from memwatch.model.units import format_duration
from memwatch.model.wording import RunSummary, closing_line
from memwatch.tui.draw.glyphs import Glyphs
from memwatch.tui.model.picture import JobState, Picture
from memwatch.tui.model.terminal_text import PLAIN, Ink, TextLine

KEPT_LINES = 100
# Python's words for an input that is empty; on the full screen every job's is.
NO_INPUT = "EOFError: EOF when reading a line"
LAST_WORDS = 5  # lines


def tail(picture: Picture, screen_rows: int, has_colours: bool) -> str:
    """The last lines of the job's output, to be left on the terminal: they usually show why a job failed."""
    lines = picture.output[-max(KEPT_LINES, screen_rows) :]
    return "".join(_written(text, has_colours) + "\n" for text in lines)


def summary(picture: Picture, glyphs: Glyphs, code: int | None) -> str:
    """The closing line: the same words as in plain mode, and a symbol before them."""
    symbol = glyphs.done if code == 0 else glyphs.failed
    known = RunSummary(
        code=code,
        exit=picture.exit,
        took_s=picture.elapsed_s,
        peak_job_bytes=picture.peak_job_bytes,
        warnings=sum(happening.level == "warn" for happening in picture.happenings),
        reason=picture.stop_reason,
        run=picture.diagnosed_as,
    )
    lines = [f"memwatch: {symbol} {printable(closing_line(known))}"]
    if code and any(NO_INPUT in _text(line) for line in picture.output[-LAST_WORDS:]):
        lines.append("memwatch: a job on the full screen has no standard input; --ui plain gives it the terminal")
    return "\n".join(lines)


def detached(picture: Picture, journal: str | None) -> str:
    run = journal or picture.run_id
    if not run:
        again = "without a journal, it cannot be attached again"
    else:
        again = f"to see it again: memwatch attach {printable(run)}"
    return f"memwatch: detached; {_goes_on(picture)}; {again}"


def _goes_on(picture: Picture) -> str:
    if picture.state != JobState.PAUSED or picture.pause is None:
        return "the job runs on under guard"
    if picture.pause.deadline_t is None:
        return "the job stays paused until you resume it"
    left = format_duration(max(picture.pause.deadline_t - picture.now_t, 0))
    return f"the job stays paused; the guard resumes it when memory is free, or stops it in {left}"


def _text(text: TextLine) -> str:
    return "".join(run for run, _ in text)


def _written(text: TextLine, has_colours: bool) -> str:
    if not has_colours:
        return _text(text)
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
