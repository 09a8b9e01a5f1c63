"""Every format and option of the output: the same bytes for any number of workers, and after any kill."""

import json
import random
import signal
import time
from pathlib import Path

import pytest

from tests.faults.jobs import SLOW, RunningJob, contents
from tests.guard.processes import send, state_of, wait_until
from tests.helpers import memwatch

KILLS = 4
SHARDS = ("--mode", "shard", "--shard-tokens", "200k")
OPTIONS = {
    "megatron": ("--format", "megatron"),
    "megatron in shards": ("--format", "megatron", *SHARDS),
    "llmc with an index": ("--format", "llmc", "--shard-tokens", "200k", "--index"),
    "bin with an index": ("--index",),
    "shuffled": ("--shuffle", "7"),
    "shuffled megatron in shards": ("--shuffle", "7", "--format", "megatron", *SHARDS),
    "shuffled npy with an index": ("--shuffle", "8", "--format", "npy", "--shard-tokens", "200k", "--index"),
    "tail": ("--val", "tail"),
    "first shard": ("--val", "first-shard", *SHARDS),
    "first shard of megatron": ("--val", "first-shard", "--format", "megatron", *SHARDS),
}
RATIO = ("--val-ratio", "0.01")


@pytest.fixture(scope="module")
def inputs(real_text: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The real text as documents: most of it as jsonl, the rest compressed and as parquet, which are read otherwise."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    import gzip

    folder = tmp_path_factory.mktemp("inputs")
    texts = real_text.read_text().split("\n\n")
    records = [json.dumps({"text": text}) for text in texts]
    paths = [folder / "a.jsonl", folder / "b.jsonl.gz", folder / "c.parquet"]
    paths[0].write_text("\n".join(records[: len(records) // 2]) + "\n")
    paths[1].write_bytes(gzip.compress("\n".join(records[len(records) // 2 : len(records) * 3 // 4]).encode()))
    rest = texts[len(records) * 3 // 4 :]
    parquet.write_table(pyarrow.table({"text": rest}), paths[2], row_group_size=max(len(rest) // 5, 1))
    return paths


def ratio_for(options: tuple[str, ...]) -> tuple[str, ...]:
    return () if "first-shard" in options else RATIO


def made(inputs: list[Path], out: Path, *options: object) -> dict[str, bytes]:
    done = memwatch("run", "--ui", "none", "tokenize", *inputs, "--out", out, *options)
    assert done.code == 0, done.err
    return contents(out)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_bytes_are_the_same_for_any_number_of_workers_and_after_kills(
    name: str, inputs: list[Path], tmp_path: Path
) -> None:
    options = (*OPTIONS[name], *ratio_for(OPTIONS[name]))
    expected = made(inputs, tmp_path / "1", *options, "--workers", 1)
    assert expected
    for workers in (2, 4):
        assert made(inputs, tmp_path / str(workers), *options, "--workers", workers, "--block-size", "64k") == expected
    # WHEN a run is killed some times, with few and many workers
    chance, out = random.Random(name), tmp_path / "killed"
    for _ in range(KILLS):
        with RunningJob(*inputs, "--out", out, *options, *SLOW) as running:
            time.sleep(chance.uniform(0.3, 2.5))
            victims = running.tree()
            if (out / "manifest.json").exists():
                break
            send(chance.choice(victims), signal.SIGKILL)
            _, err = running.finish()
            assert "Traceback" not in err
            wait_until(lambda: not any(state_of(pid) for pid in victims), "everyone has ended")  # noqa: B023
    if not (out / "manifest.json").exists():
        made(inputs, out, *options, "--workers", 2)
    # THEN its files are those of a run without interruption
    assert contents(out) == expected
    assert memwatch("verify", out, *(f"--input={path}" for path in inputs)).code == 0


def test_a_run_that_switches_to_shards_keeps_megatron_documents_whole(inputs: list[Path], tmp_path: Path) -> None:
    from tests.loaders.readers import MegatronDataset

    expected = made(inputs, tmp_path / "stream", "--format", "megatron", *RATIO)
    out = tmp_path / "switched"
    with RunningJob(*inputs, "--out", out, "--format", "megatron", *RATIO, *SLOW) as running:
        part = out / ".memwatch-partial" / "train_0000.part"
        wait_until(lambda: part.exists() and part.stat().st_size > 0)
        send(running.job(), signal.SIGUSR1)
        code, err = running.finish()
    assert code == 0, err
    shards = sorted(out.glob("train_shard_*.bin"))
    assert len(shards) > 1
    assert b"".join(path.read_bytes() for path in shards) == expected["train.bin"]
    for path in shards:
        dataset = MegatronDataset(path.with_suffix(""))
        assert sum(dataset.lengths) == len(dataset.tokens)
        assert all(dataset[i][-1] == 50256 for i in range(len(dataset)))
