from pathlib import Path

import pytest

from memwatch.model.ranges import Range
from memwatch.tokenize.loader_notes import (
    encoding_notes,
    expected_notes,
    finished_notes,
    likely_split,
    segment_notes,
)
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import encoding_named
from tests.helpers import memwatch


def notes(settings: TokenizeSettings, tokens: Range, of_val_file: Range | None = None) -> list[str]:
    return expected_notes(settings, likely_split(settings, tokens, of_val_file))


@pytest.mark.parametrize(
    ("settings", "tokens", "said"),
    [
        pytest.param(TokenizeSettings(), 10e9, None, id="nanoGPT, FineWeb"),
        pytest.param(TokenizeSettings(), 1e6, "val will have about 500 tokens, and nanoGPT needs 1,025 with a block "
                     "size of 1024; use --val-ratio 0.002", id="nanoGPT, a book"),
        pytest.param(TokenizeSettings(), 2000, "the text is too short for that, with about 2.00 k tokens", id="a page"),
        pytest.param(TokenizeSettings(val_ratio="0"), 10_000, None, id="no validation"),
        pytest.param(TokenizeSettings(format="llmc", mode="shard"), 10e6, "llm.c needs 65,537 for each GPU with a "
                     "batch of 64 x 1024; use --val-ratio 0.01", id="llm.c"),
        pytest.param(TokenizeSettings(format="npy", mode="shard", shard_tokens=100_000_000, val_ratio="0"), 200_050_000,
                     "the last shard will have about 50.0 k tokens, and build-nanogpt needs 65,537 for each GPU with a "
                     "batch of 64 x 1024; use --shard-tokens 100025000", id="a short last shard"),
        pytest.param(TokenizeSettings(format="npy", mode="shard", shard_tokens=100_000_000, val_ratio="0"), 200_080_000,
                     None, id="a last shard that is long enough"),
        pytest.param(TokenizeSettings(val="first-shard", mode="shard"), 10e6, "train will have no tokens",
                     id="all is val"),
    ],
)  # fmt: skip
def test_what_a_loader_cannot_read_is_said_before_the_start(
    settings: TokenizeSettings, tokens: float, said: str | None
) -> None:
    found = notes(settings, Range.exactly(tokens))
    assert found == [] if said is None else any(said in note for note in found), found


def test_an_estimate_that_may_be_wrong_says_nothing_about_the_last_shard() -> None:
    settings = TokenizeSettings(format="npy", mode="shard", shard_tokens=100_000_000, val_ratio="0")
    assert notes(settings, Range(200_050_000, 190e6, 210e6)) == []


def test_a_short_validation_file_is_said() -> None:
    found = notes(TokenizeSettings(val="/data/val.jsonl", train_inputs=1), Range.exactly(1e9), Range.exactly(100))
    assert found == [
        "val will have about 100 tokens, and nanoGPT needs 1,025 with a block size of 1024; "
        "use more text for validation"
    ]


def test_tokens_of_32_bits_are_said_for_nanogpt_alone() -> None:
    cl100k = encoding_named("cl100k_base")
    assert "change np.uint16 to np.uint32" in encoding_notes(TokenizeSettings(), cl100k)[0]
    assert encoding_notes(TokenizeSettings(), encoding_named("gpt2")) == []
    assert encoding_notes(TokenizeSettings(format="megatron"), cl100k) == []


def test_finished_files_are_judged_by_what_they_have() -> None:
    settings = TokenizeSettings(format="llmc", mode="shard")
    assert finished_notes(settings, [100_000, 100_000], [70_000]) == []
    found = finished_notes(settings, [1_000_000, 1_000_000, 50_000], [70_000])
    assert found == [
        "the last shard has 50,000 tokens, and llm.c needs 65,537 for each GPU with a batch of 64 x 1024; "
        "use --shard-tokens 1025000"
    ]
    assert "leave out --shard-by segment" in finished_notes(settings, [1_000_000, 50_000], [70_000], by_segment=True)[0]


def test_a_run_by_segments_says_what_is_certain() -> None:
    settings = TokenizeSettings(format="npy", mode="shard")
    assert segment_notes(settings, [64 << 20] * 8) == []
    found = segment_notes(settings, [64 << 20, 1000])
    assert "val will have at most 33,555 tokens" in found[0]
    assert "1 of 2 shards will have at most 1,000 tokens" in found[1]


def test_a_run_and_estimate_say_it(tmp_path: Path) -> None:
    """Before the first token is made, and with the change that helps."""
    path = tmp_path / "text.txt"
    path.write_text("some words of a text, and a few more of them\n" * 20_000)
    for command in (("run", "--ui", "plain", "--no-record", "tokenize"), ("estimate",)):
        done = memwatch(*command, path, "--out", tmp_path / "out")
        assert "nanoGPT needs 1,025" in " ".join((done.out + done.err).split()), done.out + done.err
        assert "--val-ratio 0.00" in done.out + done.err
    shown = " ".join(memwatch("doctor").out.split())
    assert "bin for nanoGPT, llmc for llm.c" in shown
    assert "megatron for Megatron-LM" in " ".join(memwatch("run", "tokenize", "--help").out.split())
