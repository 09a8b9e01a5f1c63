"""The files of `memwatch run tokenize`, read as training programs read them."""

import json
import random
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from memwatch.tokenize.formats.format_registry import FORMATS
from tests.helpers import memwatch
from tests.loaders.readers import (
    Batch,
    BatchShape,
    MegatronDataset,
    build_nanogpt_batches,
    llmc_batches,
    llmc_shard,
    nanogpt_windows,
)

END_OF_TEXT = 50256
SHARD_TOKENS = (10_000, 37_123)
VAL = ("--val-ratio", "0.1")
Reference = Callable[[str], list[int]]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2000 documents, each of which begins with its own number."""
    chance = random.Random(4)
    words = ["the", "quick", "fox", "jumps", "over", "éclairs", "cost", "12.50", "in", "Paris,", "naïve", "日本語"]
    path = tmp_path_factory.mktemp("documents") / "docs.jsonl"
    with path.open("w") as file:
        for number in range(2000):
            text = " ".join(chance.choices(words, k=chance.choice([0, 5, 40, 120])))
            file.write(json.dumps({"text": f"{number}: {text}"}) + "\n")
    return path


@pytest.fixture(scope="module")
def expected(documents: Path, gpt2_reference: Reference) -> dict[int, list[int]]:
    texts = [json.loads(line)["text"] for line in documents.read_text().splitlines()]
    return {number: gpt2_reference(text) for number, text in enumerate(texts)}


def made(documents: Path, out: Path, *options: object) -> Path:
    done = memwatch("run", "--ui", "none", "tokenize", documents, "--out", out, "--workers", 2, *VAL, *options)
    assert done.code == 0, done.err
    return out


def split_into_documents(tokens: Iterable[int], begins: bool) -> list[list[int]]:
    """At the end-of-text tokens, which stand before each document or after it."""
    found: list[list[int]] = [[]]
    for token in tokens:
        if token == END_OF_TEXT:
            found.append([])
        else:
            found[-1].append(token)
    outside = found.pop(0 if begins else -1)
    assert outside == []
    return found


def check_every_document_is_there_once(
    train: list[list[int]], val: list[list[int]], expected: dict[int, list[int]]
) -> None:
    assert train
    assert val
    assert sorted([*train, *val]) == sorted(expected.values())
    assert not {tuple(document) for document in train} & {tuple(document) for document in val}


def check_no_token_is_seen_twice(
    batches: dict[int, list[Batch]], shape: BatchShape, sizes: dict[Path, int], dropped_batches: int
) -> None:
    """All processes together see every token of a file once, but for the last ones: those that fill no batch, and those
    of so many batches of all processes that a loader drops."""
    seen = {path: np.zeros(size, int) for path, size in sizes.items()}
    for of_rank in batches.values():
        for batch in of_rank:
            assert batch.inputs.shape == batch.targets.shape == (shape.sequences, shape.length)
            seen[batch.file][batch.start : batch.start + shape.tokens] += 1
    together = shape.tokens * shape.processes
    for path, counts in seen.items():
        used = ((sizes[path] - 1) // together - dropped_batches) * together
        assert (counts[:used] == 1).all(), path
        assert (counts[used:] <= 1).all(), path


@pytest.mark.parametrize("shard_tokens", SHARD_TOKENS)
def test_llmc(documents: Path, expected: dict[int, list[int]], tmp_path: Path, shard_tokens: int) -> None:
    out = made(documents, tmp_path, "--format", "llmc", "--shard-tokens", shard_tokens, "--index")
    texts = {}
    for split in ("train", "val"):
        files = sorted(out.glob(f"docs_{split}_*.bin"))
        tokens = {path: llmc_shard(path) for path in files}
        texts[split] = split_into_documents(np.concatenate(list(tokens.values())).tolist(), begins=True)
        for processes in (1, 2, 3):
            shape = BatchShape(2, 64, processes=processes)
            batches = {
                rank: list(llmc_batches(out, f"docs_{split}_*.bin", BatchShape(2, 64, rank, processes)))
                for rank in range(processes)
            }
            check_no_token_is_seen_twice(
                batches, shape, {path: len(each) for path, each in tokens.items()}, dropped_batches=0
            )
    check_every_document_is_there_once(texts["train"], texts["val"], expected)


@pytest.mark.parametrize("shard_tokens", SHARD_TOKENS)
def test_build_nanogpt(documents: Path, expected: dict[int, list[int]], tmp_path: Path, shard_tokens: int) -> None:
    """With --index, whose files its loader must not take for shards."""
    out = made(documents, tmp_path, "--format", "npy", "--shard-tokens", shard_tokens, "--index")
    texts = {}
    for split in ("train", "val"):
        tokens = {path: np.load(path) for path in sorted(out.glob(f"*_{split}_*.npy"))}
        texts[split] = split_into_documents(np.concatenate(list(tokens.values())).tolist(), begins=True)
        for processes in (1, 2, 3):
            shape = BatchShape(2, 64, processes=processes)
            batches = {
                rank: list(build_nanogpt_batches(out, split, BatchShape(2, 64, rank, processes)))
                for rank in range(processes)
            }
            # Processes but the first leave a file one batch before they would have to.
            sizes = {path: len(each) for path, each in tokens.items()}
            check_no_token_is_seen_twice(batches, shape, sizes, dropped_batches=int(processes > 1))
    check_every_document_is_there_once(texts["train"], texts["val"], expected)


def test_nanogpt(documents: Path, expected: dict[int, list[int]], tmp_path: Path) -> None:
    out = made(documents, tmp_path, "--index")
    texts = {}
    for split in ("train", "val"):
        path = out / f"{split}.bin"
        windows = list(nanogpt_windows(path, 1024))
        tokens = np.fromfile(path, np.uint16)
        assert windows[-1].targets[-1] == tokens[-1], "the last token can be drawn"
        assert all(
            np.array_equal(each.inputs[1:], each.targets[:-1]) for each in windows[:: max(len(windows) // 50, 1)]
        )
        texts[split] = split_into_documents(tokens.tolist(), begins=False)
    check_every_document_is_there_once(texts["train"], texts["val"], expected)


@pytest.mark.parametrize("options", [(), *(("--mode", "shard", "--shard-tokens", n) for n in SHARD_TOKENS)])
def test_megatron(documents: Path, expected: dict[int, list[int]], tmp_path: Path, options: tuple[object, ...]) -> None:
    out = made(documents, tmp_path, "--format", "megatron", *options)
    texts: dict[str, list[list[int]]] = {"train": [], "val": []}
    files = sorted(out.glob("*.idx"))
    assert {path.stem for path in files} == {path.stem for path in out.glob("*.bin")}
    for path in files:
        dataset = MegatronDataset(path.with_suffix(""))
        # Every token belongs to one sequence, in order, and every sequence is a document of its own.
        assert np.array_equal(np.concatenate([dataset[i] for i in range(len(dataset))]), dataset.tokens)
        assert dataset.documents.tolist() == list(range(len(dataset) + 1))
        split = "val" if path.stem == "val" else "train"
        for i in range(len(dataset)):
            *text, end = dataset[i].tolist()
            assert end == END_OF_TEXT
            texts[split].append(text)
        if options and split == "train" and path != files[-2]:
            # A shard ends with the document that reaches its size.
            assert len(dataset.tokens) >= int(str(options[-1])) > len(dataset.tokens) - dataset.lengths[-1]
    check_every_document_is_there_once(texts["train"], texts["val"], expected)


@pytest.mark.parametrize("kind", [name for name, each in FORMATS.items() if not each.has_own_index])
@pytest.mark.parametrize("shard_tokens", SHARD_TOKENS)
def test_the_index_says_where_every_document_begins(
    documents: Path, expected: dict[int, list[int]], tmp_path: Path, kind: str, shard_tokens: int
) -> None:
    """A document that begins in one shard may end in the next."""
    out = made(
        documents, tmp_path, "--format", kind, "--mode", "shard", "--shard-tokens", shard_tokens, "--index"
    )  # fmt: skip
    records = json.loads((out / "manifest.json").read_text())["files"]
    begins = FORMATS[kind].begins_documents
    found = {}
    for split in ("train", "val"):
        names = [record["name"] for record in records if record["split"] == split and record["holds"] == "tokens"]
        indexes = [record["name"] for record in records if record["split"] == split and record["holds"] == "index"]
        assert len(names) == len(indexes)
        starts: list[npt.NDArray[np.int64]] = []
        tokens: list[npt.NDArray[np.uint16]] = []
        for name, index in zip(names, indexes, strict=True):
            starts.append(np.load(out / index, mmap_mode="r") + sum(map(len, tokens)))
            tokens.append(np.fromfile(out / name, "<u2", offset=FORMATS[kind].header_bytes))
        bounds = [*np.concatenate(starts).tolist(), sum(map(len, tokens))]
        assert bounds[0] == 0
        together = np.concatenate(tokens).tolist()
        pieces = [together[a:b] for a, b in pairwise(bounds)]
        assert all(piece[0 if begins else -1] == END_OF_TEXT for piece in pieces)
        found[split] = [piece[1:] if begins else piece[:-1] for piece in pieces]
    check_every_document_is_there_once(found["train"], found["val"], expected)


@pytest.mark.parametrize("kind", list(FORMATS))
def test_a_file_that_is_too_short_fails_in_the_readers(kind: str, tmp_path: Path) -> None:
    """Otherwise the tests above would prove nothing."""
    names = {"llmc": "x_train_000001.bin", "npy": "x_train_000001.npy", "bin": "train.bin", "megatron": "train.bin"}
    path = tmp_path / names[kind]
    path.write_bytes(FORMATS[kind].header(100, 2) + bytes(200))
    if kind == "llmc":
        with pytest.raises(AssertionError):
            list(llmc_batches(tmp_path, "*_train_*", BatchShape(1, 100)))
    elif kind == "npy":
        with pytest.raises(ValueError, match="reshape"):
            list(build_nanogpt_batches(tmp_path, "train", BatchShape(1, 100)))
    elif kind == "bin":
        with pytest.raises(AssertionError):
            list(nanogpt_windows(path, 100))
    else:
        with pytest.raises(FileNotFoundError):
            MegatronDataset(path.with_suffix(""))
