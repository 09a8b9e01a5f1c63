"""What is shown of the nodes of a run, everywhere the same."""

import io
import json
from dataclasses import replace
from pathlib import Path

from memwatch.cli.plain import PlainView, progress_line
from memwatch.cluster.guard_readings import GuardReadings
from memwatch.cluster.kept_journals import KeptJournal, keep_problem
from memwatch.cluster.nodes import NodeStatus, announce
from memwatch.cluster.run_folder import RunFolder, SharedPlan
from memwatch.cluster.run_view import RunView, SeenNode, node_rows, run_lines, worst
from memwatch.journal.events import nodes_event
from memwatch.journal.writer import Journal
from memwatch.model.node_rows import MOST_NODES, NodeRow, node_line, rows_of
from memwatch.model.units import MIB
from tests.helpers import memwatch


def task(pid: int, running: tuple[int, ...], machine: str = "a", **more: object) -> SeenNode:
    status = NodeStatus(f"{machine}-{pid}", f"host-{machine}", None, None, 1, running=running, machine=machine, **more)  # type: ignore[arg-type]
    return SeenNode(status, not status.ended)


def test_the_tasks_of_a_machine_are_one_row_with_the_worst_level() -> None:
    nodes = [
        task(1, (3,), done=2, rate_bytes_s=10.0 * MIB, level="calm", headroom_bytes=900 * MIB),
        task(2, (7,), done=1, rate_bytes_s=5.0 * MIB, level="act", headroom_bytes=20 * MIB, is_paused=True),
        task(3, (), done=4, ended=True),
    ]
    (row,) = node_rows(nodes)
    assert row == NodeRow("host-a", "paused", 2, 7, (3, 7), 15.0 * MIB, 20 * MIB, "act")
    assert node_line(row) == "host-a  2 workers  7 done  running 3, 7  15.0 MiB/s  headroom 20.0 MiB  act  paused"


def test_the_run_has_one_line_with_its_segments_rate_and_eta() -> None:
    driver = SeenNode(NodeStatus("driver", "host", None, None, 0, retried=2, failed=(9,)), True)
    nodes = [task(1, (3,), rate_bytes_s=2.0 * MIB), task(1, (4,), "b", rate_bytes_s=2.0 * MIB), driver]
    first, *others = run_lines(nodes, {0, 1}, [MIB] * 10)
    segments = "segments 2 of 10 done, 2 running, 2 retried, 1 failed"
    assert first == f" 20.0 %  {segments}  2.0 MiB of 10.0 MiB  4.0 MiB/s  ETA 2.0 s"
    assert [line.split()[0] for line in others] == ["host-a", "host-b"]
    # WHEN segment 3 is done and its node has not shown the next one yet
    assert "segments 3 of 10 done, 1 running" in run_lines(nodes, {0, 1, 3}, [MIB] * 10)[0]


def test_a_lost_machine_is_shown_as_lost() -> None:
    status = NodeStatus("a-1", "host-a", None, None, 1, running=(3,), machine="a")
    assert run_lines([SeenNode(status, False)], set(), [1])[1] == "  host-a  1 worker  0 done  lost"


def test_machines_of_one_name_are_told_apart() -> None:
    nodes = [SeenNode(NodeStatus(f"{m}-1", "vm", None, None, 1, machine=f"vm-{m}"), True) for m in ("a", "b")]
    assert [row.name for row in node_rows(nodes)] == ["vm-a", "vm-b"]


def test_the_screen_of_a_folder_gets_the_run_as_events(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    folder.agree_on(SharedPlan({}, [{"path": "in.txt", "size_bytes": 30, "kind": "text"}], [[0, 0, 10], [0, 10, 30]]))
    status = NodeStatus("a-1", "host-a", None, None, 1, running=(1,), level="warn", headroom_bytes=MIB, machine="a")
    announce(folder, status)
    folder.store.put(folder.mark_address(0), b"{}")
    view = RunView(str(tmp_path))
    events = {event["event"]: event for event in view.events(7.0)}
    assert events["start"]["command"] == [f"tokenize in.txt → {tmp_path}"]
    assert (events["progress"]["done"], events["progress"]["total"], events["progress"]["segments"]) == (10, 30, 2)
    assert events["nodes"]["nodes"][0]["name"] == "host-a"
    assert (events["verdict"]["level"], events["verdict"]["reason"]) == ("warn", "1.0 MiB headroom on host-a")
    # WHEN a segment failed and the node waits for memory, each is news once
    announce(folder, replace(status, beat=1, failed=(1,), is_paused=True))
    news = [event["text"] for event in view.events(8.0) if event["event"] == "note"]
    assert news == ["node host-a is short of memory: its segments are paused",
                    "segment 1 failed three times and is left out"]  # fmt: skip
    assert not [event for event in view.events(9.0) if event["event"] in ("note", "start")]
    folder.store.put(folder.file("manifest.json"), b"{}")
    assert [event["event"] for event in view.events(10.0)] == ["exit"]


def test_the_reason_of_a_run_names_the_node_that_it_is_about() -> None:
    unknown = NodeRow("a", "working", 1, 0, level="calm")
    small, large = (
        NodeRow(name, "working", 1, 0, headroom_bytes=MIB * n, level="calm") for name, n in (("b", 1), ("c", 9))
    )
    assert worst([unknown]) == ("calm", "unknown headroom on a")
    assert worst([unknown, small]) == ("calm", "1.0 MiB headroom on b")
    assert worst([unknown, small, large]) == ("calm", "1.0 MiB headroom on b, the least of all nodes")
    # WHEN a larger node is in trouble, its headroom is not the least
    assert worst([small, replace(large, level="warn")]) == ("warn", "9.0 MiB headroom on c")


def test_a_run_that_is_completed_while_its_screen_starts_is_shown(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    folder.agree_on(SharedPlan({}, [{"path": "in.txt", "size_bytes": 10, "kind": "text"}], [[0, 0, 10]]))
    view = RunView(str(tmp_path))
    folder.drop_partial()
    assert [event["event"] for event in view.events(7.0)] == ["nodes", "progress", "verdict"]


def test_what_a_job_says_of_its_nodes_may_be_anything() -> None:
    rows = [{"name": "x" * 500, "workers": "many", "running": [1, "two", None], "level": "panic"}, 7, {"workers": 1}]
    (row,) = rows_of({"nodes": rows})
    assert (len(row.name), row.workers, row.running, row.level) == (80, 0, (1,), None)
    assert rows_of({"nodes": "none"})[:1] == []
    many = nodes_event(1.0, {"nodes": [NodeRow(str(i), "working", 1, 0).as_json() for i in range(1000)]})
    assert len(many["nodes"]) == MOST_NODES  # type: ignore[arg-type]


def test_plain_lines_show_the_nodes_and_the_segments() -> None:
    stream = io.StringIO()
    view = PlainView(stream)
    rows = [NodeRow("node7", "working", 4, 12, (3,), 10.0 * MIB, 64 * MIB, "warn"), NodeRow("node8", "lost", 4, 2)]
    view.show({"event": "nodes", "t": 1.0, "nodes": [row.as_json() for row in rows]})
    assert stream.getvalue().splitlines() == [
        "  node7  4 workers  12 done  running 3  10.0 MiB/s  headroom 64.0 MiB  warn",
        "  node8  4 workers  2 done  lost",
    ]
    event = {"done": 1, "total": 2, "segments": 9, "segments_done": 4, "segments_running": 2, "segments_failed": 1}
    assert "segments 4 of 9 done, 2 running, 1 failed" in progress_line(event)


def test_the_level_and_the_pause_are_read_from_the_journal_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    readings = GuardReadings(str(path))
    readings.refresh()  # There is no journal yet.
    with path.open("a") as file:
        file.write('{"t":1,"event":"verdict","level":"calm","headroom_bytes":5}\n{"t":2,"event":"verd')
        file.flush()
        readings.refresh()
        assert (readings.level, readings.headroom_bytes, readings.is_uneventful) == ("calm", 5, True)
        file.write('ict","level":"act","headroom_bytes":-1.0}\n')
        file.write('{"t":3,"event":"action","action":"pause","by":"guard","pids":[1],"result":"ok"}\n')
    readings.refresh()
    assert (readings.level, readings.headroom_bytes, readings.is_paused) == ("act", -1, True)
    assert not readings.is_uneventful


def test_diagnose_names_node_and_segment(tmp_path: Path) -> None:
    keep_problem(RunFolder(str(tmp_path)), 12, "node7", "cannot read s3://b/x: HTTP 403", "s3://b/x")
    done = memwatch("diagnose", tmp_path)
    assert done.code == 3, done.err
    assert "Segment 12 failed once on node node7: cannot read s3://b/x" in " ".join(done.out.split())
    found = json.loads(memwatch("diagnose", "--json", tmp_path).out)["findings"]
    assert [finding["cause"] for finding in found] == ["segment-failed"]


def test_diagnose_of_a_folder_without_a_run_is_one_sentence(tmp_path: Path) -> None:
    done = memwatch("diagnose", tmp_path)
    assert done.code == 1
    assert "has no run by segments" in done.err


def test_diagnose_reads_the_journals_of_other_machines(tmp_path: Path) -> None:
    """A segment that the guard of its node has stopped; nothing of this machine enters the verdict."""
    journal = Journal.open(tmp_path / "journal.jsonl", ["python", "-m", "memwatch.cluster.task_tokenizer"])
    journal.start({}, {}, 1000.0)
    journal.action("stop", [7], "guard", "ok", 1010.0, reason="20 MiB left of the 1.5 GiB memory limit")
    journal.exit(124, 15, "guard", 1011.0)
    journal.close()
    out = RunFolder(str(tmp_path / "out"))
    KeptJournal(out, "node7", 12, str(tmp_path / "journal.jsonl")).keep()
    done = memwatch("diagnose", tmp_path / "out")
    assert done.code == 3, done.err
    words = " ".join(done.out.split())
    assert "Node node7, segment 12: memwatch stopped" in words
    assert "20 MiB left of the 1.5 GiB memory limit" in words
