"""How many cells of a MiB have no safe place to cut: over 30 scripts and 10 kinds of data, for three encodings.

    python -m tests.benchmarks.inexact_cuts [--mib 12]

Words are random letters of a script, of the lengths and with the spaces and line ends that the script is written with.
"""

import argparse
import base64
import json
import random
import unicodedata
from collections.abc import Callable

from memwatch.model.units import MIB
from memwatch.tokenize.cuts import TextCuts

# First and last letter, and the mean length of what stands between two spaces.
SCRIPTS = {
    "Latin": (0x61, 0x7A, 5), "Latin Extended": (0xC0, 0x24F, 6), "Vietnamese": (0x1EA0, 0x1EF9, 4),
    "Greek": (0x3B1, 0x3C9, 6), "Cyrillic": (0x430, 0x44F, 6), "Armenian": (0x561, 0x586, 7),
    "Hebrew": (0x5D0, 0x5EA, 5),
    "Arabic": (0x620, 0x64A, 5), "Syriac": (0x710, 0x72F, 5), "Thaana": (0x780, 0x7A5, 6), "NKo": (0x7CA, 0x7EA, 5),
    "Devanagari": (0x905, 0x939, 5), "Bengali": (0x985, 0x9B9, 5), "Gurmukhi": (0xA05, 0xA39, 5),
    "Gujarati": (0xA85, 0xAB9, 5), "Oriya": (0xB05, 0xB39, 6), "Tamil": (0xB85, 0xBB9, 8), "Telugu": (0xC05, 0xC39, 8),
    "Kannada": (0xC85, 0xCB9, 8), "Malayalam": (0xD05, 0xD39, 9), "Sinhala": (0xD85, 0xDC6, 6),
    "Thai": (0xE01, 0xE2E, 40), "Lao": (0xE81, 0xEAE, 40), "Tibetan": (0xF40, 0xF6C, 60),
    "Burmese": (0x1000, 0x102A, 40),
    "Georgian": (0x10D0, 0x10F0, 7), "Amharic": (0x1200, 0x1357, 5), "Cherokee": (0x13A0, 0x13F4, 6),
    "Khmer": (0x1780, 0x17B3, 40), "Mongolian": (0x1820, 0x1877, 7), "Kana": (0x3041, 0x3096, 30),
    "Han": (0x4E00, 0x9FA5, 30), "Hangul": (0xAC00, 0xD7A3, 4), "Gothic": (0x10330, 0x10340, 6),
}  # fmt: skip


def script(first: int, last: int, length: int, rng: random.Random) -> str:
    letters = [chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c)).startswith("L")]
    words = ("".join(rng.choices(letters, k=max(int(rng.expovariate(1 / length)), 1))) for _ in range(20_000))
    return "".join(word + rng.choices([" ", "\n", ", "], [12, 1, 1])[0] for word in words)


def _lines(rng: random.Random, line: Callable[[], str]) -> str:
    return "".join(line() + "\n" for _ in range(20_000))


DATA: dict[str, Callable[[random.Random], str]] = {
    "DNA, 70 a line": lambda rng: _lines(rng, lambda: "".join(rng.choices("ACGT", k=70))),
    "DNA in lower case, Windows": lambda rng: _lines(rng, lambda: "".join(rng.choices("acgtn", k=80)) + "\r"),
    "numbers one a line": lambda rng: _lines(rng, lambda: str(rng.randrange(10**9))),
    "decimals one a line": lambda rng: _lines(rng, lambda: repr(rng.random())),
    "CSV": lambda rng: _lines(rng, lambda: ",".join(str(rng.randrange(10**6)) for _ in range(8))),
    "tabs": lambda rng: _lines(rng, lambda: "\t".join(str(rng.randrange(10**6)) for _ in range(8))),
    "base64, 76 a line": lambda rng: base64.encodebytes(rng.randbytes(400_000)).decode(),
    "hexadecimal dump": lambda rng: _lines(rng, lambda: rng.randbytes(32).hex()),
    "minified JSON": lambda rng: json.dumps([{"id": i, "x": rng.random()} for i in range(9000)], separators=(",", ":")),
    "words one a line": lambda rng: _lines(rng, lambda: "".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9)))),
    "log lines": lambda rng: _lines(rng, lambda: f"[{rng.random():.6f}] eth{rng.randrange(9)}: link is up"),
    "tables": lambda rng: _lines(
        rng, lambda: "|".join("-" * rng.randint(3, 9) for _ in range(9)) + f"|{rng.random()}|"
    ),
}


def texts() -> dict[str, str]:
    rng = random.Random(1)
    found = {name: script(*rule, rng) for name, rule in SCRIPTS.items()}
    return found | {name: make(rng) for name, make in DATA.items()}


def inexact_cuts(text: str, pretokenizer: str, size_bytes: int) -> int:
    """In a text of at least this size, made of different parts of this one."""
    data, cuts, found, at = text.encode(), TextCuts(pretokenizer, None), 0, 0
    data = data * (size_bytes // len(data) + 1)
    while at < len(data):
        window = data[at : at + 2 * MIB]
        cut = cuts.block_end(window, at, MIB + 4096, at_end=at + len(window) == len(data))
        assert cut is not None
        found += cut.inexact
        at += cut.at
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=12, help="size of each text")
    size_bytes = parser.parse_args().mib * MIB
    made = texts()
    for pretokenizer in ("gpt2", "cl100k", "o200k"):
        counts = {name: inexact_cuts(text, pretokenizer, size_bytes) for name, text in made.items()}
        total = size_bytes * len(made) / 1e9
        named = {name: count for name, count in counts.items() if count}
        print(f"{pretokenizer}: {sum(counts.values())} inexact cuts in {total:.2f} GB, {len(made)} texts {named or ''}")


if __name__ == "__main__":
    main()
