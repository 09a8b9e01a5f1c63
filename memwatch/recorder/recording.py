"""The recorder: takes a sample, judges it, and writes what is worth keeping.

What is written when:

    calm             a sample every `interval_s`, with the processes that are biggest and that grow most
    watch and worse  every sample, with processes every other second; before the first, the samples that led up to it
    late             both samples around a time in which the recorder itself did not run: how long, to the second

A change of level is an event of its own, as in the journal of a run.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memwatch.decide.monitor import Monitor, verdict_facts
from memwatch.decide.reserve import default_reserve_bytes
from memwatch.decide.thresholds import Level
from memwatch.decide.verdict import Verdict
from memwatch.journal.machine_record import MachineLog
from memwatch.model.programs import program_name
from memwatch.model.sample import Process, Sample
from memwatch.probe.biggest import ProcessSizes
from memwatch.probe.machine import Machine

if TYPE_CHECKING:
    from memwatch.probe.portable import PortableBiggest

SAMPLING_S = 1.0
LATE_S = 1.0  # after a sample was due; a busy desktop's scheduler is late by a tenth of that
EARLY_S = 0.1  # A timer that fires a little early must not cost a whole sample.
PROCESSES_IN_TROUBLE_S = 2.0
LED_UP = 10  # samples that are kept in memory, to be written if trouble follows
# Full files of the record that wait to be packed until a trouble is over; more would exceed the limit of the record.
UNPACKED_FILES = 4
# In trouble every write is synced at once; otherwise this often, because the kernel does not promise its 30 s.
SYNC_S = 30.0


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    interval_s: float = 5.0
    keeps_commands: bool = False


class Recorder:
    """`clock` and `now` are what time.monotonic and time.time are."""

    def __init__(
        self,
        machine: Machine,
        processes: "ProcessSizes | PortableBiggest",
        log: MachineLog,
        settings: RecorderSettings,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._machine = machine
        self._processes = processes
        self._log = log
        self._settings = settings
        self._clock = clock
        self._now = now
        self._sampling_s = min(SAMPLING_S, settings.interval_s)
        self._monitor = Monitor(default_reserve_bytes)
        first = self._sample()
        self._monitor.observe(first)
        self._level = Level.CALM
        self._unwritten: deque[Sample] = deque(maxlen=LED_UP)
        self._sampled_s = first.clock_s
        self._written_s = self._processes_s = self._synced_s = float("-inf")
        self._unpacked_files = 1  # A crash may have left one.

    def take_sample(self) -> float:
        """Take one sample and record it if it is due; returns the seconds until the next one."""
        sample = self._sample()
        outlook, verdict = self._monitor.observe(sample)
        facts = verdict_facts(outlook, verdict)
        is_late = sample.clock_s - self._sampled_s > self._sampling_s + LATE_S
        if is_late or verdict.level > Level.CALM or verdict.level != self._level:
            self._write_what_led_up()
            self._write(sample, verdict, facts)
            self._log.journal.sync()
        elif sample.clock_s - self._written_s >= self._settings.interval_s - EARLY_S:
            self._write(sample, verdict, facts)
        else:
            self._unwritten.append(sample)
        self._sampled_s = sample.clock_s
        if self._unpacked_files > (0 if verdict.level < Level.WARN else UNPACKED_FILES):
            self._log.tidy()
            self._unpacked_files = 0
        return max(self._sampling_s - (self._clock() - sample.clock_s), 0.0)

    def end(self, signal_number: int | None) -> None:
        """Record that the recorder was stopped, so that the gap after it is not taken for a freeze."""
        self._write_what_led_up()
        self._log.journal.exit(0, signal_number, "user")
        self._log.close()

    def _sample(self) -> Sample:
        return self._machine.sample(self._clock(), self._now(), ())

    def _write_what_led_up(self) -> None:
        for sample in self._unwritten:
            self._log.journal.sample(sample)
        self._unwritten.clear()

    def _write(self, sample: Sample, verdict: Verdict, facts: Mapping[str, object]) -> None:
        self._unpacked_files += self._log.turn()
        if verdict.level == Level.CALM or sample.clock_s - self._processes_s >= PROCESSES_IN_TROUBLE_S - EARLY_S:
            self._processes_s = sample.clock_s
            sample = replace(sample, others=self._others(sample))
        self._log.journal.sample(sample)
        self._unwritten.clear()
        self._written_s = sample.clock_s
        if verdict.level > Level.CALM or verdict.level != self._level:
            self._write_verdict(sample.t, verdict, facts)
        if sample.clock_s - self._synced_s >= SYNC_S:
            self._synced_s = sample.clock_s
            self._log.journal.sync()

    def _write_verdict(self, t: float, verdict: Verdict, facts: Mapping[str, object]) -> None:
        self._level = verdict.level
        level = verdict.level.name.lower()
        self._log.journal.verdict(level, verdict.reason, verdict.seconds_left, t, **facts)

    def _others(self, sample: Sample) -> tuple[Process, ...] | None:
        memory = sample.memory
        swap_in_use = memory is None or memory.swap_free_bytes < memory.swap_total_bytes
        found = self._processes.biggest_and_growing(swap_in_use)
        if found is None or self._settings.keeps_commands:
            return found
        return tuple(replace(process, command=program_name(process.command)) for process in found)
