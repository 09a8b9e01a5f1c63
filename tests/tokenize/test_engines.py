"""The engines give the same tokens, also where the libraries under them do not."""

import os
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from memwatch.errors import MemwatchError
from memwatch.tokenize import engines
from memwatch.tokenize.engines import LONG_RUN, Engine, Gigatoken, Tiktoken, choose
from memwatch.tokenize.new_letters import NEW_IN_UNICODE_17
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.vocabulary import Encoding, encoding_named, rank_file
from tests.nasty import nasty_text


@pytest.fixture(scope="module", params=["gpt2", "cl100k_base"])
def pair(request: pytest.FixtureRequest) -> tuple[Engine, Engine]:
    encoding = encoding_named(request.param)
    return Gigatoken(encoding, rank_file(encoding)), Tiktoken(encoding, rank_file(encoding))


@given(text=nasty_text)
@settings(max_examples=500, deadline=None)
def test_the_engines_agree_on_nasty_text(pair: tuple[Engine, Engine], text: str) -> None:
    fast, judge = pair
    assert fast.encode(text.encode()).tolist() == judge.encode(text.encode()).tolist()


@pytest.mark.parametrize(
    "text",
    [
        " " * 1_000_000 + "a",
        "\n" * 1_000_000 + "a",
        " \n" * 500_000 + "   a",
        "!" + "\n" * 600_000 + "  a " + " " * 700_000 + "b",
        " " * 1_000_000,
        "a" * 1_000_000,
        "<|endoftext|>" * 1000,
    ],
    ids=["spaces", "line ends", "mixed", "two runs", "only spaces", "letters", "special token as text"],
)
def test_the_engines_agree_on_long_runs(pair: tuple[Engine, Engine], text: str) -> None:
    fast, judge = pair
    assert np.array_equal(fast.encode(text.encode()), judge.encode(text.encode()))


def test_cutting_long_white_space_does_not_change_tokens(gpt2: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a run that tiktoken can still take in one piece
    text = "x\n\n  \t" + " " * 500 + "y'll  \n z" + "\n" * 400 + "!"
    whole = Tiktoken(gpt2, rank_file(gpt2)).encode(text.encode())
    # WHEN runs are cut that are much shorter
    shorter = engines._LONG_RUN.pattern.replace(str(LONG_RUN), "3")
    monkeypatch.setattr(engines, "_LONG_RUN", re.compile(shorter))
    # THEN nothing changes
    assert np.array_equal(Tiktoken(gpt2, rank_file(gpt2)).encode(text.encode()), whole)


def test_the_engines_differ_only_where_we_know_of_it(gpt2: Encoding) -> None:
    """Every code point there is. If this fails after an upgrade, NEW_IN_UNICODE_17 is out of date."""
    known = {c for first, last in NEW_IN_UNICODE_17 for c in range(first, last + 1)}
    others = [c for c in range(0x110000) if c not in known and not 0xD800 <= c < 0xE000]
    fast, judge = Gigatoken(gpt2, rank_file(gpt2)), Tiktoken(gpt2, rank_file(gpt2))
    contexts = ("{0}'s", "a{0}b", "1{0}2", "!{0}!", " {0}  x", "{0}{0}")
    for start in range(0, len(others), 20_000):
        text = "\n".join(c.format(chr(o)) for o in others[start : start + 20_000] for c in contexts).encode()
        assert np.array_equal(fast.encode(text), judge.encode(text)), hex(others[start])
        fast.renew()


@pytest.mark.parametrize("letter", ["\u088f", "\U000187f8", "\U000323b0"])
def test_letters_of_unicode_17_go_through_tiktoken(gpt2: Encoding, letter: str) -> None:
    text = f"before {letter}'s after {letter}'d".encode()
    fast, judge = Gigatoken(gpt2, rank_file(gpt2)), Tiktoken(gpt2, rank_file(gpt2))
    assert fast._encode(text).tolist() != judge.encode(text).tolist(), "the engines agree now: the detour can go"
    assert fast.encode(text).tolist() == judge.encode(text).tolist()


def test_a_failing_gigatoken_falls_back_with_one_line(gpt2: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gigatoken, "encode", lambda self, text: np.array([1, 2, 3], dtype=np.uint32))
    chosen = choose("auto", gpt2, rank_file(gpt2), check=True)
    assert chosen.engine.name == "tiktoken"
    assert chosen.note is not None
    assert "gives different tokens than tiktoken" in chosen.note
    assert "\n" not in chosen.note


def test_a_missing_gigatoken_falls_back_with_one_line(gpt2: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gigatoken", None)
    chosen = choose("auto", gpt2, rank_file(gpt2), check=True)
    assert chosen.engine.name == "tiktoken"
    assert chosen.note is not None
    with pytest.raises(MemwatchError, match="--engine tiktoken"):
        choose("gigatoken", gpt2, rank_file(gpt2), check=True)


def test_a_wrong_answer_in_the_cache_is_not_believed(gpt2: Encoding, cache: Path) -> None:
    choose("auto", gpt2, rank_file(gpt2), check=True)
    answers = list((cache / "memwatch").glob("answer-*"))
    assert answers
    for answer in answers:
        answer.write_bytes(b"\0" * 40)
    assert choose("auto", gpt2, rank_file(gpt2), check=True).engine.name == "gigatoken"


def test_renewing_gives_the_memory_back(gpt2: Encoding) -> None:
    chance = random.Random(5)
    engine = Gigatoken(gpt2, rank_file(gpt2))
    fresh = rss_bytes(os.getpid()) or 0
    words = ("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(800_000))
    engine.encode(" ".join(words).encode())
    swollen = rss_bytes(os.getpid()) or 0
    engine.renew()
    assert swollen - fresh > 30 << 20
    assert (rss_bytes(os.getpid()) or 0) - fresh < (swollen - fresh) / 2
