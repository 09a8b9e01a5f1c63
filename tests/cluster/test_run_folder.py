"""What lies in the output folder of a run on many machines."""

from pathlib import Path

import pytest

from memwatch.cluster.nodes import NodeStatus, NodeWatch, announce
from memwatch.cluster.run_folder import RunFolder, SegmentFile, SegmentMark, SharedPlan
from memwatch.errors import MemwatchError

PLAN = SharedPlan({"encoding": "gpt2"}, [{"path": "a.txt", "size_bytes": 10}], [[0, 0, 5], [0, 5, 10]])


def mark(number: int) -> SegmentMark:
    file = SegmentFile(f"train_shard_{number:04d}.bin", 5, 10, "0" * 64)
    return SegmentMark(number, file, None, {"documents": 1}, "gigatoken 0.10.0", 0.1, "rank-0")


def test_the_first_plan_is_the_plan(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    assert folder.load_plan() is None
    assert folder.agree_on(PLAN) == PLAN
    other = SharedPlan({"encoding": "other"}, [], [])
    assert folder.agree_on(other) == PLAN
    assert folder.load_plan() == PLAN


def test_a_plan_says_nothing_about_who_made_it() -> None:
    assert PLAN.to_json() == SharedPlan(PLAN.settings, PLAN.inputs, PLAN.segments).to_json()
    assert SharedPlan.from_json(SharedPlan({}, [], []).to_json(), "plan.json") == SharedPlan({}, [], [])


def test_the_names_of_many_shards_sort_as_they_are_read() -> None:
    plan = SharedPlan({}, [{"path": "a.txt"}], [[0, i, i + 1] for i in range(10_001)])
    names = [plan.names.file("train", number, True) for number in (999, 1000, 9999, 10_000)]
    assert names == sorted(names)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"schema": 99}', b"\xff"])
def test_a_damaged_plan_is_one_sentence(text: bytes) -> None:
    with pytest.raises(MemwatchError, match="--fresh"):
        SharedPlan.from_json(text, "plan.json")


def test_marks_are_found_and_read_back(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    assert folder.done() == set()
    for number in (3, 0, 100_000):
        folder.write_mark(mark(number))
    assert folder.done() == {0, 3, 100_000}
    assert folder.is_done(3)
    assert not folder.is_done(1)
    folder.write_mark(mark(1))
    folder.write_mark(mark(2))
    assert list(folder.marks(4)) == [mark(0), mark(1), mark(2), mark(3)]


def test_a_mark_cannot_name_files_elsewhere() -> None:
    text = mark(1).to_json().replace(b"train_shard", b"../train_shard")
    with pytest.raises(MemwatchError, match="damaged"):
        SegmentMark.from_json(text, "00001.json")


def test_dropping_leaves_only_finished_files(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    folder.agree_on(PLAN)
    folder.write_mark(mark(0))
    (tmp_path / "train_shard_0000.bin").write_bytes(b"x")
    folder.drop_partial()
    assert [path.name for path in tmp_path.iterdir()] == ["train_shard_0000.bin"]


def test_a_process_is_alive_while_its_file_changes(tmp_path: Path) -> None:
    folder, now = RunFolder(str(tmp_path)), 0.0
    watch = NodeWatch(folder, lost_after_s=30, clock=lambda: now)
    status = NodeStatus("rank-1", "host", 1, 2, 4, running=(7,))
    announce(folder, status)
    assert [watch.is_alive(other) for other in watch.read()] == [True]
    now = 29
    assert [watch.is_alive(other) for other in watch.read()] == [True]
    now = 31
    assert [watch.is_alive(other) for other in watch.read()] == [False]
    announce(folder, NodeStatus("rank-1", "host", 1, 2, 4, beat=2))
    assert [watch.is_alive(other) for other in watch.read()] == [True]
    announce(folder, NodeStatus("rank-1", "host", 1, 2, 4, beat=3, ended=True))
    assert [watch.is_alive(other) for other in watch.read()] == [False]
