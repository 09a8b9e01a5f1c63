"""The rules of safe cuts, and the search for the first and the last one in a text.

The rules are patterns, and a pattern takes a hundred nanoseconds for each byte of a text without cuts: white space,
DNA, digits, Thai. So a long search looks first at which bytes may stand beside a cut, at all of them at once, and tries
the pattern only there.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from memwatch.model.units import KIB

# Characters that are certainly letters, whatever the version of Unicode: kana, CJK ideographs, Hangul syllables.
_IDEOGRAPH = (
    rb"\xe3(?:\x81[\x81-\xbf]|\x82[\x80-\x96\xa1-\xbf]|\x83[\x80-\xba])"
    rb"|\xe4[\xb8-\xbf][\x80-\xbf]|[\xe5-\xe8][\x80-\xbf]{2}|\xe9[\x80-\xbd][\x80-\xbf]"
    rb"|\xea[\xb0-\xbf][\x80-\xbf]|[\xeb\xec][\x80-\xbf]{2}|\xed[\x80-\x9d][\x80-\xbf]"
)
# Punctuation, without the apostrophe that may begin a contraction: ASCII, 、。「」『』【】 and ！，：；？
_PUNCTUATION = rb"[!-&(-/:-@\[-`{-~]|\xe3\x80[\x81\x82\x8c-\x91]|\xef\xbc[\x81\x8c\x9a\x9b\x9f]"
# Complete characters of more than one byte that are certainly not white space. U+1680 is a space, and U+180E was one.
_WIDE_NONSPACE = (
    rb"[\xc3-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xe2\x80[\x90-\xa7]"
    rb"|\xe1(?:[\x80-\x99\x9b-\x9f\xa1-\xbf][\x80-\xbf]|\x9a[\x81-\xbf]|\xa0[\x80-\x8d\x8f-\xbf])"
    rb"|\xe3(?:\x80[\x81-\xbf]|[\x81-\xbf][\x80-\xbf])|[\xe4-\xec][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xef[\xbc\xbd][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
)
_NONSPACE = rb"[!-~]|" + _WIDE_NONSPACE

# A cut is the end of a match.
_EVERYWHERE = (
    rb"(?:" + _NONSPACE + rb")(?= )",
    rb"(?:[A-Za-z0-9]|" + _IDEOGRAPH + rb")(?=" + _PUNCTUATION + rb")",
    rb"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])",
)
_GPT2_ONLY = (
    rb"(?:" + _NONSPACE + rb")(?=[\t-\r])",
    rb"(?:" + _PUNCTUATION + rb")(?=[A-Za-z]|" + _IDEOGRAPH + rb")",
)
# Outside gpt2 a run of white space is divided after its last line end, and only punctuation that line ends follow takes
# them with it; o200k takes slashes too. So whatever else begins a line begins a pretoken.
_NOT_GPT2 = (rb"[\r\n](?=[!-.0-~]|" + _WIDE_NONSPACE + rb")",)
_LONGEST_BEFORE_BYTES = 4
_LONGEST_AFTER_BYTES = 4

# By the pre-tokenizer of the encoding, as vocabulary.py names it. The first rule is the one before a space.
_RULES = {
    "gpt2": _EVERYWHERE + _GPT2_ONLY,
    "cl100k": _EVERYWHERE + _NOT_GPT2,
    "o200k": _EVERYWHERE + _NOT_GPT2,
}
PRETOKENIZERS = tuple(_RULES)


@cache
def safe_cuts(pretokenizer: str, whole_texts: tuple[str, ...] = ()) -> re.Pattern[bytes]:
    """The rules of a pre-tokenizer, with `whole_texts` never cut."""
    texts = [text.encode() for text in whole_texts]
    return re.compile(b"|".join(rule for rule in _RULES[pretokenizer] if not _cuts_any(rule, texts)))


def cuts_beside_spaces(pretokenizer: str, whole_texts: tuple[str, ...]) -> bool:
    """Whether the first rule, without which most texts have no cuts, never cuts one of these texts."""
    return not _cuts_any(_RULES[pretokenizer][0], [text.encode() for text in whole_texts])


def _cuts_any(rule: bytes, texts: list[bytes]) -> bool:
    return any(match.end() < len(text) for text in texts for match in re.finditer(rule, text))


_SPACES, _LETTERS, _DIGITS = b"\t\n\v\f\r ", bytes(range(65, 91)) + bytes(range(97, 123)), b"0123456789"
_VISIBLE, _LATER, _LEADS = bytes(range(0x21, 0x7F)), bytes(range(0x80, 0xC0)), bytes(range(0xC3, 0xF1))
_MARKS = bytes(set(_VISIBLE) - set(_LETTERS) - set(_DIGITS))
# Which bytes may stand before and after a cut, by all rules of all pre-tokenizers; a bit for each pair of sets.
_BESIDE_CUTS = (
    (_VISIBLE + _LATER, _SPACES),
    (_LETTERS + _DIGITS + _LATER, _MARKS + b"\xe3\xef"),
    (_LETTERS, _DIGITS),
    (_DIGITS, _LETTERS),
    (_MARKS + _LATER, _LETTERS + bytes(range(0xE3, 0xEE))),
    (b"\r\n", _VISIBLE + _LEADS),
)
_BEFORE, _AFTER = (
    bytes(sum(1 << bit for bit, sides in enumerate(_BESIDE_CUTS) if byte in sides[side]) for byte in range(256))
    for side in range(2)
)
# How far a search goes with the pattern alone: most cuts are near.
NEAR_BYTES = 1 * KIB
# Then so much at once; where so many places may be cuts, the pattern is faster.
PART_BYTES = 64 * KIB
MANY_PLACES = PART_BYTES // 64


class CutSearch:
    """`first` and `last` find what the pattern finds, and so does whoever looks from another place of the text."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern

    def first(self, window: bytes, start: int, end: int) -> int | None:
        """The first safe cut in [start, end), and none before the first byte."""
        start = max(start, 1)
        near = min(start + NEAR_BYTES, end)
        found = next(self._by_pattern(window, start, near), None)
        while found is None and near < end:
            start, near = near, min(near + PART_BYTES, end)
            found = next(self._cuts(window, start, near), None)
        return found

    def last(self, window: bytes, limit: int) -> int | None:
        """The last safe cut in (0, limit]."""
        end, size = limit + 1, NEAR_BYTES
        while end > 1:
            start = max(end - size, 1)
            found = max((self._by_pattern if size == NEAR_BYTES else self._cuts)(window, start, end), default=None)
            if found is not None:
                return found
            end, size = start, PART_BYTES
        return None

    def _by_pattern(self, window: bytes, start: int, end: int) -> Iterator[int]:
        begin, view_end = max(start - _LONGEST_BEFORE_BYTES, 0), min(end + _LONGEST_AFTER_BYTES, len(window))
        for match in self._pattern.finditer(window, begin, view_end):
            if start <= match.end() < end:
                yield match.end()

    def _cuts(self, window: bytes, start: int, end: int) -> Iterator[int]:
        places = _possible_cuts(window, start, end)
        if len(places) > MANY_PLACES:
            yield from self._by_pattern(window, start, end)
            return
        for place in places.tolist():
            yield from self._by_pattern(window, place, place + 1)


def _possible_cuts(window: bytes, start: int, end: int) -> Any:
    """Places in [start, end) with bytes beside them as a cut may have."""
    import numpy as np  # Not for those who only want to know the rules.

    part = window[start - 1 : end]
    before, after = (np.frombuffer(part.translate(table), np.uint8) for table in (_BEFORE, _AFTER))
    return np.flatnonzero(before[:-1] & after[1:]) + start
