"""What the usual loaders cannot read in the output of a run, and what to change: said before the start, by `estimate`,
and of the finished files."""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from memwatch.model.ranges import Range
from memwatch.model.units import format_count
from memwatch.tokenize.formats.format_registry import FORMATS
from memwatch.tokenize.formats.output_format import LoaderNeeds
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

if TYPE_CHECKING:
    from memwatch.tokenize.sizing import Expected

# A ratio beyond this is no advice: the text is too short.
LARGEST_ADVISED_RATIO = 0.3
# A sample of a few pieces is not further off than this; of packed files it is a guess.
SAMPLE_OFF, PACKED_OFF = 0.1, 2.0
_LARGER_SEGMENTS = "a segment ends where its input file ends: use larger files, or leave out --shard-by segment"


class LikelySplit(NamedTuple):
    """The tokens that each split will have."""

    train: Range
    val: Range


def likely(tokens: float, is_packed: bool) -> Range:
    """The range of a number of tokens that a run has sampled before it starts."""
    off = PACKED_OFF if is_packed else SAMPLE_OFF
    return Range(tokens, tokens * (1 - SAMPLE_OFF), tokens * (1 + off))


def likely_split(settings: TokenizeSettings, named: Range, of_val_file: Range | None) -> LikelySplit:
    """What goes where, of the tokens of the named inputs and those of the validation file."""
    if of_val_file is not None:
        return LikelySplit(named, of_val_file)
    if settings.val == "first-shard":
        first = Range(*(min(count, settings.shard_tokens) for count in named))
        return LikelySplit(Range(*(max(count - settings.shard_tokens, 0) for count in named)), first)
    fraction = float(settings.val_fraction)
    return LikelySplit(named.times(1 - fraction), named.times(fraction))


def encoding_notes(settings: TokenizeSettings, encoding: Encoding) -> list[str]:
    """Whether the usual loader reads tokens of this width."""
    needs = FORMATS[settings.format].needs
    if encoding.token_bytes in needs.token_bytes:
        return []
    return [
        f"{needs.loader} reads tokens of 16 bits, and those of {encoding.name} have {8 * encoding.token_bytes}: in its "
        f"train.py change np.uint16 to np.uint{8 * encoding.token_bytes}, or use --encoding gpt2"
    ]


def sampled_notes(settings: TokenizeSettings, expected: "Expected", named_bytes: int) -> list[str]:
    """As `expected_notes`, from the sample that a run takes before it starts. `named_bytes` is the size of the inputs
    without the validation file."""
    named = expected.tokens_up_to(named_bytes)
    of_val_file = None if settings.train_inputs is None else likely(expected.tokens - named, expected.is_packed)
    return expected_notes(settings, likely_split(settings, likely(named, expected.is_packed), of_val_file))


def expected_notes(settings: TokenizeSettings, expected: LikelySplit) -> list[str]:
    """What the usual loader will not read, known before the start from the expected numbers of tokens."""
    needs = FORMATS[settings.format].needs
    return [*_val_note(settings, expected, needs), *_train_note(settings, expected.train, needs)]


def _val_note(settings: TokenizeSettings, expected: LikelySplit, needs: LoaderNeeds) -> Iterator[str]:
    val, total = expected.val, expected.train.estimate + expected.val.estimate
    if not settings.wants_val or val.estimate >= needs.tokens:
        return
    said = f"val will have about {format_count(val.estimate)} tokens, and {_needed(needs)}"
    if settings.val in ("ratio", "tail"):
        yield f"{said}; {_more_val(needs, total)}"
    else:
        yield f"{said}; use more text for validation"


def _more_val(needs: LoaderNeeds, total: float) -> str:
    ratio = 1.5 * needs.tokens / max(total, 1)
    if ratio > LARGEST_ADVISED_RATIO:
        return f"the text is too short for that, with about {format_count(total)} tokens"
    step: float = 10 ** math.floor(math.log10(ratio))
    return f"use --val-ratio {math.ceil(ratio / step) * step:.6g}"


def _train_note(settings: TokenizeSettings, train: Range, needs: LoaderNeeds) -> Iterator[str]:
    if settings.val == "first-shard" and not train.estimate:
        yield (
            f"train will have no tokens: all of the text fits into the first shard of {settings.shard_tokens:,}; "
            "use a smaller --shard-tokens, or --val ratio"
        )
        return
    if train.high < needs.tokens:
        yield f"train will have about {format_count(train.estimate)} tokens, and {_needed(needs)}; use more text"
        return
    shards = train.low // settings.shard_tokens
    is_certain = shards == train.high // settings.shard_tokens
    rest = train.estimate - shards * settings.shard_tokens
    if settings.mode == "shard" and is_certain and shards and rest < needs.tokens:
        yield (
            f"the last shard will have about {format_count(rest)} tokens, and {_needed(needs)}; "
            f"use --shard-tokens {_even_shard(train.high, int(shards))}"
        )


def _even_shard(tokens: float, shards: int) -> int:
    """So many tokens that this number of shards holds all of them, rounded up to a thousand."""
    return math.ceil(tokens / shards / 1000) * 1000


def segment_notes(settings: TokenizeSettings, text_bytes: Iterable[int]) -> list[str]:
    """Before the start of a run by segments, which does not sample: what is certain, as a token has a byte or more."""
    needs, sizes = FORMATS[settings.format].needs, list(text_bytes)
    notes = []
    most = float(settings.val_fraction) * sum(sizes)
    if settings.val in ("ratio", "tail") and settings.wants_val and most < needs.tokens:
        notes.append(
            f"val will have at most {most:,.0f} tokens, and {_needed(needs)}; {_more_val(needs, sum(sizes) / 4)}"
        )
    short = [size for size in sizes if size < needs.tokens]
    if short:
        notes.append(
            f"{len(short)} of {len(sizes)} shards will have at most {max(short):,} tokens, and {_needed(needs)}; "
            f"{_LARGER_SEGMENTS}"
        )
    return notes


def finished_notes(
    settings: TokenizeSettings, train: Iterable[int], val: Iterable[int], by_segment: bool = False
) -> list[str]:
    """What the usual loader will not read of the files that were made, given their numbers of tokens."""
    needs = FORMATS[settings.format].needs
    trained, validated = list(train), list(val)
    notes = []
    if settings.wants_val and sum(validated) < needs.tokens:
        change = "use more text for validation"
        if settings.val in ("ratio", "tail"):
            change = _more_val(needs, sum(trained) + sum(validated))
        notes.append(f"val has {sum(validated):,} tokens, and {_needed(needs)}; {change}")
    short = [tokens for tokens in trained if tokens < needs.tokens]
    if len(trained) > 1 and short:
        change = f"use --shard-tokens {_even_shard(sum(trained), len(trained) - len(short) or 1)}"
        change = _LARGER_SEGMENTS if by_segment else change
        what = "the last shard has" if len(short) == 1 else f"{len(short)} shards have as few as"
        notes.append(f"{what} {min(short):,} tokens, and {_needed(needs)}; {change}")
    return notes


def _needed(needs: LoaderNeeds) -> str:
    return f"{needs.loader} needs {needs.tokens:,} {needs.why}"
