"""The recipes, each as its own first lines say to run it, on small data."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Reference
from tests.helpers import HANG_S, Finished, memwatch, read_tokens

RECIPES = Path(__file__).parent.parent / "recipes"
END_OF_TEXT = 50256


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, a state folder of its own, and `memwatch` and `python` where a shell finds them."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    return folder


def recipe(name: str, *arguments: object) -> Finished:
    interpreter = "sh" if name.endswith(".sh") else sys.executable
    command = [interpreter, str(RECIPES / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)


def like_fineweb(path: Path, texts: list[str]) -> None:
    """FineWeb's columns, in its order."""
    count = len(texts)
    columns = {
        "text": texts,
        "id": [f"<urn:uuid:{number:08x}>" for number in range(count)],
        "dump": ["CC-MAIN-2024-10"] * count,
        "url": [f"https://example.org/{number}" for number in range(count)],
        "date": ["2024-02-21T01:02:03Z"] * count,
        "file_path": ["s3://commoncrawl/crawl-data/CC-MAIN-2024-10/x.warc.gz"] * count,
        "language": ["en"] * count,
        "language_score": [0.97] * count,
        "token_count": [len(text) // 4 for text in texts],
    }
    pq.write_table(pa.table(columns), path)


def test_fineweb_becomes_what_nanogpt_reads(work: Path, real_text: Path, gpt2_reference: Reference) -> None:
    texts = real_text.read_text().split("\n\n\n")
    half = len(texts) // 2
    (work / "fineweb").mkdir()
    like_fineweb(work / "fineweb" / "000_00000.parquet", texts[:half])
    like_fineweb(work / "fineweb" / "001_00000.parquet", texts[half:])
    done = recipe("fineweb_to_nanogpt.sh", "fineweb", "data")
    assert done.code == 0, done.err
    assert "match tiktoken" in done.out
    expected = [token for text in texts for token in [*gpt2_reference(text), END_OF_TEXT]]
    made = np.memmap("data/train.bin", dtype=np.uint16, mode="r"), np.memmap("data/val.bin", dtype=np.uint16, mode="r")
    assert sum(map(len, made)) == len(expected)
    assert sorted(np.concatenate(made).tolist()) == sorted(expected)
    assert all(split[-1] == END_OF_TEXT for split in made)
    shares = [float(share) for share in re.findall(r"^ *([\d.]+) %", done.err, re.MULTILINE)]
    assert shares
    assert max(shares) <= 100


def test_text_becomes_shards_for_llmc(work: Path, real_text: Path) -> None:
    (work / "book.txt").write_bytes(real_text.read_bytes())
    done = recipe("text_to_llmc.sh", "book.txt", "shards", "300k")
    assert done.code == 0, done.err
    files = sorted((work / "shards").glob("*.bin"))
    assert [file.name for file in files[:2]] == ["book_train_000001.bin", "book_train_000002.bin"]
    assert files[-1].name == "book_val_000000.bin"
    for file in files:
        header = np.fromfile(file, dtype="<i4", count=256)
        tokens = read_tokens(file, offset=1024)
        assert header[:3].tolist() == [20240520, 1, len(tokens)]
        assert not header[3:].any()
    assert read_tokens(files[0], offset=1024)[0] == END_OF_TEXT


def test_a_guarded_script_keeps_its_output_and_its_code(work: Path) -> None:
    (work / "theirs.py").write_text(
        "import sys; print('made'); print('said', file=sys.stderr); sys.exit(int(sys.argv[1]))"
    )
    done = recipe("guard_a_script.sh", sys.executable, "theirs.py", "7")
    assert (done.code, done.out) == (7, "made\n")
    assert "said" in done.err


def test_a_guarded_script_that_was_stopped_is_explained(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the guard stops a hog is tested in faults/; here a stand-in says that it did."""
    (work / "memwatch").write_text(f'#!/bin/sh\n[ "$1" = run ] && exit 124\nexec {sys.executable} -m memwatch "$@"\n')
    (work / "memwatch").chmod(0o755)
    memwatch("run", "--", "true")
    monkeypatch.setenv("PATH", f"{work}{os.pathsep}{os.environ['PATH']}")
    done = recipe("guard_a_script.sh", "true")
    assert done.code == 124
    assert "stopped to protect the machine's memory" in done.err
    assert "LOOKED AT" in done.err


def test_a_script_with_the_job_api_runs_under_guard_and_without(work: Path) -> None:
    alone = recipe("job_api.py", "alone.txt", "--count", 20_000)
    guarded = memwatch("run", "--", sys.executable, RECIPES / "job_api.py", "guarded.txt", "--count", 20_000)
    assert (alone.code, guarded.code) == (0, 0)
    assert (work / "alone.txt").read_text() == (work / "guarded.txt").read_text()
    assert "100.0 %  20.0 k of 20.0 k squares" in guarded.err


def test_a_run_becomes_a_page_and_a_table(work: Path) -> None:
    memwatch("run", "--", sys.executable, "-c", "import time; held = bytearray(80 << 20); time.sleep(2.5)")
    done = recipe("read_report.sh")
    assert done.code == 0, done.err
    assert re.search(r"peak memory of the job: \d+ MiB at \d{4}-", done.out)
    assert re.search(r"lowest available memory: [\d,]+ MiB at \d{4}-", done.out)
    assert (work / "run.html").read_text().startswith("<!doctype html>")
    with open(work / "run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert max(int(row["job_rss_bytes"] or 0) for row in rows) > 80 << 20


def test_a_table_without_rows_is_said_to_be_empty(work: Path) -> None:
    (work / "run.csv").write_text("time_utc,clock_s\n")
    done = recipe("peaks.py", "run.csv")
    assert done.code == 1
    assert done.err == "run.csv: the run ended before the first sample\n"


def test_text_to_try_things_with_is_of_the_size_asked_for(work: Path) -> None:
    assert recipe("make_text.py", "demo/text.txt", "--mib", 1).code == 0
    assert 1 << 20 <= (work / "demo" / "text.txt").stat().st_size < 2 << 20


def test_the_slurm_script_tokenizes_as_an_array_task(
    work: Path, real_text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Slurm runs it. The other task of the array never comes, so this one does all."""
    for name, value in {"ARRAY_TASK_ID": "1", "ARRAY_TASK_COUNT": "2", "CPUS_PER_TASK": "1"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    script = ["bash", str(RECIPES / "tokenize.sbatch"), str(real_text), "shared"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    assert {"manifest.json", "train_shard_0000.bin", "val.bin"} <= {path.name for path in (work / "shared").iterdir()}


def test_the_kubernetes_job_counts_its_pods_once() -> None:
    text = (RECIPES / "kubernetes_job.yaml").read_text()
    completions = re.search(r"completions: (\d+)", text)
    world_size = re.search(r"--world-size (\d+)", text)
    assert completions is not None
    assert world_size is not None
    assert completions[1] == world_size[1]


def test_every_recipe_is_listed_and_says_what_it_is_for() -> None:
    """The service is tested in recorder/test_unit.py."""
    listed = set(re.findall(r"^\| \[(.+?)\]\(\1\)", (RECIPES / "README.md").read_text(), re.MULTILINE))
    kinds = (".sh", ".py", ".service", ".sbatch", ".yaml")
    there = {file.name for file in RECIPES.iterdir() if file.suffix in kinds}
    assert listed == there
    for name in there:
        first = (RECIPES / name).read_text().removeprefix("#!/bin/sh\n").removeprefix("#!/bin/bash\n").splitlines()[0]
        assert first.startswith(("# ", '"""')), name
