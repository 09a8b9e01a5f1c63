"""What a task shows of itself in the run's folder, without Ray and without a tokenizer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from memwatch.cluster.guard_readings import GuardReadings
from memwatch.cluster.nodes import NodeStatus
from memwatch.cluster.run_folder import RunFolder, SharedPlan
from memwatch.cluster.segment_tasks import SegmentTask
from memwatch.cluster.task_status import TaskStatus


def begun(out: Path, number: int, tokenizer: Any) -> TaskStatus:
    status = TaskStatus(SegmentTask(str(out), number, "tiktoken", 0, "1", 5.0, "plan"), "machine", "host", tokenizer)
    status.step()
    return status


def kept_tokenizer(folder: Path) -> Any:
    return SimpleNamespace(readings=GuardReadings(str(folder / "journal")), done_bytes=0, when_exited=None)


def planned(out: Path) -> RunFolder:
    folder = RunFolder(str(out))
    folder.agree_on(SharedPlan({}, [{"path": "in.txt", "size_bytes": 9}], [[0, 0, 9]]))
    return folder


def shown(folder: RunFolder) -> list[NodeStatus]:
    return [NodeStatus.from_json(folder.store.read(info.address)) for info in folder.store.list_folder(folder.nodes)]


def test_between_two_segments_a_process_is_not_shown_as_idle(tmp_path: Path) -> None:
    """It was, for as long as a store takes to write two files, with the tokenizer waiting for them."""
    folder, tokenizer = planned(tmp_path / "out"), kept_tokenizer(tmp_path)
    begun(tmp_path / "out", 3, tokenizer).end(is_done=True)
    assert [(status.running, status.ended) for status in shown(folder)] == [((3,), False)]
    begun(tmp_path / "out", 4, tokenizer)
    assert [(status.running, status.done) for status in shown(folder)] == [((4,), 1)]


def test_a_process_without_another_task_is_shown_as_idle(tmp_path: Path) -> None:
    folder, tokenizer = planned(tmp_path / "out"), kept_tokenizer(tmp_path)
    begun(tmp_path / "out", 3, tokenizer).end(is_done=True)
    tokenizer.when_exited()
    assert [(status.running, status.ended, status.done) for status in shown(folder)] == [((), True, 1)]


def test_a_tokenizer_that_exits_late_hides_neither_the_next_task_nor_the_end_of_the_run(tmp_path: Path) -> None:
    folder, tokenizer = planned(tmp_path / "out"), kept_tokenizer(tmp_path)
    begun(tmp_path / "out", 3, tokenizer).end(is_done=True)
    is_idle, another = tokenizer.when_exited, kept_tokenizer(tmp_path)
    begun(tmp_path / "out", 4, another).end(is_done=True)
    is_idle()
    assert [status.running for status in shown(folder)] == [(4,)]
    folder.drop_partial()
    another.when_exited()
    assert not (tmp_path / "out" / ".memwatch-partial").exists()
