"""The machine as it is now: memory, swap, pressure, settings, disks, the biggest processes."""

import os
from collections.abc import Iterable
from dataclasses import replace

from memwatch.diagnose.evidence import Disk, Settings, State
from memwatch.diagnose.findings import Source
from memwatch.model.programs import program_name
from memwatch.model.sample import Sample
from memwatch.model.units import KIB, MIB, format_duration, format_size
from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import number_after, read_file, read_number
from memwatch.probe.machine import Machine, sample_with_gpus

MUCH_DIRTY_BYTES = 256 * MIB


def read_state(
    now_t: float,
    folders: Iterable[str],
    show_commands: bool = False,
    proc_root: str = "/proc",
    sys_root: str = "/sys",
    self_pid: int | None = None,
) -> State:
    machine = Machine(proc_root, sys_root, self_pid=self_pid)
    try:
        sample = sample_with_gpus(machine, now_t)
    finally:
        machine.close()
    if not IS_LINUX:
        return _portable_state(sample if show_commands else _without_commands(sample), folders)
    return State(
        sample=sample if show_commands else _without_commands(sample),
        uptime_s=_uptime_s(proc_root),
        cores=os.cpu_count(),
        cpu_some_avg300=_cpu_some_avg300(proc_root),
        dirty_bytes=_dirty_bytes(proc_root),
        disks=_disks(folders),
        settings=_settings(proc_root, sys_root),
    )


def _portable_state(sample: Sample, folders: Iterable[str]) -> State:
    from memwatch.probe.portable import uptime_s

    return State(sample, uptime_s(sample.t), cores=os.cpu_count(), disks=_disks(folders))


def state_source(state: State) -> Source:
    """The state of the machine in one line, for the list of sources."""
    memory, settings, pressure = state.sample.memory, state.settings, state.sample.pressure
    words = []
    if memory is not None:
        words.append(f"{format_size(memory.available_bytes)} of {format_size(memory.total_bytes)} RAM available")
        zram = f" ({format_size(memory.zram_bytes)} of it zram)" if memory.zram_bytes else ""
        words.append(f"swap {format_size(memory.swap_total_bytes)}{zram}" if memory.swap_total_bytes else "no swap")
    limits = [f"{limit.path} limited to {format_size(limit.limit_bytes)}" for limit in state.sample.limits]
    words += limits[:1]
    if pressure is not None and state.uptime_s is not None:
        stalled = format_duration(pressure.memory_full_us / 1e6)
        words.append(f"all programs stalled for memory for {stalled} in {format_duration(state.uptime_s)}")
    known = {
        "swappiness": settings.swappiness,
        "overcommit": settings.overcommit,
        "dirty limit": _dirty_limit(settings),
        "huge pages": settings.huge_pages,
        "min_ttl_ms": settings.min_ttl_ms,
    }
    if state.dirty_bytes is not None and state.dirty_bytes >= MUCH_DIRTY_BYTES:
        words.append(f"{format_size(state.dirty_bytes)} of dirty pages")
    words += [f"{name} {value}" for name, value in known.items() if value is not None]
    biggest = [f"{process.command} {format_size(process.taken_bytes)}" for process in (state.sample.others or ())[:3]]
    if biggest:
        words.append(f"largest now: {', '.join(biggest)}")
    missing = None if memory is not None else "memory cannot be read"
    return Source("this machine now", found="; ".join(words) or None, missing=missing)


def _dirty_limit(settings: Settings) -> str | None:
    if settings.dirty_bytes:
        return format_size(settings.dirty_bytes)
    return None if settings.dirty_ratio is None else f"{settings.dirty_ratio} %"


def _without_commands(sample: Sample) -> Sample:
    others = sample.others
    if others is None:
        return sample
    named = tuple(replace(process, command=program_name(process.command)) for process in others)
    return replace(sample, others=named)


def _settings(proc_root: str, sys_root: str) -> Settings:
    vm = f"{proc_root}/sys/vm"
    return Settings(
        swappiness=read_number(f"{vm}/swappiness"),
        overcommit=read_number(f"{vm}/overcommit_memory"),
        dirty_ratio=read_number(f"{vm}/dirty_ratio"),
        dirty_bytes=read_number(f"{vm}/dirty_bytes"),
        huge_pages=_chosen(f"{sys_root}/kernel/mm/transparent_hugepage/enabled"),
        min_ttl_ms=read_number(f"{sys_root}/kernel/mm/lru_gen/min_ttl_ms"),
    )


def _chosen(path: str) -> str | None:
    """The word in brackets: 'always [madvise] never'."""
    text = (read_file(path) or b"").decode(errors="replace")
    return text.partition("[")[2].partition("]")[0] or None


def _uptime_s(proc_root: str) -> float | None:
    words = (read_file(f"{proc_root}/uptime") or b"").split()
    try:
        return float(words[0]) if words else None
    except ValueError:
        return None


def _cpu_some_avg300(proc_root: str) -> float | None:
    text = (read_file(f"{proc_root}/pressure/cpu") or b"").partition(b"\n")[0]
    number = text.partition(b"avg300=")[2].partition(b" ")[0]
    try:
        return float(number) if text.startswith(b"some ") else None
    except ValueError:
        return None


def _dirty_bytes(proc_root: str) -> int | None:
    text = read_file(f"{proc_root}/meminfo") or b""
    dirty, writing = number_after(text, b"Dirty:"), number_after(text, b"Writeback:")
    return None if dirty is None else (dirty + (writing or 0)) * KIB


def _disks(folders: Iterable[str]) -> tuple[Disk, ...]:
    """The file systems of the folders, each once."""
    disks: dict[int, Disk] = {}
    for folder in folders:
        try:
            device, status = os.stat(folder).st_dev, os.statvfs(folder)
        except OSError:
            continue
        if status.f_blocks and device not in disks:
            disks[device] = Disk(folder, status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize)
    return tuple(disks.values())
