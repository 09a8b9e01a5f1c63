"""Journals of real runs on a confined machine: one that thrashed, one the kernel killed, one memwatch stopped."""

import json
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.diagnose.collect.from_journals import read_machine, read_run
from memwatch.diagnose.conclude import diagnose
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause
from memwatch.diagnose.timeline.model import Strain
from memwatch.journal.events import Event, sample_event
from memwatch.journal.reader import read_events
from memwatch.model.sample import Sample
from memwatch.model.units import MIB
from tests.diagnose.timeline.records import START_T, Record, freeze

FOLDER = Path(__file__).parent / "recorded"


def events(samples: list[Sample]) -> Iterator[Event]:
    return (json.loads(json.dumps(sample_event(sample))) for sample in samples)


def test_the_run_that_thrashed() -> None:
    timeline, run = read_run(FOLDER / "thrash.jsonl", show_commands=False)
    (stretch,) = timeline.stretches
    assert stretch.strain == Strain.SWAP
    assert stretch.limit is not None
    assert stretch.limit.path == "/limited"
    assert stretch.stalled_fraction == pytest.approx(0.27, abs=0.05)
    assert stretch.growers[0].name == "python3 prepare.py"
    assert (run.signal, run.by) == (None, None)
    assert timeline.gaps == ()


def test_the_run_that_the_kernel_killed() -> None:
    timeline, run = read_run(FOLDER / "oom.jsonl", show_commands=False)
    assert (run.signal, run.by) == (9, None)
    assert 10867 in run.pids
    assert timeline.stretches == ()


def test_the_run_that_memwatch_stopped() -> None:
    _, run = read_run(FOLDER / "stopped.jsonl", show_commands=False)
    assert run.stopped_by_memwatch
    assert [name for name, _ in run.actions] == ["warn", "pause", "stop"]
    assert "84.7 MiB of the memory this job is limited to is left" in str(run.stop_reason)


def test_command_lines_are_kept_only_when_asked_for() -> None:
    _, run = read_run(FOLDER / "thrash.jsonl", show_commands=True)
    assert run.name == "sh -c exec python3 prepare.py"
    assert read_run(FOLDER / "thrash.jsonl", show_commands=False)[1].name == "sh"


def test_a_torn_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = (FOLDER / "thrash.jsonl").read_bytes()
    path = tmp_path / "torn.jsonl"
    path.write_bytes(whole[: len(whole) * 3 // 4] + b"\0" * 999)
    timeline, _ = read_run(path, show_commands=False, booted_t=time.time())
    assert len(timeline.stretches) == 1
    assert timeline.stretches[0].cut_off
    assert [cut.rebooted for cut in timeline.cuts] == [True]


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"{}\n[]\n1\n", b'{"t":1,"event":"sample","memory":7}\n'])
def test_what_is_no_journal_tells_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    timeline, run = read_run(path, show_commands=False)
    assert timeline.samples == 0
    assert run.pids == frozenset()


def test_what_the_job_says_of_its_end_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    said = "Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB\n"
    texts = [said, "[Errno 28] No space left on device"]
    path.write_text("".join(json.dumps({"t": 1.0, "event": "output", "text": text}) + "\n" for text in texts))
    _, run = read_run(path, show_commands=False)
    assert str(run.gpu_full_words).startswith("torch.OutOfMemoryError: CUDA out of memory")
    assert run.disk_full_words == "[Errno 28] No space left on device"


class TestTheMachinesRecord:
    def test_a_freeze_shows(self) -> None:
        record = freeze()
        timeline = read_machine(events(record.samples), False, until_t=record.t)
        (stretch,) = timeline.stretches
        assert stretch.growers[0].name == "python prepare.py"
        assert timeline.cuts == ()

    def test_segments_that_follow_one_another_are_one_recording(self) -> None:
        first, second = Record().run(60).samples, Record(t=START_T + 60, clock_s=5060.0).run(60).samples
        start: Event = {"t": START_T, "event": "start", "continued": True}
        timeline = read_machine([*events(first), start, *events(second)], False, until_t=START_T + 120)
        assert (timeline.samples, timeline.cuts, timeline.gaps) == (120, (), ())

    def test_a_recorder_that_was_killed_leaves_a_cut(self) -> None:
        first, second = Record().run(60).samples, Record(t=START_T + 900, clock_s=5900.0).run(60).samples
        start: Event = {"t": START_T + 900, "event": "start"}
        timeline = read_machine([*events(first), start, *events(second)], False, until_t=START_T + 960)
        assert [cut.rebooted for cut in timeline.cuts] == [False]
        assert timeline.gaps == ()

    def test_a_record_that_ended_with_the_machine_is_cut_off(self) -> None:
        record = Record().run(60).thrash(30)
        timeline = read_machine(events(record.samples), False, until_t=record.t + 3600, booted_t=record.t + 60)
        assert [cut.rebooted for cut in timeline.cuts] == [True]
        assert timeline.stretches[0].cut_off

    def test_events_come_one_by_one_and_none_is_kept(self) -> None:
        record = Record(interval_s=5.0)

        def hours() -> Iterator[Event]:
            for _ in range(1500):
                record.samples.clear()
                yield from events(record.run(5).samples)

        tracemalloc.start()
        timeline = read_machine(hours(), False, until_t=START_T + 7_500)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert timeline.samples == 1500
        assert peak_bytes < MIB

    def test_a_real_one_with_others_that_grew_more(self) -> None:
        """prepare.py thrashed in a cgroup of 150 MiB, while a virtual machine and tests took and freed gigabytes."""
        timeline = read_machine(read_events(FOLDER / "machine.jsonl"), False, until_t=1794816042.0)
        (stretch,) = timeline.stretches
        assert stretch.growers[0].name in ("qemu-system-x86_64", "python")
        found = diagnose(Evidence(1794816050.0, timelines=(timeline,))).findings
        assert [finding.cause for finding in found] == [Cause.SWAP_THRASHING]
        assert found[0].what.startswith(
            "Swap thrashing, probably inside a memory limit: python3 prepare.py (12506) grew"
        )
        assert "the machine itself always had 20.3 GiB" in found[0].why.replace("The", "the", 1)
