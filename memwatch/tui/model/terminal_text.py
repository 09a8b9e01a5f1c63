r"""What a terminal would show of a job's output, as lines: colours are kept, every other escape is taken out.

\r goes back to the line's start, so that progress bars rewrite themselves; \b goes back one, \t to the next stop, and
of the commands that move on the screen only those within a line that progress bars use: erase to the end (K), one line
up (A). Anything else is taken in and forgotten. What comes in pieces is put together: an escape may be cut anywhere.
"""

import re
from collections import deque
from dataclasses import dataclass, replace
from unicodedata import category

MOST_LINES = 5000
MOST_CHARACTERS = 2000  # in a line; what is longer is broken, as a terminal does at its edge
MOST_BELOW = 100  # lines below the one that is written to
TAB = 8

# CSI; OSC, DCS, APC, PM and SOS with what they hold; two-character escapes with their intermediates.
_ESCAPE = re.compile(
    r"\x1b\[([0-?]*)[ -/]*([@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)
# What may still become one.
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")
MOST_UNFINISHED = 4096


@dataclass(frozen=True, slots=True)
class Ink:
    """Colours as numbers of the 256 or as "#rrggbb"; None is the terminal's own."""

    front: int | str | None = None
    back: int | str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underlined: bool = False
    reversed: bool = False


PLAIN = Ink()
TextLine = tuple[tuple[str, Ink], ...]  # runs of the same ink


class TerminalText:
    """Takes a job's output in pieces, and keeps the lines that a terminal would show."""

    def __init__(self, most_lines: int = MOST_LINES) -> None:
        self._lines: deque[TextLine] = deque(maxlen=most_lines)
        self._current: list[tuple[str, Ink]] = []  # a character each
        self._below: list[TextLine] = []  # the next one last
        self._column = 0
        self._ink = PLAIN
        self._unfinished = ""

    def write(self, text: str) -> None:
        text = self._unfinished + text
        self._unfinished = ""
        position = 0
        while position < len(text):
            escape = text.find("\x1b", position)
            self._print(text[position : escape if escape >= 0 else len(text)])
            if escape < 0:
                return
            position = self._escape(text, escape)

    def lines(self) -> tuple[TextLine, ...]:
        """All lines; those being written only if there is anything on them."""
        open_lines = [_runs(self._current), *reversed(self._below)]
        while open_lines and not open_lines[-1]:
            open_lines.pop()
        return (*self._lines, *open_lines)

    def _escape(self, text: str, start: int) -> int:
        """Take in the escape that begins there; returns where it ends."""
        if (match := _ESCAPE.match(text, start)) is not None:
            if match[2] is not None:
                self._command(match[2], match[1])
            return match.end()
        if _UNFINISHED.match(text, start) and len(text) - start < MOST_UNFINISHED:
            self._unfinished = text[start:]
            return len(text)
        return start + 1

    def _command(self, letter: str, parameters: str) -> None:
        if letter == "m":
            self._ink = inked(self._ink, parameters)
        elif letter == "K" and parameters in ("", "0"):
            del self._current[self._column :]
        elif letter == "K" and parameters == "2":
            self._current.clear()
        elif letter in "AG" and re.fullmatch("[0-9]{0,4}", parameters):
            number = max(int(parameters or 1), 1)
            if letter == "A":
                self._up(number)
            else:
                self._column = min(number, MOST_CHARACTERS) - 1

    def _up(self, count: int) -> None:
        """Move up, as several progress bars do: the line above is written again, and those below stay."""
        for _ in range(min(count, len(self._lines), MOST_BELOW - len(self._below))):
            self._below.append(_runs(self._current))
            self._current = _characters(self._lines.pop())

    def _print(self, text: str) -> None:
        *whole, rest = text.split("\n")
        for line in whole:
            # Most output is like this, and some jobs write a lot of it.
            simple = line.removesuffix("\r")
            if simple.isprintable() and simple.isascii() and len(simple) < MOST_CHARACTERS and self._is_at_start:
                self._lines.append(((simple, self._ink),) if simple else ())
            else:
                self._print_in_line(line)
                self._end_line()
        self._print_in_line(rest)

    @property
    def _is_at_start(self) -> bool:
        """Whether the cursor is at the start of an empty line, with nothing below."""
        return not (self._current or self._column or self._below)

    def _print_in_line(self, text: str) -> None:
        for character in text:
            if character == "\r":
                self._column = 0
            elif character == "\b":
                self._column = max(self._column - 1, 0)
            elif character == "\t":
                for _ in range(TAB - self._column % TAB):
                    self._put(" ")
            elif character.isprintable() or category(character) in ("Zs", "Mn", "Cf", "Co"):
                self._put(character)

    def _put(self, character: str) -> None:
        if category(character) in ("Mn", "Cf"):
            return  # Of no width: a grid of cells is better off without.
        while len(self._current) < self._column:
            self._current.append((" ", PLAIN))
        self._current[self._column : self._column + 1] = [(character, self._ink)]
        self._column += 1
        if self._column >= MOST_CHARACTERS:
            self._end_line()

    def _end_line(self) -> None:
        self._lines.append(_runs(self._current))
        self._current = _characters(self._below.pop()) if self._below else []
        self._column = 0


def _characters(line: TextLine) -> list[tuple[str, Ink]]:
    return [(character, ink) for run, ink in line for character in run]


def _runs(characters: list[tuple[str, Ink]]) -> TextLine:
    """Without blanks at the end: progress bars erase themselves with as many as the terminal is wide."""
    runs: list[tuple[str, Ink]] = []
    end = len(characters)
    while end and characters[end - 1][0] == " " and _is_invisible(characters[end - 1][1]):
        end -= 1
    for character, ink in characters[:end]:
        if runs and runs[-1][1] == ink:
            runs[-1] = (runs[-1][0] + character, ink)
        else:
            runs.append((character, ink))
    return tuple(runs)


def _is_invisible(ink: Ink) -> bool:
    """Whether a space in it leaves no mark."""
    return ink.back is None and not ink.underlined and not ink.reversed


def inked(ink: Ink, parameters: str) -> Ink:
    """The ink after `ESC [ parameters m`."""
    codes = [int(code) if code.isdecimal() and len(code) < 4 else 0 for code in re.split("[;:]", parameters)]
    while codes:
        code = codes.pop(0)
        is_extended = code in (38, 48)
        ink = _coloured(ink, _extended(codes), is_front=code == 38) if is_extended else _simple(ink, code)
    return ink


def _extended(codes: list[int]) -> int | str | None:
    kind = codes.pop(0) if codes else None
    if kind == 5 and codes:
        return min(codes.pop(0), 255)
    if kind == 2 and len(codes) >= 3:
        red, green, blue = (min(codes.pop(0), 255) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    return None


_ON_AND_OFF: dict[int, dict[str, bool]] = {
    1: {"bold": True}, 2: {"dim": True}, 22: {"bold": False, "dim": False},
    3: {"italic": True}, 23: {"italic": False},
    4: {"underlined": True}, 24: {"underlined": False},
    7: {"reversed": True}, 27: {"reversed": False},
}  # fmt: skip


def _simple(ink: Ink, code: int) -> Ink:
    if code == 0:
        return PLAIN
    if code in _ON_AND_OFF:
        return replace(ink, **_ON_AND_OFF[code])
    for first, brightness, is_front in ((30, 0, True), (90, 8, True), (40, 0, False), (100, 8, False)):
        if first <= code < first + 8:
            return _coloured(ink, code - first + brightness, is_front)
    if code in (39, 49):
        return _coloured(ink, None, is_front=code == 39)
    return ink


def _coloured(ink: Ink, colour: int | str | None, is_front: bool) -> Ink:
    return replace(ink, front=colour) if is_front else replace(ink, back=colour)
