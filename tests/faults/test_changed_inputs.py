"""Every format of input: killed at random it ends byte-identical; changed, it goes on from what is the same."""

import gzip
import itertools
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.faults.jobs import PARTIAL, SLOW, RunningJob, contents, started_writing
from tests.guard.processes import send, state_of, wait_until
from tests.helpers import Finished, error_of, memwatch
from tests.tokenize.inputs.made import arrow_stream, jsonl, parquet, table, tar, zipped

Run = Callable[..., Finished]
OPTIONS = ("--val-ratio", "0.02")
MORE = [f"one more document, number {i}" for i in range(2000)]


def _halves(texts: list[str], suffix: str = ".jsonl") -> list[tuple[str, bytes]]:
    """Whatever comes later is another member."""
    ends = (0, 900, 901, len(texts))
    return [(f"{i}{suffix}", jsonl(texts[start:end])) for i, (start, end) in enumerate(itertools.pairwise(ends))]


MADE: dict[str, Callable[[list[str]], bytes]] = {
    "a.txt": lambda texts: "\n".join(texts).encode(),
    "a.jsonl": jsonl,
    "a.jsonl.gz": lambda texts: gzip.compress(jsonl(texts), 1),
    "a.tar.gz": lambda texts: gzip.compress(tar(*_halves(texts)), 1),
    "a.zip": lambda texts: zipped(*_halves(texts)),
    "a.parquet": lambda texts: parquet(table(texts), 500),
    "a.arrow": lambda texts: arrow_stream(table(texts, pa.large_string()), 200),
}


@pytest.fixture(scope="module")
def texts(real_text: Path) -> list[str]:
    return [text for text in real_text.read_text()[:3_000_000].split("\n\n") if text]


@pytest.fixture(scope="module")
def expected(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, list[str]], dict[str, bytes]]:
    """What an undisturbed run makes of texts in a format."""
    found: dict[tuple[str, int], dict[str, bytes]] = {}

    def make(name: str, wanted: list[str]) -> dict[str, bytes]:
        if (name, len(wanted)) not in found:
            folder = tmp_path_factory.mktemp("expected")
            (folder / name).write_bytes(MADE[name](wanted))
            done = memwatch("run", "tokenize", folder / name, "--out", folder / "out", *OPTIONS)
            assert done.code == 0, done.err
            found[name, len(wanted)] = contents(folder / "out")
        return found[name, len(wanted)]

    return make


Expected = Callable[[str, list[str]], dict[str, bytes]]


@pytest.mark.parametrize("name", MADE)
def test_killed_at_random_moments_every_format_ends_byte_identical(
    name: str, texts: list[str], expected: Expected, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(f"{name} {os.environ.get('MEMWATCH_SEED', '1')}")
    source, out = tmp_path / name, tmp_path / "out"
    source.write_bytes(MADE[name](texts))
    command = (source, "--out", out, *OPTIONS)
    for _ in range(request.config.getoption("--kills") // 6):
        speed = SLOW if chance.random() < 0.7 else ("--workers", chance.randint(1, 3), "--block-size", "32k")
        with RunningJob(*command, *speed) as running:
            time.sleep(chance.choice([0.3, 0.8, 1.5, 2.5]) * chance.uniform(0.5, 1.5))
            victims = running.tree()
            send(chance.choice(victims), signal.SIGKILL)
            _, err = running.finish()
            assert "Traceback" not in err
            wait_until(lambda: not any(state_of(pid) for pid in victims), "everyone has ended")  # noqa: B023
        if (out / "manifest.json").exists():
            assert contents(out) == expected(name, texts)
            shutil.rmtree(out)
    if not (out / "manifest.json").exists():
        done = memwatch("run", "tokenize", *command)
        assert done.code == 0, done.err
    assert contents(out) == expected(name, texts)


@pytest.mark.parametrize("name", MADE)
def test_workers_and_modes_make_the_same_bytes(
    name: str, texts: list[str], expected: Expected, tokenize: Run, tmp_path: Path
) -> None:
    source = tmp_path / name
    source.write_bytes(MADE[name](texts))
    for number, options in enumerate((("--workers", 3, "--block-size", "20k"), ("--mode", "shard"))):
        out = tmp_path / str(number)
        assert tokenize(source, "--out", out, *OPTIONS, *options, "--shard-tokens", "200k").code == 0
        found = contents(out)
        train = b"".join(found[each] for each in sorted(found) if each.startswith("train"))
        assert (train, found["val.bin"]) == (expected(name, texts)["train.bin"], expected(name, texts)["val.bin"])


@pytest.fixture
def stopped(texts: list[str], tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    """A partial run over texts in a format: its input and its output folder."""

    def make(name: str) -> tuple[Path, Path]:
        source, out = tmp_path / name, tmp_path / "out"
        source.write_bytes(MADE[name](texts))
        with RunningJob(source, "--out", out, *OPTIONS, *SLOW) as running:
            wait_until(lambda: started_writing(out))
            send(running.process.pid, signal.SIGINT)
            running.finish()
        position = json.loads((out / PARTIAL / "checkpoint.json").read_text())["position"]
        assert position["offset"] > 0
        assert position["digest"]
        return source, out

    return make


Stopped = Callable[[str], tuple[Path, Path]]


@pytest.mark.parametrize("name", MADE)
def test_an_appended_input_goes_on_from_what_is_the_same(
    name: str, texts: list[str], stopped: Stopped, expected: Expected, tokenize: Run
) -> None:
    source, out = stopped(name)
    source.write_bytes(MADE[name]([*texts, *MORE]))
    refused = tokenize(source, "--out", out, *OPTIONS)
    assert refused.code == 1
    assert "--resume-changed goes on if what was read is still the same" in refused.err
    done = tokenize(source, "--out", out, *OPTIONS, "--resume-changed")
    assert done.code == 0, done.err
    assert "resuming at" in done.err
    assert contents(out) == expected(name, [*texts, *MORE])


@pytest.mark.parametrize("name", MADE)
def test_a_change_in_what_was_read_is_refused(name: str, texts: list[str], stopped: Stopped, tokenize: Run) -> None:
    source, out = stopped(name)
    source.write_bytes(MADE[name](["X" + texts[0][1:], *texts[1:]]))
    done = tokenize(source, "--out", out, *OPTIONS, "--resume-changed")
    assert done.code == 1
    # The note that the input is compared comes another way than the error, and may be printed after it.
    assert "Traceback" not in done.err
    assert str(source) in done.err
    assert "--fresh" in done.err


@pytest.mark.parametrize("name", MADE)
def test_a_new_time_stamp_refuses_nothing(
    name: str, texts: list[str], stopped: Stopped, expected: Expected, tokenize: Run
) -> None:
    source, out = stopped(name)
    os.utime(source, ns=(1, 1))
    done = tokenize(source, "--out", out, *OPTIONS)
    assert done.code == 0, done.err
    assert contents(out) == expected(name, texts)


def test_a_time_stamp_that_hides_a_change_is_refused(stopped: Stopped, tokenize: Run) -> None:
    """The fingerprint is of pieces; what was read is compared as a whole."""
    source, out = stopped("a.txt")
    data = bytearray(source.read_bytes())
    data[5000] ^= 1
    source.write_bytes(data)
    done = tokenize(source, "--out", out, *OPTIONS)
    assert done.code == 1
    assert "has changed contents" in done.err


def test_an_input_that_is_touched_during_the_run_is_published(
    texts: list[str], expected: Expected, tmp_path: Path
) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    source.write_bytes(MADE["a.jsonl"](texts))
    with RunningJob(source, "--out", out, *OPTIONS, *SLOW) as running:
        wait_until(lambda: started_writing(out))
        source.touch()
        code, err = running.finish()
    assert code == 0, err
    assert contents(out) == expected("a.jsonl", texts)


def test_a_broken_line_is_mended_or_skipped_and_the_run_goes_on(
    texts: list[str], expected: Expected, tokenize: Run, tmp_path: Path
) -> None:
    # GIVEN a run that has stopped at a broken line
    lines = jsonl(texts).splitlines(keepends=True)
    middle = len(lines) // 2
    source = tmp_path / "a.jsonl"
    source.write_bytes(b"".join([*lines[:middle], lines[middle][:20] + b"\n", *lines[middle + 1 :]]))
    for folder in ("mended", "skipped"):
        done = tokenize(source, "--out", tmp_path / folder, *OPTIONS, *SLOW)
        assert done.code == 1
        assert f"line {middle + 1} of {source} is not JSON" in error_of(done)
    # WHEN it is skipped THEN the manifest lists it
    skipped = tmp_path / "skipped"
    assert tokenize(source, "--out", skipped, *OPTIONS, "--bad-records", "skip").code == 0
    found = json.loads((skipped / "manifest.json").read_text())["bad_records"]
    assert found["skipped"] == 1
    assert [(each["file"], each["line"]) for each in found["first"]] == [(str(source), middle + 1)]
    # WHEN it is mended THEN the run goes on, as if it had been right from the start
    source.write_bytes(b"".join(lines))
    done = tokenize(source, "--out", tmp_path / "mended", *OPTIONS, "--resume-changed")
    assert done.code == 0, done.err
    assert contents(tmp_path / "mended") == expected("a.jsonl", texts)
