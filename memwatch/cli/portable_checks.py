"""What `memwatch doctor` says of a machine that only psutil can read: what works, and what only Linux has."""

from collections.abc import Mapping

from memwatch.cli.checks import Check, Word, memory_check, swap_check
from memwatch.model.sample import Sample
from memwatch.on_linux import IS_FORCED, PROBE_VARIABLE


def portable_checks(sample: Sample, missing: Mapping[str, str]) -> list[Check]:
    because = f"{PROBE_VARIABLE}=portable is set" if IS_FORCED else "there is no /proc"
    return [
        Check("readings", Word.OK, f"through psutil, because {because}"),
        memory_check(sample.memory, missing),
        swap_check(sample.memory),
        _paging(missing),
        _absent("pressure (PSI)", "exists on Linux only", "forecasts and actions rely on memory and swap use alone"),
        _absent("cgroup", "exists on Linux only", "a container's memory limit is not seen"),
        _absent(
            "systemd scope", "exists on Linux only", "the job has no hard memory limit; only the guard stops its growth"
        ),
        _absent("GPU", "read on Linux only", "the GPU is not shown; memory is protected all the same"),
        Check(
            "pauses",
            Word.MISSING,
            "by SIGSTOP; ptrace is used on Linux only",
            "if guard, watchers and memwatch run are all killed during a pause, the job stays stopped",
            "continue it with: kill -CONT PID",
        ),
        Check(
            "orphans",
            Word.MISSING,
            "not adopted; subreapers exist on Linux only",
            "a process that detaches at once is not seen; if the guard is killed, the job's exit code is lost (125)",
        ),
    ]


def _absent(name: str, found: str, why: str) -> Check:
    return Check(name, Word.MISSING, found, why)


def _paging(missing: Mapping[str, str]) -> Check:
    if (trouble := missing.get("swap and fault counters")) is not None:
        return Check("paging counters", Word.MISSING, trouble, "thrashing is detected later")
    return Check("paging counters", Word.OK, "swap in and out; faults are counted on Linux only")
