"""Cuts: both sides of a safe cut, tokenized alone, give the tokens of the whole."""

import base64
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from memwatch.tokenize import cuts as cuts_module
from memwatch.tokenize import safe_cuts as safe_cuts_module
from memwatch.tokenize.cuts import RecordCuts, TextCuts, View
from memwatch.tokenize.documents import TextSeparator, separator_named
from memwatch.tokenize.safe_cuts import PRETOKENIZERS, CutSearch, safe_cuts
from memwatch.tokenize.vocabulary import encoding_named, rank_file, reference
from tests.nasty import nasty_bytes, nasty_text

ENCODING_BY_PRETOKENIZER = {"gpt2": "gpt2", "cl100k": "cl100k_base", "o200k": "o200k_base"}


@pytest.fixture(scope="module")
def encoders() -> dict[str, tiktoken.Encoding]:
    """An encoder for each pre-tokenizer. o200k's vocabulary is not to be had offline; its pattern is what matters."""
    from tiktoken_ext import openai_public

    ranks = rank_file(encoding_named("cl100k_base"))
    parsed = {base64.b64decode(t): int(r) for t, r in (line.split() for line in ranks.read_bytes().splitlines())}
    original = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = lambda *_, **__: parsed
    try:
        pattern = openai_public.o200k_base()["pat_str"]
    finally:
        openai_public.load_tiktoken_bpe = original
    gpt2 = encoding_named("gpt2")
    return {
        "gpt2": reference(gpt2, rank_file(gpt2)),
        "cl100k": reference(encoding_named("cl100k_base"), ranks),
        "o200k": tiktoken.Encoding("o200k pattern", pat_str=pattern, mergeable_ranks=parsed, special_tokens={}),
    }


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@given(text=nasty_text)
@settings(max_examples=500, deadline=None)
def test_safe_cuts_do_not_change_tokens(pretokenizer: str, text: str, encoders: dict[str, tiktoken.Encoding]) -> None:
    encode = encoders[pretokenizer].encode_ordinary
    whole = encode(text)
    data = text.encode()
    for match in safe_cuts(pretokenizer).finditer(data):
        left, right = data[: match.end()].decode(), data[match.end() :].decode()
        assert encode(left) + encode(right) == whole, (left, right)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("text", ["foo\n\nbar", "foo  bar", "it's", "x \u3000 y", "12345", "日本語"])
def test_unsafe_places_are_not_cut(pretokenizer: str, text: str, encoders: dict[str, tiktoken.Encoding]) -> None:
    encode = encoders[pretokenizer].encode_ordinary
    cut_at = {match.end() for match in safe_cuts(pretokenizer).finditer(text.encode())}
    for at in range(1, len(text.encode())):
        try:
            left, right = text.encode()[:at].decode(), text.encode()[at:].decode()
        except UnicodeDecodeError:
            assert at not in cut_at
        else:
            assert at not in cut_at or encode(left) + encode(right) == encode(text)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@given(data=nasty_bytes, start=st.integers(0, 200), end=st.integers(0, 200), most=st.integers(0, 20))
@settings(max_examples=500, deadline=None)
def test_a_long_search_finds_what_the_pattern_finds(
    pretokenizer: str, data: bytes, start: int, end: int, most: int
) -> None:
    start, end = min(start, len(data)), min(end, len(data))
    ends = [match.end() for match in safe_cuts(pretokenizer).finditer(data)]
    search = CutSearch(safe_cuts(pretokenizer))
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("NEAR_BYTES", 4), ("PART_BYTES", 16), ("MANY_PLACES", most)):
            patch.setattr(safe_cuts_module, name, size)
        assert search.first(data, start, end) == min((at for at in ends if start <= at < end), default=None)
        assert search.last(data, end) == max((at for at in ends if at <= end), default=None)


def _chain(cuts: TextCuts, data: bytes, limits: list[int]) -> tuple[list[int], list[int]]:
    """Cut a text into blocks of changing sizes; return all cuts and the inexact ones."""
    at = 0
    ends: list[int] = []
    inexact: list[int] = []
    while at < len(data):
        limit = limits[len(ends) % len(limits)]
        while (cut := cuts.block_end(data[at : at + limit + 4], at, limit, at + limit + 4 >= len(data))) is None:
            limit *= 2
        at += cut.at
        ends.append(at)
        if cut.inexact:
            inexact.append(at)
    return ends, inexact


@given(
    data=nasty_bytes,
    first=st.lists(st.integers(1, 300), min_size=1, max_size=5),
    second=st.lists(st.integers(1, 300), min_size=1, max_size=5),
    documents=st.sampled_from(["none", "line", "blank", "<|endoftext|>", "aa"]),
)
@settings(max_examples=1000, deadline=None)
def test_inexact_cuts_do_not_depend_on_block_sizes(
    data: bytes, first: list[int], second: list[int], documents: str
) -> None:
    cuts = TextCuts("gpt2", separator_named(documents))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts_module, "CELL_BYTES", 32)
        assert _chain(cuts, data, first)[1] == _chain(cuts, data, second)[1]


def test_a_text_without_a_place_to_cut_is_cut_at_every_cell() -> None:
    data = b"x" * (3 * cuts_module.CELL_BYTES + 5)
    _, inexact = _chain(TextCuts("gpt2", None), data, [100_000])
    assert inexact == [cuts_module.CELL_BYTES * i for i in (1, 2, 3)]


def test_an_inexact_cut_does_not_tear_a_character_apart() -> None:
    data = ("a" + "😀" * cuts_module.CELL_BYTES).encode()
    ends, inexact = _chain(TextCuts("cl100k", None), data, [300_000])
    assert inexact
    for end in ends:
        data[:end].decode()


def test_a_separator_is_not_torn_apart() -> None:
    # GIVEN documents that end with a text that has safe cuts in it
    separator = b"== end of document =="
    data = separator.join([b"one two three"] * 50)
    # WHEN it is cut into small blocks
    ends, _ = _chain(TextCuts("gpt2", TextSeparator(separator)), data, [7, 20, 31])
    # THEN no cut lies inside a separator
    inside = {at + i for at in range(len(data)) if data.startswith(separator, at) for i in range(1, len(separator))}
    assert not inside & set(ends)


@pytest.mark.parametrize("documents", ["<|endoftext|>", "xyzzyxyzzyx", "xyzzzzzzz", "xx", "é中文", " 12 "])
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_no_cut_tears_a_separator_apart_where_a_text_has_no_other_cuts(documents: str, data: st.DataObject) -> None:
    # GIVEN runs without a safe cut, longer and shorter than a cell, with separators and parts of them in between
    parts = [
        *(documents[:end].encode() for end in range(1, len(documents) + 1)),
        documents.encode(),
        b"x" * 9,
        b"xy",
        b"z",
    ]
    text = b"".join(data.draw(st.lists(st.sampled_from(parts), max_size=40)))
    limits = data.draw(st.lists(st.integers(1, 90), min_size=1, max_size=4))
    offset = data.draw(st.integers(0, len(text)))
    separator = separator_named(documents)
    assert separator is not None
    cuts = TextCuts(data.draw(st.sampled_from(["gpt2", "cl100k"])), separator)
    inside, at = set(), 0
    while (at := text.find(documents.encode(), at)) >= 0:
        inside |= set(range(at + 1, at + len(documents.encode())))
        at += len(documents.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts_module, "CELL_BYTES", 32)
        # WHEN it is cut into blocks, and a range of it begins anywhere
        ends, inexact = _chain(cuts, text, limits)
        first = cuts.first_cut(View(text, 0, at_end=True), offset)
        _, as_one = _chain(cuts, text, [1000])
    # THEN no cut lies inside a separator, and inexact cuts do not depend on the sizes of blocks
    assert not inside & set(ends)
    assert first is not None
    assert first.at not in inside
    assert inexact == as_one
    assert not first.inexact or first.at in inexact


def test_records_are_never_cut() -> None:
    data = b'{"a": 1}\n' * 3 + b'{"long": "' + b"x" * 100 + b'"}\n'
    cuts = RecordCuts()
    assert cuts.block_end(data, 0, 20, at_end=False).at == 18  # type: ignore[union-attr]
    assert cuts.block_end(data[27:], 27, 20, at_end=False).at == len(data) - 27  # type: ignore[union-attr]
    assert cuts.block_end(data[27:60], 27, 20, at_end=False) is None


def test_every_rule_is_used(real_text: Path) -> None:
    """A rule that never matches would be dead; each side finds cuts where the other does not."""
    data = real_text.read_bytes()[:200_000]
    cl100k = {m.end() for m in safe_cuts("cl100k").finditer(data)}
    gpt2 = {m.end() for m in safe_cuts("gpt2").finditer(data)}
    assert gpt2 - cl100k
    assert cl100k - gpt2
