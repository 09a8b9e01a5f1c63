"""Runs with vocabulary files, as a user sees them: `memwatch run tokenize --encoding FILE`."""

import json
import random
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.faults.jobs import RunningJob, contents, started_writing
from tests.guard.processes import send, wait_until
from tests.helpers import error_of, memwatch, read_tokens
from tests.texts import code, language, prose
from tests.tokenize.test_vocabulary_files import added, library, small_vocabulary
from tests.vocabularies import vocabulary

EXACT = ("--val-ratio", "0")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2 MB in six languages, one document a line, with empty ones and special tokens in them."""
    rng = random.Random(5)
    path = tmp_path_factory.mktemp("documents") / "documents.jsonl"
    texts = [prose(), code(), *(language(name) for name in ("de", "es", "ja", "zh_CN"))]
    with path.open("w") as file:
        size = 0
        while size < 2_000_000:
            text, length = rng.choice(texts), int(rng.expovariate(1 / 3000))
            start = rng.randrange(len(text) - length)
            document = text[start : start + length].decode("utf-8", "ignore")
            if rng.random() < 0.1:
                document = rng.choice(["", " ", "<s></s>", "<|endoftext|>"]) + document[:100]
            size += file.write(json.dumps({"text": document}) + "\n")
    return path


def texts_in(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "end", "dtype"),
    [
        ("llama3.json", 128001, "<u4"),
        ("mistral.model", 2, "<u2"),
        ("anthropic.json", 0, "<u2"),
        ("tekken.json", 2, "<u4"),
    ],
)
def test_one_worker_and_four_make_the_tokens_of_the_library(
    name: str, end: int, dtype: str, documents: Path, tmp_path: Path
) -> None:
    expected = [token for text in texts_in(documents) for token in (*library(name)(text), end)]
    for workers in ("1", "4"):
        out = tmp_path / workers
        done = memwatch(
            "run", "tokenize", documents, "--out", out, "--encoding", vocabulary(name), *EXACT, "--workers", workers,
            "--max-memory", "4G",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert np.array_equal(read_tokens(out / "train.bin", dtype), expected)
    said = "stored as uint16" if dtype == "<u2" else "stored as uint32"
    assert f"memwatch: vocabulary {name}: " in done.err
    assert said in done.err
    uses_reference = (
        "gigatoken cannot be used with anthropic.json (Unsupported normalizer type: NFKC); using tokenizers"
    )
    assert (uses_reference in done.err) == (name == "anthropic.json")
    verified = memwatch("verify", tmp_path / "4", "--input", documents)
    assert verified.code == 0, verified.out
    assert "sampled tokens: match" in verified.out


def test_a_text_is_cut_where_that_is_safe(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(prose() + code()[:2_000_000] + language("zh_CN")[:500_000])
    name = "qwen3.json"
    done = memwatch(
        "run",
        "tokenize",
        path,
        "--out",
        tmp_path / "out",
        "--encoding",
        vocabulary(name),
        *EXACT,
        "--block-size",
        "64k",
    )
    assert done.code == 0, done.err
    expected = library(name)(path.read_bytes().decode("utf-8", "replace"))
    assert np.array_equal(read_tokens(tmp_path / "out" / "train.bin", "<u4"), expected)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["inexact_cuts"] == 0


def test_a_text_that_cannot_be_cut_is_one_document_or_refused(tmp_path: Path) -> None:
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    small.write_bytes(prose()[:300_000])
    large.write_bytes((prose() + b"\n\n") * (1 + (17 << 20) // len(prose())))
    options = ("--encoding", vocabulary("mistral.model"), *EXACT)
    done = memwatch("run", "tokenize", small, "--out", tmp_path / "a", *options, "--block-size", "64k")
    assert done.code == 0, done.err
    assert "documents are never cut" in done.err
    expected = library("mistral.model")(small.read_text())
    assert np.array_equal(read_tokens(tmp_path / "a" / "train.bin"), expected)
    refused = memwatch("run", "tokenize", large, "--out", tmp_path / "b", *options)
    assert refused.code == 1
    assert "large.txt has a document larger than" in error_of(refused)
    assert "--documents line, blank or TEXT" in error_of(refused)


def test_a_killed_run_goes_on_with_the_same_vocabulary_only(documents: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.model"
    moved.write_bytes(vocabulary("mistral.model").read_bytes())
    whole = memwatch("run", "tokenize", documents, "--out", tmp_path / "whole", "--encoding", moved)
    assert whole.code == 0, whole.err
    out = tmp_path / "out"
    command = (documents, "--out", out, "--encoding", vocabulary("mistral.model"))
    with RunningJob(*command, "--engine", "reference", "--workers", 1, "--block-size", "64k") as running:
        wait_until(lambda: started_writing(out))
        send(running.job_tree()[0], signal.SIGKILL)
        running.finish()
    other = memwatch("run", "tokenize", documents, "--out", out, "--encoding", vocabulary("mistral_v3.model"))
    assert other.code == 1
    assert "--encoding was 'mistral.model' (SHA-256 dadfd56d766715c6...) and is now 'mistral_v3.model'" in error_of(
        other
    )
    named = memwatch("run", "tokenize", documents, "--out", out)
    assert "and is now 'gpt2'" in error_of(named)
    # THEN the same vocabulary resumes it, wherever it lies
    done = memwatch("run", "tokenize", documents, "--out", out, "--encoding", moved)
    assert done.code == 0, done.err
    assert contents(out) == contents(tmp_path / "whole")


def test_ranks_make_the_same_tokens(documents: Path, tmp_path: Path) -> None:
    name = "llama3.json"
    options = ("--encoding", vocabulary(name), *EXACT, "--shard-by", "segment", "--segment-size", "500k")
    out = tmp_path / "out"
    for rank in ("0", "1"):
        done = memwatch(
            "run", "tokenize", documents, "--out", out, *options, "--rank", rank, "--world-size", "2", "--workers", "1"
        )
        assert done.code == 0, done.err
    shards = sorted(out.glob("train_shard_*.bin"))
    assert len(shards) > 2
    expected = [token for text in texts_in(documents) for token in (*library(name)(text), 128001)]
    assert np.array_equal(np.concatenate([read_tokens(shard, "<u4") for shard in shards]), expected)
    assert memwatch("verify", out, "--input", documents).code == 0
    other = tmp_path / "renamed.json"
    other.write_bytes(vocabulary("gpt2.json").read_bytes())
    late = memwatch("run", "tokenize", documents, "--out", out, *options[2:], "--encoding", other)
    assert late.code == 1
    assert "finished output of another run" in error_of(late)


def test_estimate_counts_with_a_vocabulary_file(documents: Path) -> None:
    name = "mistral.model"
    done = memwatch("estimate", documents, "--encoding", vocabulary(name), "--json")
    assert done.code in (0, 3), done.err
    found = json.loads(done.out)
    true = sum(len(library(name)(text)) + 1 for text in texts_in(documents))
    assert (found["encoding"], found["dtype"]) == (name, "uint16")
    assert found["tokens"]["low"] * 0.9 <= true <= found["tokens"]["high"] * 1.1


def test_a_missing_end_of_text_is_asked_for(documents: Path, tmp_path: Path) -> None:
    path = small_vocabulary(tmp_path / "own.json")
    refused = memwatch("run", "tokenize", documents, "--out", tmp_path / "out", "--encoding", path)
    assert refused.code == 2
    assert "own.json does not say which token ends a document; name it with --eot" in error_of(refused)
    done = memwatch("run", "tokenize", documents, "--out", tmp_path / "out", "--encoding", path, "--eot", "0", *EXACT)
    assert done.code == 0, done.err
    assert read_tokens(tmp_path / "out" / "train.bin")[-1] == 0


def test_a_token_that_texts_have_may_end_documents(tmp_path: Path) -> None:
    """Where documents are not marked, it stays in the texts."""
    path = small_vocabulary(tmp_path / "own.json", added_tokens=[added("<x>", 300, True)])
    source = tmp_path / "a.jsonl"
    source.write_text('{"text": "a b"}\n{"text": " "}\n')
    space = json.loads(path.read_text())["model"]["vocab"]["Ġ"]
    options = ("--encoding", path, "--eot", space, *EXACT, "--documents", "none")
    done = memwatch("run", "tokenize", source, "--out", tmp_path / "out", *options)
    assert done.code == 0, done.err
    assert read_tokens(tmp_path / "out" / "train.bin").tolist().count(space) == 2


def test_options_of_vocabulary_files_are_refused_with_a_named_encoding(documents: Path, tmp_path: Path) -> None:
    for options in (("--eot", "5"), ("--pretokenizer", "gpt2")):
        refused = memwatch("run", "tokenize", documents, "--out", tmp_path, *options)
        assert refused.code == 2
        assert "is for vocabulary files" in error_of(refused)
    missing = memwatch("run", "tokenize", documents, "--out", tmp_path, "--encoding", tmp_path / "none.json")
    assert missing.code == 2
    assert "or a vocabulary file" in error_of(missing)


def test_a_document_that_takes_more_memory_than_a_worker_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    long = json.dumps({"text": code()[:1_000_000].decode("utf-8", "ignore")})
    path.write_text('{"text": "short"}\n' * 10 + long + "\n")
    options = ("--encoding", vocabulary("anthropic.json"), *EXACT, "--workers", "1")
    refused = memwatch("run", "tokenize", path, "--out", tmp_path / "out", *options, "--max-memory", "256M")
    assert refused.code == 1
    assert "has a document of 9" in error_of(refused)
    assert "raise --max-memory, use fewer --workers" in error_of(refused)
    done = memwatch("run", "tokenize", path, "--out", tmp_path / "out", *options, "--max-memory", "1G")
    assert done.code == 0, done.err
