"""Programs: who was big, and who grew, of all that samples showed."""

from collections.abc import Callable
from dataclasses import dataclass

from memwatch.model.programs import program_name
from memwatch.model.sample import Process, Sample

MOST_FOLLOWED = 512
SHOWN = 8


@dataclass(slots=True)
class Program:
    pid: int
    name: str
    is_jobs: bool
    first_bytes: int
    peak_bytes: int
    peak_t: float
    command: str


class Programs:
    def __init__(self, show_commands: bool = False) -> None:
        self._show_commands = show_commands
        self._followed: dict[tuple[int, int], Program] = {}

    def see(self, sample: Sample) -> None:
        for process in sample.job:
            self._see(process, sample.t, is_jobs=True)
        for process in sample.others or ():
            self._see(process, sample.t, is_jobs=False)
        if len(self._followed) > 2 * MOST_FOLLOWED:
            biggest = sorted(self._followed.items(), key=lambda item: -item[1].peak_bytes)[:MOST_FOLLOWED]
            self._followed = dict(biggest)

    def biggest(self) -> list[Program]:
        return sorted(self._followed.values(), key=lambda program: -program.peak_bytes)[:SHOWN]

    def rename(self, new_name: Callable[[str], str]) -> None:
        for program in self._followed.values():
            program.name = new_name(program.name)

    def _see(self, process: Process, t: float, is_jobs: bool) -> None:
        key = (process.pid, process.start_ticks)
        size_bytes = process.taken_bytes
        known = self._followed.get(key)
        if known is None:
            self._followed[key] = Program(
                process.pid, self._name(process), is_jobs, size_bytes, size_bytes, t, process.command
            )
            return
        if process.command != known.command:  # What was a shell at first may have become the job.
            known.command, known.name = process.command, self._name(process)
        if size_bytes > known.peak_bytes:
            known.peak_bytes, known.peak_t = size_bytes, t

    def _name(self, process: Process) -> str:
        return process.command if self._show_commands else program_name(process.command)
