"""Which view is shown where."""

import pytest

from memwatch.cli.ui import why_not_full
from memwatch.tui.draw.glyphs import shows_unicode
from memwatch.tui.themes import theme_for
from tests.helpers import error_of, memwatch


@pytest.mark.parametrize(
    ("environment", "can"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "screen", "LANG": "en_US.UTF-8"}, True),
        ({"TERM": "xterm", "LC_ALL": "C.utf8"}, True),
        ({"TERM": "xterm", "LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        ({"TERM": "xterm", "LC_ALL": "", "LC_CTYPE": "de_DE.ISO-8859-15"}, False),
        ({"TERM": "xterm", "LANG": "POSIX"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_a_screen_is_drawn_only_where_it_can_be(environment: dict[str, str], can: bool) -> None:
    assert (why_not_full(environment, is_ascii=False) is None) == can


def test_ascii_can_be_drawn_without_unicode() -> None:
    environment = {"TERM": "vt100", "LC_ALL": "C"}
    assert why_not_full(environment, is_ascii=True) is None
    assert not shows_unicode(environment)


@pytest.mark.parametrize(
    ("wish", "environment", "theme"),
    [
        ("auto", {}, "memwatch-dark"),
        ("auto", {"COLORFGBG": "0;15"}, "memwatch-light"),
        ("auto", {"COLORFGBG": "15;default;0"}, "memwatch-dark"),
        ("light", {}, "memwatch-light"),
        ("nord", {}, "nord"),
        ("light", {"NO_COLOR": "1"}, "ansi-dark"),
    ],
)
def test_the_theme_is_the_wished_one_or_fits_the_terminal(wish: str, environment: dict[str, str], theme: str) -> None:
    assert theme_for(wish, environment) == theme


@pytest.mark.parametrize(
    "arguments",
    [("run", "--ui", "full", "--", "true"), ("watch",), ("replay", "last"), ("attach", "--ui", "full", "last")],
)
def test_without_a_terminal_there_is_one_sentence(arguments: tuple[str, ...]) -> None:
    done = memwatch(*arguments)
    assert done.code in (1, 2)
    assert error_of(done)


def test_without_a_terminal_a_run_is_plain() -> None:
    done = memwatch("run", "--no-record", "--", "echo", "hello")
    assert (done.code, done.out) == (0, "hello\n")
