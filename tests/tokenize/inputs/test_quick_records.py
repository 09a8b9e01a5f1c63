"""Records are read by a quick reader where that is certain to be right; it must never see more than the careful one."""

import json
import random
from typing import Any

import pytest

from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.messages import Counts
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import ENCODINGS, MARK

CASES = 4000
SYNTAX = b'{}[]",:\\ntu0e1.-+ \t\r\n\xff\x80\xc3N\x00'


def encoder(text_column: str) -> BlockEncoder:
    no_engine: Any = None  # Records are read before anything is encoded.
    return BlockEncoder(no_engine, ENCODINGS["gpt2"], TokenizeSettings(text_column=text_column))


def some_value(chance: random.Random, depth: int = 0) -> Any:
    plain = ["a", 'é\n"', "\U0001f600", "\u2028", "", 1, -0.5, 1e300, 10**30, True, None]
    nested: list[Any] = [] if depth > 2 else [[some_value(chance, depth + 1)], {"text": some_value(chance, depth + 1)}]
    return chance.choice(plain + nested)


def some_line(chance: random.Random) -> bytes:
    record = {name: some_value(chance) for name in chance.sample(["id", "x", "z"], chance.randrange(3))}
    record["text"] = chance.choice(["hello", "é", "\U0001f600", "", "\U0010ffff", "\ud800"])
    record["meta"] = {"text": chance.choice(["q", "ü"]), "o": some_value(chance)}
    return json.dumps(record, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def damaged(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        at, byte = chance.randrange(len(data)), bytes([chance.choice(SYNTAX)])
        data = chance.choice(
            [data[:at] + byte + data[at:], data[:at] + byte + data[at + 1 :], data[:at] + data[at + 1 :]]
        )
    return data


@pytest.mark.parametrize("text_column", ["text", "meta.text"])
def test_what_the_quick_reader_accepts_the_careful_one_reads_alike(text_column: str) -> None:
    chance, reader, accepted = random.Random(5), encoder(text_column), 0
    for _ in range(CASES):
        lines = b"\n".join(some_line(chance) for _ in range(chance.randrange(1, 3))) + b"\n" * chance.randrange(2)
        lines = damaged(lines, chance)
        quick = reader._quick_records(lines)
        if quick is None:
            continue
        accepted += 1
        counts = Counts()
        careful = reader._careful_records(lines, counts)
        assert quick.joined == b"".join(text + MARK for text in careful.texts), lines
        assert (quick.count, counts.missing_texts, counts.replaced_bytes) == (careful.count, 0, 0), lines
    assert accepted > CASES / 10
