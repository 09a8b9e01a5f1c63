"""Code points that gigatoken and a reference take for different kinds of characters, because one of them knows a newer
version of Unicode. A text that has one goes through the reference."""

import re
from functools import cached_property

import numpy as np

from memwatch.model.units import KIB

PART_BYTES = 32 * KIB
LONGEST_BYTES = 4
# Leading bytes of a part that are looked at one by one.
FOUND_ONE_BY_ONE = 32

# Letters, digits and marks that came with Unicode 17: gigatoken 0.10 knows them, tiktoken 0.14 does not. Found by
# comparing every code point in seven contexts or more, for all three pre-tokenizers; test_engines.py does it for gpt2.
NEW_IN_UNICODE_17 = (
    (0x088F, 0x088F), (0x0C5C, 0x0C5C), (0x0CDC, 0x0CDC), (0x1ACF, 0x1ADD), (0x1AE0, 0x1AEB), (0xA7CE, 0xA7CF),
    (0xA7D2, 0xA7D2), (0xA7D4, 0xA7D4), (0xA7F1, 0xA7F1), (0x10940, 0x10959), (0x10EC5, 0x10EC7), (0x10EFA, 0x10EFB),
    (0x11B60, 0x11B67), (0x11DB0, 0x11DDB), (0x11DE0, 0x11DE9), (0x16EA0, 0x16EB8), (0x16EBB, 0x16ED3),
    (0x16FF2, 0x16FF6), (0x187F8, 0x187FF), (0x18D09, 0x18D1E), (0x18D80, 0x18DF2), (0x1E6C0, 0x1E6DE),
    (0x1E6E0, 0x1E6F5), (0x1E6FE, 0x1E6FF), (0x2B73A, 0x2B73F), (0x2CEA2, 0x2CEAD), (0x323B0, 0x33479),
)  # fmt: skip

# The same for tokenizers 0.23, which normalizes (NFC) as Unicode 9 does, and whose patterns know the punctuation and
# symbols of Unicode 16. Found by comparing every code point in eleven contexts, and marks in eight more, for the
# vocabularies of test_vocabulary_files.py; blocks with letters that compose since Unicode 13 are here as a whole.
NEW_TO_TOKENIZERS = (
    *NEW_IN_UNICODE_17,
    (0x07FD, 0x07FD), (0x0897, 0x089F), (0x08CA, 0x08D3), (0x09FE, 0x09FE), (0x0C3C, 0x0C3C), (0x0D3B, 0x0D3C),
    (0x0EBA, 0x0EBA), (0x1715, 0x1715), (0x1ABF, 0x1ACE), (0x1DF6, 0x1DFA), (0x20C1, 0x20C1), (0x2B96, 0x2B96),
    (0xA82C, 0xA82C), (0xFBC3, 0xFBD2), (0xFD90, 0xFD91), (0xFDC8, 0xFDCE), (0x105C0, 0x105FF), (0x10D24, 0x10D27),
    (0x10D69, 0x10D6D), (0x10EAB, 0x10EAC), (0x10ED0, 0x10ED8), (0x10EFD, 0x10EFF), (0x10F46, 0x10F50),
    (0x10F82, 0x10F85), (0x11070, 0x11070), (0x1133B, 0x1133B), (0x11380, 0x113FF), (0x1145E, 0x1145E),
    (0x11839, 0x1183A), (0x11900, 0x1195F), (0x119E0, 0x119E0), (0x11A34, 0x11A34), (0x11A47, 0x11A47),
    (0x11A99, 0x11A99), (0x11D42, 0x11D45), (0x11D97, 0x11D97), (0x11F41, 0x11F42), (0x16100, 0x1613F),
    (0x16D40, 0x16D7F), (0x16FF0, 0x16FF1), (0x1CCFA, 0x1CCFC), (0x1CEBA, 0x1CED0), (0x1CEE0, 0x1CEF0),
    (0x1E08F, 0x1E08F), (0x1E130, 0x1E136), (0x1E2AE, 0x1E2AE), (0x1E2EC, 0x1E2EF), (0x1E4EC, 0x1E4EF),
    (0x1E5EE, 0x1E5EF), (0x1F6D8, 0x1F6D8), (0x1F777, 0x1F77A), (0x1F8D0, 0x1F8D8), (0x1FA54, 0x1FA57),
    (0x1FA8A, 0x1FA8A), (0x1FA8E, 0x1FA8E), (0x1FAC8, 0x1FAC8), (0x1FACD, 0x1FACD), (0x1FAEA, 0x1FAEA),
    (0x1FAEF, 0x1FAEF), (0x1FBFA, 0x1FBFA),
)  # fmt: skip


def _by_lead(ranges: tuple[tuple[int, int], ...]) -> dict[int, "re.Pattern[bytes]"]:
    """For each leading byte, what the whole characters look like."""
    by_lead: dict[int, dict[bytes, set[int]]] = {}
    for first, last in ranges:
        for code_point in range(first, last + 1):
            encoded = chr(code_point).encode()
            by_lead.setdefault(encoded[0], {}).setdefault(encoded[:-1], set()).add(encoded[-1])
    return {
        lead: re.compile(
            b"|".join(re.escape(start) + b"[" + re.escape(bytes(ends)) + b"]" for start, ends in rest.items())
        )
        for lead, rest in by_lead.items()
    }


class NewLetters:
    """Finds code points of some ranges, all beyond ASCII, in valid UTF-8."""

    def __init__(self, ranges: tuple[tuple[int, int], ...]) -> None:
        self._ranges = ranges
        begins = {chr(code_point).encode()[:2] for first, last in ranges for code_point in range(first, last + 1)}
        # Their leading bytes, and the bytes that follow these.
        self._next_bytes = {lead: bytes({each[1] for each in begins if each[0] == lead}) for lead, _ in begins}

    def are_in(self, text: bytes) -> bool:
        """A part at a time, which stays in the processor's cache. Few parts have the two bytes that they begin with."""
        if text.isascii():
            return False
        for start in range(0, len(text), PART_BYTES):
            end = start + PART_BYTES
            for lead, next_bytes in self._next_bytes.items():
                if self._begin_in(text, start, end, lead, next_bytes) and self._patterns[lead].search(
                    text, start, end + LONGEST_BYTES
                ):
                    return True
        return False

    @staticmethod
    def _begin_in(text: bytes, start: int, end: int, lead: int, next_bytes: bytes) -> bool:
        """Whether the leading byte is there with one of these after it. Where there are many of them, to look at all
        bytes at once is faster than to find them."""
        for _ in range(FOUND_ONE_BY_ONE):
            start = text.find(lead, start, end) + 1
            if not start:
                return False
            if text[start] in next_bytes:
                return True
        data = np.frombuffer(text[start : end + 1], np.uint8)
        is_lead = data[:-1] == lead
        return any(bool((is_lead & (data[1:] == each)).any()) for each in next_bytes)

    @cached_property
    def _patterns(self) -> dict[int, "re.Pattern[bytes]"]:
        """Few texts need them, and to compile them takes a tenth of a worker's start."""
        return _by_lead(self._ranges)
