"""Ordinary text in any script, and ordinary data, is cut only where it is safe."""

import base64
import json
import random
from collections.abc import Callable

import pytest

from memwatch.tokenize.cuts import CELL_BYTES, TextCuts
from memwatch.tokenize.safe_cuts import PRETOKENIZERS

SIZE_BYTES = 2 * CELL_BYTES + 1000
# (first letter, last letter, what stands between words). Khmer, Burmese, Thai, Lao and others write none.
SCRIPTS = {
    "latin": ("a", "z", " "),
    "vietnamese": ("ạ", "ỹ", " "),
    "greek": ("α", "ω", " "),
    "cyrillic": ("а", "я", " "),
    "armenian": ("ա", "ֆ", " "),
    "hebrew": ("א", "ת", " "),
    "arabic": ("ب", "غ", " "),
    "syriac": ("ܒ", "ܬ", " "),
    "devanagari": ("क", "ह", " "),
    "bengali": ("ক", "ন", " "),
    "gurmukhi": ("ਕ", "ਨ", " "),
    "gujarati": ("ક", "ન", " "),
    "oriya": ("କ", "ନ", " "),
    "tamil": ("ம", "ஹ", " "),
    "telugu": ("క", "న", " "),
    "kannada": ("ಕ", "ನ", " "),
    "malayalam": ("ക", "ന", " "),
    "sinhala": ("ක", "න", " "),
    "thai": ("ก", "ฮ", ""),
    "lao": ("ດ", "ທ", ""),
    "tibetan": ("ཀ", "ང", "་"),
    "burmese": ("က", "အ", ""),
    "georgian": ("ა", "ჰ", " "),
    "amharic": ("ሀ", "ቆ", "፡"),
    "cherokee": ("Ꭰ", "Ᏼ", " "),
    "khmer": ("ក", "អ", ""),
    "mongolian": ("ᠠ", "ᡂ", " "),
    "hangul": ("가", "힣", " "),
    "hiragana": ("ぁ", "ん", ""),
    "chinese": ("一", "龥", ""),
    "balinese": ("ᬓ", "ᬳ", ""),
    "gothic": ("𐌰", "𐍊", " "),
}


def _prose(script: str, chance: random.Random) -> str:
    first, last, between = SCRIPTS[script]
    words = (chr(chance.randint(ord(first), ord(last))) * 2 for _ in range(chance.randint(30, 300)))
    return between.join(words) + "\n"


def _lines(make: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    return lambda chance: make(chance) + "\n"


DATA: dict[str, Callable[[random.Random], str]] = {
    "DNA, in lines": _lines(lambda chance: "".join(chance.choices("ACGT", k=60))),
    "proteins, in long lines": _lines(lambda chance: "".join(chance.choices("ACDEFGHIKLMNPQRSTVWY", k=5000))),
    "numbers, one a line": _lines(lambda chance: str(chance.getrandbits(60))),
    "words, one a line": _lines(lambda chance: "".join(chance.choices("abcdefghij", k=9))),
    "csv with numbers": _lines(lambda chance: ",".join(str(chance.random()) for _ in range(8))),
    "minified code": lambda chance: f"function f{chance.getrandbits(20)}(a,b){{return a+b*{chance.getrandbits(9)}}};",
    "JSON on one line": lambda chance: json.dumps({"k": chance.getrandbits(50), "v": ["x", None]}) + ",",
    "base64 on one line": lambda chance: base64.b64encode(chance.randbytes(300)).decode(),
    "hexadecimal on one line": lambda chance: chance.randbytes(300).hex(),
    "a log": _lines(lambda chance: f"[{chance.random():.6f}] eth0: link up, {chance.getrandbits(30)} packets"),
    "a table in tabs": _lines(lambda chance: "\t".join(str(chance.getrandbits(40)) for _ in range(6))),
    "emoji, in lines": _lines(lambda chance: "".join(chance.choices("😀😁😂🚀🌍", k=30))),
    "old line ends": lambda chance: str(chance.getrandbits(90)) + "\r",
}
KINDS = {script: lambda chance, script=script: _prose(script, chance) for script in SCRIPTS} | DATA


def _text(kind: str) -> bytes:
    chance = random.Random(kind)
    parts, size = [], 0
    pool = [KINDS[kind](chance).encode() for _ in range(200)]
    while size < SIZE_BYTES:
        parts.append(chance.choice(pool))
        size += len(parts[-1])
    return b"".join(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_text_is_cut_where_it_is_safe(kind: str) -> None:
    data = _text(kind)
    for pretokenizer in PRETOKENIZERS:
        cut = TextCuts(pretokenizer, None).block_end(data, 0, len(data) - 100, at_end=False)
        assert cut is not None
        assert not cut.inexact, pretokenizer
