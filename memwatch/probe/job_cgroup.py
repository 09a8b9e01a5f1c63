"""The job's own cgroup: one that holds the job and nothing else, as the scope that the guard has made for it.

Its counters are the job's alone, whatever the neighbours do. Version 2: systemd makes scopes with limits only there.
"""

from memwatch.model.sample import JobCounters
from memwatch.probe.files import KeptFile, number_after
from memwatch.probe.procfs import parse_stalls, refaults_in


class JobCgroup:
    def __init__(self, folder: str) -> None:
        self._pressure = KeptFile(f"{folder}/memory.pressure")
        self._stat = KeptFile(f"{folder}/memory.stat")
        self._events = KeptFile(f"{folder}/memory.events")

    def counters(self) -> JobCounters | None:
        """None if the cgroup has gone, with everything that was in it."""
        stat = self._stat.read()
        if stat is None:
            return None
        some_us, full_us = parse_stalls(self._pressure.read() or b"")
        return JobCounters(
            major_faults=number_after(stat, b"pgmajfault "),
            refaults=refaults_in(stat),
            stall_some_us=some_us,
            stall_full_us=full_us,
            oom_kills=number_after(self._events.read() or b"", b"oom_kill "),
        )

    def shmem_bytes(self) -> int | None:
        return number_after(self._stat.read() or b"", b"shmem ")

    def close(self) -> None:
        for file in (self._pressure, self._stat, self._events):
            file.close()
