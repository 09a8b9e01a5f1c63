"""The smaller parts: the plan, progress, positions, checkpoints, inputs, the channel."""

import json
import socket
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.cli.plain import progress_line
from memwatch.errors import MemwatchError, UsageError
from memwatch.job import Channel
from memwatch.model.sample import Limit, Memory, Sample
from memwatch.model.units import GIB, MIB
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.checkpoint import Checkpoint, Totals, load, save
from memwatch.tokenize.inputs.finding import expand, look_at
from memwatch.tokenize.output_state import FileRecord, OutputState, PartState
from memwatch.tokenize.plan import (
    COORDINATOR_BYTES,
    UNDER_WAY_BYTES,
    WORST_GROWTH_BYTES,
    Plan,
    ReadingMemory,
    plan,
    usual_limit_bytes,
)
from memwatch.tokenize.progress_report import Meter
from memwatch.tokenize.settings import DEFAULT_MAX_MEMORY_BYTES, TokenizeSettings
from memwatch.tokenize.sizing import Expected

NOTHING_MORE = ReadingMemory()


@given(
    limit=st.integers(16 * MIB, 1 << 36),
    workers=st.one_of(st.none(), st.integers(1, 256)),
    cores=st.integers(1, 256),
    parquet=st.booleans(),
)
def test_a_plan_keeps_within_the_limit(limit: int, workers: int | None, cores: int, parquet: bool) -> None:
    reading = ReadingMemory(50 * MIB, 80 * MIB) if parquet else NOTHING_MORE
    try:
        found = plan(limit, workers, cores, 2, reading)
    except UsageError:
        return
    assert found.workers == workers if workers else 1 <= found.workers <= cores
    each = found.worker_budget_bytes + WORST_GROWTH_BYTES + UNDER_WAY_BYTES
    assert COORDINATOR_BYTES + reading.once_bytes + found.workers * each <= limit


@pytest.mark.parametrize(
    ("cores", "available_gib", "workers"), [(16, 60, 16), (64, 250, 64), (4, 6, 4), (8, 4, 3), (2, 1, 1)]
)
def test_all_cores_work_on_a_machine_with_the_memory_for_them(cores: int, available_gib: int, workers: int) -> None:
    machine = Sample(0.0, 0.0, Memory(available_gib * GIB * 8 // 7, available_gib * GIB, 0, 0))
    limit = usual_limit_bytes(machine, None, cores, 2, NOTHING_MORE)
    assert limit <= max(available_gib * GIB // 8, 204 * MIB)
    assert plan(limit, None, cores, 2, NOTHING_MORE).workers == workers


def test_workers_that_read_rows_may_keep_what_their_allocator_frees() -> None:
    """Less was handed back and taken again: 24 times in 1.2 GB of parquet, which took a fifth longer."""
    machine = Sample(0.0, 0.0, Memory(24 * GIB, 22 * GIB, 0, 0))
    rows, kept = ReadingMemory(0, 80 * MIB), ReadingMemory(0, 80 * MIB, 160 * MIB)
    budgets = [
        plan(usual_limit_bytes(machine, 2, 2, 2, reading), 2, 2, 2, reading).worker_budget_bytes
        for reading in (rows, kept)
    ]
    assert budgets[1] - budgets[0] == 160 * MIB


def test_as_many_workers_as_asked_for_get_the_memory_they_need() -> None:
    machine = Sample(0.0, 0.0, Memory(4 * GIB, 2 * GIB, 0, 0))
    limit = usual_limit_bytes(machine, 6, 2, 2, NOTHING_MORE)
    assert plan(limit, 6, 2, 2, NOTHING_MORE).workers == 6


@pytest.mark.parametrize(
    ("total", "expected"), [(None, MIB), (5 * MIB, MIB), (80 * MIB, 80 * MIB // 32), (9**12, 4 * MIB)]
)
def test_tasks_are_large_where_there_are_many(total: int | None, expected: int) -> None:
    assert Plan(2, 0, 0, task_blocks=4).task_bytes(MIB, total) == expected


def test_progress_projects_from_what_was_sampled_and_what_was_counted() -> None:
    meter = Meter(total_bytes=1000, token_bytes=2, expected=Expected(((0, 0.0), (1000, 250.0)), is_packed=False))
    assert meter.report(0.0, 0, 0)["projected_tokens"] == 250
    half = meter.report(5.0, 500, 200)
    assert half["projected_tokens"] == 325
    assert half["projected_output_bytes"] == 650
    assert half["rate"] == 100
    assert half["eta_s"] == 5


def test_progress_knows_where_the_text_is_denser() -> None:
    expected = Expected(((0, 0.0), (500, 100.0), (1000, 400.0)), is_packed=False)
    meter = Meter(total_bytes=1000, token_bytes=2, expected=expected)
    assert meter.projected_tokens(0, 0) == 400
    assert meter.projected_tokens(500, 100) == 400
    assert meter.projected_tokens(750, 260) == 410
    assert meter.projected_tokens(1000, 410) == 410


def test_progress_of_packed_input_learns_how_much_text_a_byte_stands_for() -> None:
    expected = Expected(((0, 0.0), (100 * MIB, 50e6)), is_packed=True)
    meter = Meter(total_bytes=100 * MIB, token_bytes=2, expected=expected)
    assert meter.projected_tokens(1 * MIB, 0) == pytest.approx(49.5e6)
    assert meter.projected_tokens(50 * MIB, 40_000_000) == 80_000_000


def test_progress_without_a_total_says_what_it_knows() -> None:
    report = Meter(total_bytes=None, token_bytes=2, expected=None).report(0.0, 10, 5)
    assert report["total"] is None
    assert report["eta_s"] is None
    line = progress_line(report)
    assert "%" not in line
    assert "5 tokens" in line


def test_a_checkpoint_survives_the_disk(tmp_path: Path) -> None:
    record = FileRecord("train_shard_0000.bin", "train_0000.part", "train", 5, 10, "00")
    outputs = OutputState(True, PartState(1, 2, "ab"), PartState(0, 1, "cd"), (record,))
    totals = Totals(text_bytes=5, val_ranges=[[0, 1, 2]], engines=["tiktoken 1"])
    checkpoint = Checkpoint(
        TokenizeSettings().as_json(), [], ReadPosition(offset=5), outputs, totals, ("old.bin",), True
    )
    save(checkpoint, tmp_path)
    assert load(tmp_path) == checkpoint


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}', '{"schema": 1}'])
def test_a_damaged_checkpoint_is_not_guessed_at(text: str, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.json").write_text(text)
    with pytest.raises(MemwatchError, match="--fresh starts over"):
        load(tmp_path)


def test_patterns_are_expanded_and_names_are_not(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "x[1].txt"):
        (tmp_path / name).write_text("text")
    names = [str(tmp_path / "[ab].txt"), str(tmp_path / "x[1].txt")]
    assert [Path(path).name for path in expand(names)] == ["a.txt", "b.txt", "x[1].txt"]
    with pytest.raises(UsageError, match="only once"):
        expand(["-", "-"])
    with pytest.raises(UsageError, match="save standard input to a file"):
        expand(["-", "s3://bucket/a.txt"])


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b'{"text": "a txt is a text"}\n', "text"),
        ("a.jsonl", b"not checked here\n", "jsonl"),
        ("a", b'{"text": "records"}\n{"text": 1}\n', "jsonl"),
        ("a", b'{"body": "no such field"}\n', "jsonl"),
        ("a", b"{ just a brace }\n", "text"),
        ("a.csv", b"a,b\n", "text"),
    ],
)
def test_an_input_is_known_by_name_and_content(name: str, data: bytes, kind: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    assert look_at(str(tmp_path / name)).kind == kind


def test_a_change_anywhere_in_a_small_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 50_000)
    before = look_at(str(path))
    assert look_at(str(path)).change_since(before.as_json()) is None
    path.write_bytes(b"x" * 25_000 + b"y" + b"x" * 24_999)
    assert "has changed contents" in (look_at(str(path)).change_since(before.as_json()) or "")


def test_a_stalled_listener_does_not_stall_the_job() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    for i in range(100_000):
        channel.send({"event": "progress", "done": i})
    assert channel.is_open
    theirs.close()
    channel.send({"event": "progress"})
    assert not channel.is_open
    channel.close()


def test_messages_arrive_whole_however_they_are_cut() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    data = json.dumps({"command": "shard"}).encode() + b"\nnonsense\n[1]\n"
    received = []
    for i in range(len(data)):
        theirs.send(data[i : i + 1])
        received += channel.receive()
    assert received == [{"command": "shard"}]
    theirs.close()
    assert channel.receive() == []
    assert not channel.is_open
    channel.close()


def test_a_ratio_is_exact() -> None:
    assert TokenizeSettings(val_ratio="0.0005").val_fraction == Fraction(1, 2000)
    assert TokenizeSettings(val_ratio="1/3").val_fraction == Fraction(1, 3)


@pytest.mark.parametrize(
    ("container_mib", "used_mib", "limit_mib"),
    [(40_000, 100, 1088), (8000, 800, 900), (4000, 800, 400), (400, 300, 204)],
    ids=["plenty", "some", "little", "none"],
)
def test_a_job_that_nobody_limits_takes_what_there_is_room_for(
    container_mib: int, used_mib: int, limit_mib: int
) -> None:
    """What is kept for others stays theirs; but one worker is the least."""
    container = Limit("/container", container_mib * MIB, used_mib * MIB)
    machine = Sample(0.0, 0.0, Memory(64 << 30, 60 << 30, 0, 0), limits=(container,))
    assert usual_limit_bytes(machine, None, 4, 2, NOTHING_MORE) == limit_mib * MIB


def test_where_nothing_is_known_of_memory_the_default_counts() -> None:
    assert usual_limit_bytes(Sample(0.0, 0.0, None), None, 4, 2, NOTHING_MORE) == DEFAULT_MAX_MEMORY_BYTES
