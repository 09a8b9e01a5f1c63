"""A job's output, as a terminal would show it."""

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.tui.model.terminal_text import MOST_CHARACTERS, PLAIN, Ink, TerminalText, TextLine


def shown(*pieces: str, most_lines: int = 100) -> list[str]:
    text = TerminalText(most_lines)
    for piece in pieces:
        text.write(piece)
    return ["".join(run for run, _ in line) for line in text.lines()]


def inks(line: TextLine) -> list[tuple[str, Ink]]:
    return list(line)


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("one\ntwo\n", ["one", "two"]),
        ("one\r\ntwo", ["one", "two"]),
        ("\n\n", ["", ""]),
        ("10 %\r20 %\r100 %", ["100 %"]),
        ("100 %\r20 %", ["20 %%"]),
        ("100 %\r\x1b[K20 %", ["20 %"]),
        ("abc\b\bX", ["aXc"]),
        ("a\tb", ["a       b"]),
        ("\x1b[31mred\x1b[0m", ["red"]),
        ("\x1b]0;a title\x07text", ["text"]),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", ["link"]),
        ("\x1b[2J\x1b[H\x1b[?25lhello\x1b[?25h", ["hello"]),
        ("\x1bPdevice\x1b\\text", ["text"]),
        ("\x1b(Btext\x1b=\x1b>", ["text"]),
        ("bell\x07 and \x00nothing\x7f", ["bell and nothing"]),
        ("first\nsecond\n\x1b[2Aup\n", ["uprst", "second"]),
        ("\x1b[5Gfar", ["    far"]),
        ("日本語", ["日本語"]),
    ],
)
def test_it_shows(written: str, seen: list[str]) -> None:
    assert shown(written) == seen


def test_two_bars_below_each_other_are_rewritten() -> None:
    """As tqdm does with position=1: the cursor rests on the upper one."""
    assert shown("\ra 10 %\n\rb 10 %\x1b[A", "\ra 20 %", "\n\rb 20 %\x1b[A") == ["a 20 %", "b 20 %"]


def test_colours_are_kept() -> None:
    text = TerminalText()
    text.write("\x1b[1;31mA\x1b[0mB\x1b[38;5;200mC\x1b[48;2;1;2;3mD\x1b[39;49mE\x1b[97mF\x1b[38;5mG")
    assert inks(text.lines()[0]) == [
        ("A", Ink(front=1, bold=True)),
        ("B", PLAIN),
        ("C", Ink(front=200)),
        ("D", Ink(front=200, back="#010203")),
        ("E", PLAIN),
        ("F", Ink(front=15)),
        ("G", PLAIN),
    ]


@pytest.mark.parametrize("text", ["\x1b[31mred\x1b[0m plain\r\x1b[Kx", "a\x1b]0;title\x07b\x1b[1;32mc\n"])
def test_it_does_not_matter_where_it_is_cut(text: str) -> None:
    for cut in range(len(text) + 1):
        assert shown(text[:cut], text[cut:]) == shown(text)


def test_an_escape_without_end_does_not_swallow_everything() -> None:
    assert "".join(shown("\x1b]0;" + "x" * 10_000, "\n after"))


def test_only_the_last_lines_are_kept() -> None:
    assert shown("".join(f"{number}\n" for number in range(50)), most_lines=3) == ["47", "48", "49"]


def test_a_line_without_end_is_broken() -> None:
    assert all(len(line) <= MOST_CHARACTERS for line in shown("x" * 10 * MOST_CHARACTERS))


@given(
    st.lists(st.text(alphabet=st.characters(codec="utf-8")) | st.sampled_from(["\x1b[", "\x1b]", "\r", "\b", "m", "A"]))
)
def test_whatever_is_written_nothing_but_text_comes_out(pieces: list[str]) -> None:
    written = "".join(shown(*pieces))
    assert all(character.isprintable() or category(character) in ("Zs", "Co") for character in written)


def test_a_bar_that_erases_itself_with_blanks_leaves_no_blanks_behind() -> None:
    """tqdm.write: the bar's length in blanks, then the words; they must not wrap into an empty row."""
    bar, blanks = 116 * "#", 116 * " "
    assert shown(f"\r{bar}\r{blanks}\rwritten beside the bar\n\r{bar}") == ["written beside the bar", bar]


def test_blanks_on_a_coloured_ground_are_something() -> None:
    text = TerminalText()
    text.write("\x1b[44m   \x1b[0m   \n")
    assert [len("".join(run for run, _ in line)) for line in text.lines()] == [3]
