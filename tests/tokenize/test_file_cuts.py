"""The safe cuts of vocabulary files: encoded in parts, a text gives the tokens of the whole."""

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwatch.tokenize.cuts import BlockCut, View
from memwatch.tokenize.document_cuts import WholeDocumentCuts
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.prepare_vocabulary import found_in
from memwatch.tokenize.safe_cuts import safe_cuts
from tests.nasty import fragments, nasty_text
from tests.vocabularies import MADE, vocabulary

WITH_CUTS = ["gpt2.json", "llama3.json", "qwen3.json", "deepseek_v3.json", "gpt4o.json", "mistral_nemo.json"]
MADE_WITH_CUTS = [name for name, regexes in MADE.items() if regexes]
ADDED = [
    "<tool_call>",
    "</think>",
    "<|fim_prefix|>",
    "<｜User｜>",
    "\u0323",
    "\u0301",
    "\u3099",
    "\u11ab",
    "/",
    "\r\n/",
]
# Beyond these only private use and ideographs.
CODE_POINTS = [*range(0x01, 0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]


@cache
def tokenizer(name: str) -> Any:
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(vocabulary(name)))
    found.encode_special_tokens = True
    return found


@cache
def cuts(name: str) -> Any:
    path = vocabulary(name)
    found, _ = found_in(path.read_bytes(), name, None, None)
    assert found.cuts is not None
    return safe_cuts(found.cuts, found.whole_texts)


def encoded(name: str, text: str) -> list[int]:
    ids: list[int] = tokenizer(name).encode(text, add_special_tokens=False).ids
    return ids


def in_parts(name: str, text: str) -> list[str]:
    data = text.encode()
    ends = [match.end() for match in cuts(name).finditer(data)]
    return [data[start:end].decode() for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]


def encoded_in_parts(name: str, text: str) -> list[int]:
    parts = tokenizer(name).encode_batch(in_parts(name, text), add_special_tokens=False)
    return [token for part in parts for token in part.ids]


@pytest.mark.parametrize("name", [*WITH_CUTS, *MADE_WITH_CUTS])
@given(text=st.one_of(nasty_text, st.lists(st.one_of(fragments, st.sampled_from(ADDED)), max_size=30).map("".join)))
@settings(max_examples=400, deadline=None)
def test_safe_cuts_do_not_change_tokens(name: str, text: str) -> None:
    assert encoded_in_parts(name, text) == encoded(name, text)


@pytest.mark.parametrize("name", WITH_CUTS)
def test_safe_cuts_are_safe_beside_every_character(name: str) -> None:
    for start in range(0, len(CODE_POINTS), 512):
        letters = [chr(code_point) for code_point in CODE_POINTS[start : start + 512]]
        text = "".join(f"a{c} {c}b\n{c}1{c}, {c}\r\n{c}.{c}\n" for c in letters)
        if encoded_in_parts(name, text) != encoded(name, text):
            wrong = [c for c in letters if _differs(name, f"a{c} {c}b\n{c}1{c}, {c}\r\n{c}.{c}\n")]
            raise AssertionError([hex(ord(c)) for c in wrong] or hex(ord(letters[0])))


def _differs(name: str, text: str) -> bool:
    return encoded_in_parts(name, text) != encoded(name, text)


@pytest.mark.parametrize("name", WITH_CUTS)
def test_text_has_cuts_and_added_tokens_have_none(name: str) -> None:
    config = json.loads(vocabulary(name).read_bytes())
    assert len(in_parts(name, "Some words, a line\nand another.")) > 3
    for token in config["added_tokens"]:
        if not token["special"]:
            assert len(in_parts(name, token["content"])) == 1


@pytest.mark.parametrize("documents", ["line", "blank", "--", "aa"])
@given(
    data=st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\n\n", b"--", b"-", b"\r\n", b" "]), max_size=60).map(b"".join)
)
@settings(max_examples=300, deadline=None)
def test_whole_documents_are_cut_only_after_separators(documents: str, data: bytes) -> None:
    separator = separator_named(documents)
    assert separator is not None
    whole = WholeDocumentCuts(separator)
    boundaries = {0, len(data)}
    at = 0
    while (end := separator.first_boundary(data[at:] + b"x", 1)) is not None:
        at += end
        boundaries.add(at)
    for offset in range(len(data)):
        found = whole.first_cut(View(data, 0, at_end=True), offset)
        assert found is not None
        assert found.at >= offset
        assert found.at in boundaries
    at = 0
    while at < len(data):
        cut = whole.block_end(data[at:], at, 7, at_end=True)
        assert cut is not None
        assert not cut.inexact
        at += cut.at
        assert at in boundaries


def test_a_text_without_documents_is_never_cut() -> None:
    whole = WholeDocumentCuts(None)
    assert whole.block_end(b"a b c " * 100, 0, 10, at_end=False) is None
    assert whole.block_end(b"a b c " * 100, 0, 10, at_end=True) == BlockCut(600)
    assert whole.first_cut(View(b"a b c ", 0, at_end=False), 3) is None
