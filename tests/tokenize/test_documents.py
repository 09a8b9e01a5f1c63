import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.tokenize.documents import separator_named

PIECES = ["a", "bb c", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "<|endoftext|>", "\n\n\n"]


@pytest.mark.parametrize(
    ("documents", "text", "parts"),
    [
        ("line", "one\ntwo\r\n\nthree", ["one", "two", "", "three"]),
        ("blank", "one\nstill one\n\n\ntwo\r\n\r\nthree\n", ["one\nstill one", "two", "three\n"]),
        ("<|endoftext|>", "one<|endoftext|>two<|endoftext|>", ["one", "two", ""]),
    ],
)
def test_documents_are_what_stands_between_separators(documents: str, text: str, parts: list[str]) -> None:
    separator = separator_named(documents)
    assert separator is not None
    assert separator.split(text.encode()) == [part.encode() for part in parts]


@pytest.mark.parametrize("documents", ["auto", "none"])
def test_text_has_no_documents_unless_asked(documents: str) -> None:
    assert separator_named(documents) is None


@pytest.mark.parametrize(
    ("documents", "pattern"),
    [
        ("line", rb"\n"),
        ("blank", rb"\n\r?\n[\r\n]*"),
        ("<|endoftext|>", rb"<\|endoftext\|>"),
        ("\n\n", rb"\n\n"),
        ("bb", rb"bb"),
    ],
)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30), data=st.data())
def test_boundaries_are_where_separators_end(
    documents: str, pattern: bytes, pieces: list[str], data: st.DataObject
) -> None:
    separator = separator_named(documents)
    assert separator is not None
    window = "".join(pieces).encode()
    at = data.draw(st.integers(0, len(window)))
    # A run of blank lines that reaches the window's end may go on after it.
    ends = [m.end() for m in re.finditer(pattern, window) if documents != "blank" or m.end() < len(window)]
    assert separator.first_boundary(window, at) == min((end for end in ends if end >= max(at, 1)), default=None)
    assert separator.last_boundary(window, at) == max((end for end in ends if end <= at), default=None)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_long_run_of_blank_lines_takes_no_time(line_end: bytes) -> None:
    separator = separator_named("blank")
    assert separator is not None
    window = b"x" + line_end * 1_000_000
    assert separator.last_boundary(window, len(window) - 5) is None
    assert separator.first_boundary(window, 1000) is None
    assert separator.is_boundary(window, len(window) - 6)
