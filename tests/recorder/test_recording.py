"""What the recorder writes, and when: on a machine that does as it is told, with a clock of the test's own."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from memwatch.journal.codec import sample_from_json
from memwatch.journal.events import Event
from memwatch.journal.machine_record import MachineLog
from memwatch.journal.record_files import read_machine_events
from memwatch.model.sample import Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, MIB
from memwatch.probe.biggest import ProcessSizes
from memwatch.probe.machine import Machine
from memwatch.recorder.recording import UNPACKED_FILES, Recorder, RecorderSettings

COMMAND = "/usr/bin/python3 /home/me/prepare.py --token hunter2"


class FakeMachine:
    """Its time and its memory are the test's."""

    def __init__(self) -> None:
        self.clock_s = 100.0
        self.offset_s = 1e9  # from the monotonic clock to the wall clock
        self.available_bytes = 20 * GIB
        self.stalled_us = 0

    def sample(self, clock_s: float, t: float, roots: Any) -> Sample:
        memory = Memory(24 * GIB, self.available_bytes, 0, 0, 0)
        return Sample(t, clock_s, memory, pressure=Pressure(self.stalled_us, 0), paging=Paging(0, 0, 0, 0), gpus=())


class FakeProcesses:
    looks = 0

    def biggest_and_growing(self, swap_in_use: bool) -> tuple[Process, ...]:
        self.looks += 1
        return (Process(4711, 1, 1, "R", GIB, 0, 1.0, None, None, COMMAND),)


class Bench:
    def __init__(self, **settings: Any) -> None:
        self.machine = FakeMachine()
        self.processes = FakeProcesses()
        self.log = MachineLog(["memwatch", "record"], {})
        self.recorder = Recorder(
            cast(Machine, self.machine),
            cast(ProcessSizes, self.processes),
            self.log,
            RecorderSettings(**settings),
            clock=lambda: self.machine.clock_s,
            now=lambda: self.machine.clock_s + self.machine.offset_s,
        )

    def look(self, times: int = 1, every_s: float = 1.0) -> None:
        for _ in range(times):
            self.machine.clock_s += every_s
            self.recorder.take_sample()

    def events(self, kind: str) -> list[Event]:
        return [event for event in read_machine_events() if event["event"] == kind]

    def samples(self) -> list[Sample]:
        return [sample_from_json(event) for event in self.events("sample")]

    def clocks(self) -> list[float]:
        return [sample.clock_s for sample in self.samples()]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_while_all_is_well_a_sample_is_written_every_five_seconds() -> None:
    bench = Bench()
    bench.look(21)
    assert bench.clocks() == [101, 106, 111, 116, 121]
    assert all(sample.others for sample in bench.samples())
    assert bench.processes.looks == 5
    assert bench.events("verdict") == []


def test_another_interval_can_be_asked_for() -> None:
    slow = Bench(interval_s=30.0)
    slow.look(61)
    assert slow.clocks() == [101, 131, 161]
    slow.log.close()
    fast = Bench(interval_s=0.5)
    fast.look(3, every_s=0.5)
    assert fast.clocks()[-3:] == [100.5, 101.0, 101.5]


def test_it_asks_to_be_woken_in_a_second_less_what_it_took() -> None:
    bench = Bench()
    ticking = iter([101.0, 101.25])
    bench.recorder._clock = lambda: next(ticking)
    assert bench.recorder.take_sample() == pytest.approx(0.75)


def test_in_trouble_every_look_is_written_and_what_led_up_to_it() -> None:
    bench = Bench()
    bench.look(8)  # Written at 101 and 106; 107 and 108 are not.
    bench.machine.available_bytes = GIB  # Less than the reserve of 2.4 GiB.
    bench.look(4)
    assert bench.clocks() == [101, 106, 107, 108, 109, 110, 111, 112]
    levels = [event["level"] for event in bench.events("verdict")]
    assert levels[0] in ("warn", "act")
    # Processes are dear: every other second is enough.
    with_others = [sample.clock_s for sample in bench.samples() if sample.others]
    assert with_others == [101, 106, 109, 111]


def test_when_trouble_is_over_it_says_so_and_slows_down() -> None:
    bench = Bench()
    bench.machine.available_bytes = GIB
    bench.look(3)
    bench.machine.available_bytes = 20 * GIB
    bench.look(60)
    levels = [str(event["level"]) for event in bench.events("verdict")]
    assert levels[-1] == "calm"
    assert bench.clocks()[-1] - bench.clocks()[-2] == 5


def test_a_time_in_which_it_did_not_get_to_run_is_seen_to_the_second() -> None:
    bench = Bench()
    bench.look(3)
    bench.look(1, every_s=42.0)
    bench.look(5)
    clocks = bench.clocks()
    assert clocks == [101, 102, 103, 145, 150]
    before, after = bench.samples()[2:4]
    assert after.clock_s - before.clock_s == after.t - before.t == 42.0


def test_a_machine_that_slept_did_not_stall() -> None:
    """The wall clock has gone on and the monotonic one has not: whoever reads it can tell."""
    bench = Bench()
    bench.look(1)
    bench.machine.offset_s += 3600
    bench.look(5)
    first, second = bench.samples()
    assert second.clock_s - first.clock_s == 5
    assert second.t - first.t == 3605


def test_a_clock_set_back_silences_nothing() -> None:
    bench = Bench()
    bench.look(6)
    bench.machine.offset_s -= 86400
    bench.look(10)
    assert bench.clocks() == [101, 106, 111, 116]


def test_only_names_of_programs_are_kept_unless_asked() -> None:
    bench = Bench()
    bench.look()
    (process,) = bench.samples()[0].others or ()
    assert process == replace(process, command="python3 prepare.py")
    bench.log.close()
    telling = Bench(keeps_commands=True)
    telling.look()
    (process,) = telling.samples()[-1].others or ()
    assert process.command == COMMAND


def test_an_end_that_was_asked_for_is_written() -> None:
    bench = Bench()
    bench.look(3)
    bench.recorder.end(15)
    (end,) = bench.events("exit")
    assert (end["code"], end["signal"], end["by"]) == (0, 15, "user")
    assert bench.clocks() == [101, 102, 103]


def test_a_machine_that_tells_nothing_is_recorded_all_the_same() -> None:
    bench = Bench()
    bench.machine.sample = lambda clock_s, t, roots: Sample(t, clock_s, None)  # type: ignore[method-assign]
    bench.look(6)
    assert bench.clocks() == [101, 106]


def test_packing_waits_for_a_calm_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    tidied = []
    monkeypatch.setattr(MachineLog, "tidy", lambda log: tidied.append(bench.machine.clock_s))
    bench.look(2)
    assert tidied == [101]  # Once at the beginning, after whatever a crash has left.
    bench.machine.available_bytes = 512 * MIB
    bench.log._file_bytes = 1
    bench.look(3)
    assert tidied == [101]
    bench.log._file_bytes = GIB
    bench.machine.available_bytes = 20 * GIB
    bench.look(60)
    assert len(tidied) == 2


def test_packing_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is always in trouble must not go over the cap for it."""
    bench = Bench()
    tidied = []
    monkeypatch.setattr(MachineLog, "tidy", lambda log: tidied.append(bench.machine.clock_s))
    bench.machine.available_bytes = 512 * MIB
    bench.log._file_bytes = 1
    bench.look(3 * UNPACKED_FILES)
    assert len(tidied) >= 2


def test_what_led_up_is_bounded_however_long_the_interval() -> None:
    bench = Bench(interval_s=10_000.0)
    bench.look(100)
    bench.machine.available_bytes = GIB
    bench.look(1)
    assert bench.clocks() == [101, *range(191, 202)]
