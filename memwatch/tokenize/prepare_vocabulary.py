"""Reads a vocabulary file and says what is in it; writes what gigatoken can load.

    python -m memwatch.tokenize.prepare_vocabulary FILE PRETOKENIZER EOT

A process of its own, because parsing a tokenizer.json takes a few hundred MiB (vocabulary_file.py starts it and keeps
the answer). The answer is a line of JSON on standard output: the vocabulary, or the problem. The file for gigatoken
follows, if there is one. In it no special token is left but MARK, which stands between documents: the text of a special
token inside a document is plain text.
"""

import base64
import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memwatch.errors import MemwatchError, UsageError
from memwatch.tokenize.safe_cuts import cuts_beside_spaces
from memwatch.tokenize.split_patterns import cuts_of_pre_tokenizer, pattern_named, pattern_with
from memwatch.tokenize.vocabulary import MARK, VocabularyKind

# The names that vocabularies in use give to the end of a text. The end of a turn in a chat is not among them.
END_OF_TEXT_NAMES = (
    "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]", "<EOT>", "<end_of_text>",
    "<｜end▁of▁sentence｜>", "<|end▁of▁sentence|>",
)  # fmt: skip
NAMES_SHOWN = 8
# Of a tekken.json that does not list its special tokens.
_TEKKEN_SPECIALS = {"<unk>": 0, "<s>": 1, "</s>": 2}


@dataclass(frozen=True, slots=True)
class FoundVocabulary:
    """What a file holds. `cuts` and `whole_texts` say where a document may be cut: at the safe cuts of this name that
    do not fall into one of these texts; nowhere without a name."""

    kind: VocabularyKind
    size: int
    eot: int
    cuts: str | None = None
    whole_texts: tuple[str, ...] = ()
    pattern: str | None = None  # of a rank file
    first_rank: int = 0  # the number of its first token
    gigatoken_problem: str | None = None


def found_in(data: bytes, name: str, pretokenizer: str | None, eot: str | None) -> tuple[FoundVocabulary, bytes]:
    """The vocabulary of a file and what gigatoken can load. Recognized by content."""
    if data.lstrip()[:1] == b"{":
        try:
            config = json.loads(data)
        except ValueError as error:
            raise MemwatchError(f"{name} is not a vocabulary: broken JSON ({error})") from error
        if pretokenizer is not None:
            raise UsageError(f"--pretokenizer is for rank files (.tiktoken); {name} has its own")
        if "model" in config:
            return _tokenizer_json(config, name, eot)
        if "vocab" in config and "pattern" in config.get("config", {}):
            return _tekken(config, name, eot)
        raise MemwatchError(f"{name} is JSON, but no vocabulary: neither a tokenizer.json nor a tekken.json")
    if (ranks := _ranks(data)) is not None:
        return _rank_file(ranks, name, pretokenizer, eot)
    if pretokenizer is not None:
        raise UsageError(f"--pretokenizer is for rank files (.tiktoken), which {name} is not")
    return _sentencepiece(data, name, eot)


def chosen_eot(wanted: str | None, name: str, tokens: Mapping[str, int], specials: Mapping[str, int], size: int) -> int:
    """The number of the token that ends a document: as named, or the one special token with a usual name."""
    if wanted is None:
        usual = [each for each in END_OF_TEXT_NAMES if each in specials]
        if len(usual) == 1:
            return specials[usual[0]]
        candidates = _listed(usual or specials)
        raise UsageError(f"{name} does not say which token ends a document; name it with --eot ({candidates})")
    if wanted.isdecimal():  # A token of digits is given by its number, too.
        if int(wanted) >= size:
            raise UsageError(f"--eot {wanted} is outside the vocabulary of {name}, which has tokens 0 to {size - 1}")
        return int(wanted)
    for names in (specials, tokens):
        if wanted in names:
            return names[wanted]
    raise UsageError(f"{name} has no token {wanted!r}; for --eot there are {_listed(specials)}, or a number")


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    return (", ".join(shown[:NAMES_SHOWN]) or "no special tokens") + more


def _tokenizer_json(config: dict[str, Any], name: str, eot: str | None) -> tuple[FoundVocabulary, bytes]:
    try:
        model, added = config["model"], config.get("added_tokens") or []
        listed = model["vocab"]
        tokens = listed if isinstance(listed, dict) else {entry[0]: i for i, entry in enumerate(listed)}
        specials = {token["content"]: token["id"] for token in added if token["special"]}
        plain = [token for token in added if not token["special"]]
        size = max(*tokens.values(), *(token["id"] for token in added), -1, -1) + 1
        if model.get("dropout"):
            raise MemwatchError(f"{name} merges at random (BPE dropout), so its tokens cannot be reproduced")
        cuts, whole_texts = _safe_cuts(config, plain)
    except (KeyError, TypeError, AttributeError) as error:
        raise MemwatchError(
            f"{name} is not a tokenizer.json as known here ({type(error).__name__}: {error})"
        ) from error
    named = {**tokens, **{token["content"]: token["id"] for token in plain}}
    end = chosen_eot(eot, name, named, specials, size)
    problem = None
    if _overlap(specials, [token["content"] for token in plain]):
        problem = "its special tokens overlap others"
    found = FoundVocabulary("tokenizer.json", size, end, cuts, whole_texts, gigatoken_problem=problem)
    return found, b"" if problem else _for_gigatoken(config, plain, size)


def _for_gigatoken(config: dict[str, Any], plain: list[dict[str, Any]], mark: int) -> bytes:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    between = {"id": mark, "content": MARK.decode(), "special": True, **flags}
    cleared = {"truncation": None, "padding": None, "post_processor": None}
    return json.dumps({**config, **cleared, "added_tokens": [*plain, between]}, ensure_ascii=False).encode()


def _safe_cuts(config: dict[str, Any], plain: list[dict[str, Any]]) -> tuple[str | None, tuple[str, ...]]:
    """Added tokens are found before the text is split, so a cut must not fall into one; and what is white space or a
    word beside one must not matter."""
    cuts = cuts_of_pre_tokenizer(config.get("pre_tokenizer"))
    normalizer = config.get("normalizer")
    has_reach = any(token.get("lstrip") or token.get("rstrip") or token.get("single_word") for token in plain)
    is_normalized = bool(_steps(normalizer)) and any(token.get("normalized", True) for token in plain)
    # NFC joins no character with one that begins the right side of a safe cut.
    if cuts is None or has_reach or is_normalized or any(kind != "NFC" for kind in _steps(normalizer)):
        return None, ()
    texts = tuple(token["content"] for token in plain)
    return (cuts, texts) if cuts_beside_spaces(cuts, texts) else (None, ())


def _steps(normalizer: dict[str, Any] | None) -> list[str]:
    if normalizer is None:
        return []
    if normalizer["type"] == "Sequence":
        return [kind for each in normalizer["normalizers"] for kind in _steps(each)]
    return [normalizer["type"]]


def _overlap(specials: Iterable[str], plain: Iterable[str]) -> bool:
    """Whether text could hold one of each that share characters. The reference then looks for neither a second time."""
    firsts, seconds = set(specials), set(plain)
    return _reaches_into(firsts, seconds) or _reaches_into(seconds, firsts)


def _reaches_into(firsts: set[str], seconds: set[str]) -> bool:
    """Whether one of the second begins inside one of the first, or at its start."""
    beginnings = {text[:end] for text in seconds for end in range(1, len(text) + 1)}
    for text in firsts:
        for start in range(len(text)):
            end = start + 1
            while end <= len(text) and text[start:end] in beginnings:
                if text[start:end] in seconds or end == len(text):
                    return True
                end += 1
    return False


def _ranks(data: bytes) -> dict[bytes, int] | None:
    """The tokens of a rank file; None if it is none."""
    ranks: dict[bytes, int] = {}
    try:
        for line in data.splitlines():
            if line:
                token, rank = line.split()
                ranks[base64.b64decode(token, validate=True)] = int(rank)
    except ValueError:
        return None
    return ranks or None


def _rank_file(
    ranks: dict[bytes, int], name: str, pretokenizer: str | None, eot: str | None
) -> tuple[FoundVocabulary, bytes]:
    if pretokenizer is None:
        raise UsageError(f"{name} does not say how text is split before merging; name it with --pretokenizer")
    if eot is None:
        raise UsageError(f"{name} has no special tokens; give the number of the token that ends a document with --eot")
    tokens = {token.decode("utf-8", "replace"): rank for token, rank in ranks.items()}
    # Special tokens are not in the file; their numbers follow those that are.
    end = int(eot) if eot.isdecimal() else chosen_eot(eot, name, tokens, {}, max(ranks.values()) + 1)
    if end >= 1 << 31:
        raise UsageError(f"--eot {eot} is too large")
    size = max(*ranks.values(), end) + 1
    return _with_pattern("tiktoken", ranks, size, end, pattern_named(pretokenizer).regex)


def _tekken(config: dict[str, Any], name: str, eot: str | None) -> tuple[FoundVocabulary, bytes]:
    try:
        size = int(config["config"]["default_vocab_size"])
        first = int(config["config"]["default_num_special_tokens"])
        entries = sorted(config["vocab"], key=lambda entry: entry["rank"])[: size - first]
        ranks = {base64.b64decode(entry["token_bytes"]): int(entry["rank"]) for entry in entries}
        listed = config.get("special_tokens")
        specials = {token["token_str"]: token["rank"] for token in listed} if listed else _TEKKEN_SPECIALS
        pattern = str(config["config"]["pattern"])
    except (KeyError, TypeError, ValueError) as error:
        raise MemwatchError(f"{name} is not a tekken.json as known here ({type(error).__name__}: {error})") from error
    tokens = {token.decode("utf-8", "replace"): first + rank for token, rank in ranks.items()}
    end = chosen_eot(eot, name, tokens, specials, size)
    return _with_pattern("tekken", ranks, size, end, pattern, first)


def _with_pattern(
    kind: VocabularyKind, ranks: dict[bytes, int], size: int, eot: int, regex: str, first_rank: int = 0
) -> tuple[FoundVocabulary, bytes]:
    known = pattern_with(regex)
    problem = "it does not know the split pattern" if known is None else None
    cuts = None if known is None else known.cuts
    lines = (
        base64.b64encode(token) + b" %d\n" % rank for token, rank in sorted(ranks.items(), key=lambda item: item[1])
    )
    found = FoundVocabulary(kind, size, eot, cuts, (), regex, first_rank, problem)
    return found, b"".join(lines)


def _sentencepiece(data: bytes, name: str, eot: str | None) -> tuple[FoundVocabulary, bytes]:
    try:
        import sentencepiece
    except ImportError as error:
        raise MemwatchError(f"{name} may be a SentencePiece model; to read one: pip install 'memwatch[hf]'") from error
    model = sentencepiece.SentencePieceProcessor()
    try:
        is_loaded = bool(data) and model.LoadFromSerializedProto(data)
    except RuntimeError:
        is_loaded = False
    if not is_loaded:
        raise MemwatchError(
            f"{name} is not a vocabulary: neither a tokenizer.json, a SentencePiece model, a .tiktoken file "
            "nor a tekken.json"
        )
    size = model.get_piece_size()
    tokens = {model.id_to_piece(i): i for i in range(size)}
    specials = {piece: i for piece, i in tokens.items() if model.is_control(i)}
    end = chosen_eot(eot, name, tokens, specials, size)
    problem, prepared = None, b""
    try:
        from gigatoken._load.sentencepiece import sentencepiece_to_tokenizer_json

        config = json.loads(sentencepiece_to_tokenizer_json(data))
        # SentencePiece never makes a control piece from text.
        merges = config["model"]["merges"]
        config["model"]["merges"] = [pair for pair in merges if "".join(pair) not in specials]
        plain = [token for token in config["added_tokens"] if not token["special"]]
        prepared = _for_gigatoken(config, plain, size)
    except Exception as error:  # Whatever it is, the reference can do the job.
        problem = str(error) or type(error).__name__
    return FoundVocabulary("sentencepiece", size, end, gigatoken_problem=problem), prepared


def main() -> None:
    """Write what was found as a line of JSON to standard output, then what gigatoken reads."""
    path, pretokenizer, eot = Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3] or None
    answer: dict[str, Any]
    prepared = b""
    try:
        found, prepared = found_in(path.read_bytes(), path.name, pretokenizer, eot)
        answer = asdict(found)
    except MemwatchError as error:
        answer = {"problem": str(error), "is_usage": isinstance(error, UsageError)}
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.write(prepared)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
