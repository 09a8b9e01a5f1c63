import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.tokenize.shuffle_order import Permutation, document_order, shuffled
from tests.helpers import error_of, memwatch

END_OF_TEXT = 50256


@given(size=st.integers(1, 3000), seed=st.integers(0, 2**64 - 1))
def test_every_number_has_one_turn(size: int, seed: int) -> None:
    order = Permutation(size, seed)
    assert sorted(order[turn] for turn in range(size)) == list(range(size))


def test_seeds_give_different_orders_and_the_same_seed_the_same() -> None:
    orders = {tuple(Permutation(100, seed)[i] for i in range(100)) for seed in range(50)}
    assert len(orders) == 50
    # Fixed for all versions: a run that was begun with one version is resumed with another.
    assert [Permutation(10, 1)[i] for i in range(10)] == FIRST_OF_TEN
    assert document_order(8, 1).tolist() == FIRST_OF_EIGHT


FIRST_OF_TEN = [3, 1, 0, 4, 2, 8, 7, 9, 6, 5]
FIRST_OF_EIGHT = [3, 5, 1, 7, 6, 4, 0, 2]


def test_a_permutation_of_many_takes_no_memory_and_has_no_pattern() -> None:
    """Neighbours are far apart: on average a third of the whole, as for a fair permutation."""
    size = 10**12
    order = Permutation(size, 5)
    found = [order[turn] for turn in range(2000)]
    distance = np.abs(np.diff(np.array(found, float))).mean() / size
    assert 0.31 < distance < 0.36


@given(
    lengths=st.lists(st.integers(1, 20), max_size=30),
    head=st.integers(0, 5),
    open_end=st.booleans(),
    key=st.integers(0, 2**64 - 1),
)
def test_documents_stay_whole(lengths: list[int], head: int, open_end: bool, key: int) -> None:
    # GIVEN documents, after the rest of one that began before, and perhaps with one at the end that goes on
    starts = head + np.cumsum([0, *lengths])[:-1] if lengths else np.empty(0, int)
    tokens = np.arange(head + sum(lengths))
    # WHEN they are shuffled
    found, now = shuffled(tokens, starts, open_end, key)
    # THEN each is whole, at the place that is said, and what must stay stays
    assert sorted(found.tolist()) == tokens.tolist()
    assert found[:head].tolist() == tokens[:head].tolist()
    whole = {tuple(piece) for piece in np.split(tokens, starts)[1:]}
    assert {tuple(piece) for piece in np.split(found, now)[1:]} == whole
    if open_end and lengths:
        assert found[now[-1] :].tolist() == tokens[starts[-1] :].tolist()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shuffle") / "docs.jsonl"
    with path.open("w") as file:
        for number in range(20000):
            file.write(json.dumps({"text": f"{number} " + "word " * (number % 90)}) + "\n")
    return path


def split(path: Path) -> list[tuple[int, ...]]:
    tokens = np.fromfile(path, "<u2")
    ends = np.flatnonzero(tokens == END_OF_TEXT) + 1
    return [tuple(piece.tolist()) for piece in np.split(tokens, ends)[:-1]]


def made(documents: Path, out: Path, *options: object) -> Path:
    done = memwatch(
        "run", "--ui", "none", "tokenize", documents, "--out", out, "--val-ratio", "0.05", "--workers", 2, *options
    )
    assert done.code == 0, done.err
    return out


def test_the_documents_are_the_same_in_another_order(documents: Path, tmp_path: Path) -> None:
    plain = made(documents, tmp_path / "plain")
    first = made(documents, tmp_path / "first", "--shuffle", 1)
    other = made(documents, tmp_path / "other", "--shuffle", 2)
    in_order = split(plain / "train.bin")
    shuffles = [split(folder / "train.bin") for folder in (first, other)]
    for found in shuffles:
        assert sorted(found) == sorted(in_order)
        assert found != in_order
    assert shuffles[0] != shuffles[1]
    # THEN validation has the same documents as without --shuffle
    assert sorted(split(first / "val.bin")) == sorted(split(plain / "val.bin"))
    # AND documents come from far away: not only from the same 256 KiB
    places = {document: number for number, document in enumerate(in_order)}
    moved = [abs(places[document] - number) for number, document in enumerate(shuffles[0])]
    assert np.mean(moved) > len(in_order) / 5
    done = memwatch("verify", first, "--input", documents)
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(("--shard-by", "segment"), "a segment is a range of one input", id="segments"),
        pytest.param(("--val", "first-shard"), "--val first-shard would be other documents", id="first shard"),
    ],
)
def test_what_cannot_be_shuffled_is_refused(
    documents: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    done = memwatch("run", "--ui", "none", "tokenize", documents, "--out", tmp_path, "--shuffle", 1, *options)
    assert done.code == 2
    assert said in error_of(done)


def test_text_without_documents_is_refused(real_text: Path, tmp_path: Path) -> None:
    for options in (("--shuffle", 1), ("--index",), ("--format", "megatron")):
        done = memwatch("run", "--ui", "none", "tokenize", real_text, "--out", tmp_path, *options)
        assert done.code == 2
        assert "--documents line, blank or TEXT" in error_of(done)
    done = memwatch("run", "--ui", "none", "tokenize", "-", "--out", tmp_path, "--shuffle", 1, input="{}")
    assert done.code == 2
