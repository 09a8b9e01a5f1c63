"""The split patterns in use: how a text is divided into pretokens before BPE merges bytes within each.

A pattern that is listed here has cuts that are proven to be safe (cuts.py; tests/tokenize/test_file_cuts.py compares
them with the real pre-tokenizers). With any other one documents are never cut.
"""

from dataclasses import dataclass
from typing import Any

_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_END = r"\s+(?!\S)|\s+"
_LINES = rf"\s*[\r\n]+|{_END}"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_MARKS = r" ?[^\s\p{L}\p{N}]+"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"


def _cased(suffix: str) -> str:
    """Words by letter case, as o200k divides them."""
    before = r"[^\r\n\p{L}\p{N}]?"
    return f"{before}[{_UPPER}]*[{_LOWER}]+{suffix}|{before}[{_UPPER}]+[{_LOWER}]*{suffix}"


@dataclass(frozen=True, slots=True)
class SplitPattern:
    """`cuts` names the safe cuts (safe_cuts.PRETOKENIZERS), `gigatoken` the pre-tokenizer of that library."""

    name: str
    regex: str
    cuts: str
    gigatoken: str


SPLIT_PATTERNS = {
    pattern.name: pattern
    for pattern in (
        SplitPattern("gpt2", rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+|{_MARKS}|{_END}", "gpt2", "gpt2"),
        SplitPattern("cl100k", rf"{_CONTRACTION}|{_WORD}|\p{{N}}{{1,3}}|{_MARKS}[\r\n]*|{_LINES}", "cl100k", "cl100k"),
        SplitPattern("qwen2", rf"{_CONTRACTION}|{_WORD}|\p{{N}}|{_MARKS}[\r\n]*|{_LINES}", "cl100k", "qwen2"),
        SplitPattern(
            "o200k", rf"{_cased(_CONTRACTION + '?')}|\p{{N}}{{1,3}}|{_MARKS}[\r\n/]*|{_LINES}", "o200k", "o200k"
        ),
        SplitPattern("tekken", rf"{_cased('')}|\p{{N}}|{_MARKS}[\r\n/]*|{_LINES}", "o200k", "nemotron"),
    )
}
# Other names for the same.
ALIASES = {"r50k": "gpt2", "p50k": "gpt2", "llama3": "cl100k", "qwen3": "qwen2"}
PRETOKENIZERS = (*SPLIT_PATTERNS, *ALIASES)

# DeepSeek divides a text three times, one pattern after the other.
DEEPSEEK_REGEXES = (
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
_BY_REGEXES = {(pattern.regex,): pattern.cuts for pattern in SPLIT_PATTERNS.values()} | {DEEPSEEK_REGEXES: "cl100k"}


def pattern_named(name: str) -> SplitPattern:
    """By the name that --pretokenizer has, or an alias of it."""
    return SPLIT_PATTERNS[ALIASES.get(name, name)]


def pattern_with(regex: str) -> SplitPattern | None:
    """The known pattern with this regular expression, or None."""
    return next((pattern for pattern in SPLIT_PATTERNS.values() if pattern.regex == regex), None)


def cuts_of_pre_tokenizer(pre_tokenizer: dict[str, Any] | None) -> str | None:
    """The safe cuts of the pre-tokenizer of a tokenizer.json; None if it is none of those known here."""
    if pre_tokenizer is None:
        return None
    steps = pre_tokenizer["pretokenizers"] if pre_tokenizer["type"] == "Sequence" else [pre_tokenizer]
    *splits, last = steps
    if last["type"] != "ByteLevel" or last.get("add_prefix_space", True):
        return None
    if not splits:
        return "gpt2" if last.get("use_regex", True) else None
    if last.get("use_regex", True) or not all(map(_divides, splits)):
        return None
    return _BY_REGEXES.get(tuple(split["pattern"]["Regex"] for split in splits))


def _divides(split: dict[str, Any]) -> bool:
    """Whether it keeps all of the text: each match and what lies between matches, or, where nothing lies between, each
    match."""
    behavior = (split.get("behavior"), split.get("invert", False))
    return split["type"] == "Split" and "Regex" in split["pattern"] and behavior in _KEEPS_ALL


_KEEPS_ALL = (("Isolated", False), ("Removed", True))
