"""What the figures rest on: the same text for all, and a comparison that sees every difference."""

from pathlib import Path

import numpy as np
import pytest

from memwatch.tokenize.vocabulary import rank_file, reference
from tests.benchmarks.documents import documents
from tests.benchmarks.exact import GPT2, compared, tokens_of_part
from tests.benchmarks.measure import NotMeasured, measured
from tests.benchmarks.report import table
from tests.benchmarks.throughput import head_of

TEXT = "\n\n".join(
    f"Chapter {number}. It was the best of times, it was the worst of times." * 9 for number in range(300)
)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def whole() -> np.ndarray:
    return reference(GPT2, rank_file(GPT2)).encode_to_numpy(TEXT).astype("<u2")


def test_documents_are_the_text_and_have_its_tokens(text: Path, whole: np.ndarray) -> None:
    pieces = list(documents(str(text)))
    assert len(pieces) > 10
    assert "".join(pieces) == TEXT
    encoding = reference(GPT2, rank_file(GPT2))
    assert [token for piece in pieces for token in encoding.encode_ordinary(piece)] == whole.tolist()


def test_a_head_has_the_first_tokens_of_the_whole(text: Path, tmp_path: Path, whole: np.ndarray) -> None:
    head = head_of(text, tmp_path, 100_000)
    expected = reference(GPT2, rank_file(GPT2)).encode_ordinary(head.read_text())
    assert tokens_of_part(whole, head.stat().st_size).tolist() == expected


@pytest.mark.parametrize(
    ("files", "words"),
    [
        pytest.param({"train.bin": [1, 2, 3]}, "yes", id="one-file"),
        pytest.param({"train_shard_0001.bin": [3], "train_shard_0000.bin": [1, 2]}, "yes", id="shards"),
        pytest.param({"train.bin": [1, 9, 3]}, "no, from token 1 on", id="another-token"),
        pytest.param({"train.bin": [1, 2]}, "no, 2 tokens for 3", id="too-few"),
        pytest.param({"val.bin": [1, 2, 3]}, "no output", id="nothing"),
    ],
)
def test_a_difference_is_told(files: dict[str, list[int]], words: str, tmp_path: Path) -> None:
    for name, tokens in files.items():
        np.array(tokens, dtype="<u2").tofile(tmp_path / name)
    assert compared(tmp_path, np.array([1, 2, 3], dtype="<u2")) == words


def test_a_contender_that_fails_says_why(text: Path, tmp_path: Path) -> None:
    command = ["sh", "-c", "echo no such package >&2; exit 3"]
    with pytest.raises(NotMeasured, match=r"^no such package$"):
        measured(command, text, tmp_path / "out")


def test_a_run_tells_what_stays_in_the_page_cache(text: Path, tmp_path: Path) -> None:
    run = measured(["cp", text, tmp_path / "out" / "train.bin"], text, tmp_path / "out")
    assert run.cached_bytes >= 2 * len(TEXT)


def test_words_stand_left_and_figures_right() -> None:
    assert table(("", "MB/s", "exact "), [("memwatch", "1", "a|b")]) == [
        "|  | MB/s | exact |",
        "|---|---:|---|",
        "| memwatch | 1 | a\\|b |",
    ]
