"""The host's memory, pressure and paging, from /proc."""

from typing import NamedTuple

from memwatch.model.sample import Memory, Paging, Pressure
from memwatch.model.units import KIB
from memwatch.probe.files import PAGE_BYTES, KeptFile, number_after, why_unreadable

Missing = list[tuple[str, str]]


class KernelMemory(NamedTuple):
    """What the kernel takes for itself on the whole host; cgroups.py explains the use."""

    reclaimable_slab_bytes: int  # caches of file names and inodes, most of all
    unreclaimable_slab_bytes: int
    other_bytes: int  # stacks, page tables: never reclaimed while their processes live


class HostMemory:
    """meminfo, swaps, and the ZFS cache, which the kernel counts as used though it can be given back."""

    def __init__(self, proc_root: str) -> None:
        self._meminfo = KeptFile(f"{proc_root}/meminfo")
        self._swaps = KeptFile(f"{proc_root}/swaps")
        self._arcstats = KeptFile(f"{proc_root}/spl/kstat/zfs/arcstats")

    def read(self) -> Memory | None:
        text = self._meminfo.read() or b""
        total_kib = number_after(text, b"MemTotal:")
        available_kib = number_after(text, b"MemAvailable:")
        if total_kib is None or available_kib is None:
            return None
        total_bytes = total_kib * KIB
        swap_total_bytes = (number_after(text, b"SwapTotal:") or 0) * KIB
        return Memory(
            total_bytes=total_bytes,
            available_bytes=min(available_kib * KIB + self._reclaimable_zfs_bytes(), total_bytes),
            swap_total_bytes=swap_total_bytes,
            swap_free_bytes=(number_after(text, b"SwapFree:") or 0) * KIB,
            zram_bytes=self._zram_bytes(),
            shmem_bytes=_bytes_after(text, b"Shmem:"),
            swap_cached_bytes=_bytes_after(text, b"SwapCached:") if swap_total_bytes else None,
        )

    def kernel(self) -> KernelMemory | None:
        text = self._meminfo.read() or b""
        reclaimable, unreclaimable = _bytes_after(text, b"SReclaimable:"), _bytes_after(text, b"SUnreclaim:")
        if reclaimable is None or unreclaimable is None:
            return None
        others = [_bytes_after(text, key) or 0 for key in (b"KernelStack:", b"PageTables:", b"Percpu:")]
        return KernelMemory(reclaimable, unreclaimable, sum(others))

    def available_bytes(self) -> int | None:
        """As the kernel counts it: one read, for a caller that only needs to know whether memory use changes."""
        kib = number_after(self._meminfo.read() or b"", b"MemAvailable:")
        return None if kib is None else kib * KIB

    def missing(self) -> Missing:
        if self.read() is not None:
            return []
        trouble = why_unreadable(self._meminfo.path)
        reason = f"it cannot be read ({trouble})" if trouble else "no MemAvailable: the kernel is older than 3.14"
        return [("host memory", f"{self._meminfo.path}: {reason}")]

    def close(self) -> None:
        for file in (self._meminfo, self._swaps, self._arcstats):
            file.close()

    def _reclaimable_zfs_bytes(self) -> int:
        text = self._arcstats.read()
        if text is None:
            return 0  # No ZFS here, so none of its cache either.
        size, smallest = _kstat(text, b"size"), _kstat(text, b"c_min")
        return 0 if size is None or smallest is None else max(size - smallest, 0)

    def _zram_bytes(self) -> int | None:
        text = self._swaps.read()
        if text is None:
            return None
        rows = [line.split() for line in text.splitlines()[1:]]
        return sum(int(row[2]) * KIB for row in rows if row[0].rpartition(b"/")[2].startswith(b"zram"))


class HostPressure:
    """PSI. Only `total=` is read: the averages move every two seconds and lag behind."""

    def __init__(self, proc_root: str) -> None:
        self._memory = KeptFile(f"{proc_root}/pressure/memory")
        self._io = KeptFile(f"{proc_root}/pressure/io")

    def read(self) -> Pressure | None:
        memory_some_us, memory_full_us = _stalls(self._memory)
        if memory_some_us is None or memory_full_us is None:
            return None
        return Pressure(memory_some_us, memory_full_us, *_stalls(self._io))

    def missing(self) -> Missing:
        return [
            (f"{what} pressure (PSI)", _why_no_pressure(file))
            for what, file in (("memory", self._memory), ("disk", self._io))
            if _stalls(file)[0] is None
        ]

    def close(self) -> None:
        self._memory.close()
        self._io.close()


class HostPaging:
    """Counters of /proc/vmstat."""

    def __init__(self, proc_root: str) -> None:
        self._vmstat = KeptFile(f"{proc_root}/vmstat")

    def read(self) -> Paging | None:
        text = self._vmstat.read() or b""
        # What goes to zswap, compressed in RAM, the kernel counts apart; what goes to zram it counts as swap.
        swapped_in = sum(number_after(text, key) or 0 for key in (b"pswpin ", b"zswpin "))
        swapped_out = sum(number_after(text, key) or 0 for key in (b"pswpout ", b"zswpout "))
        major_faults = number_after(text, b"pgmajfault ")
        if major_faults is None:
            return None
        # A kernel built without swap has no pswpin and pswpout: nothing ever was swapped, and that is known.
        oom_kills = number_after(text, b"oom_kill ")
        return Paging(swapped_in, swapped_out, major_faults, refaults_in(text), oom_kills, PAGE_BYTES)

    def missing(self) -> Missing:
        paging = self.read()
        if paging is None:
            trouble = why_unreadable(self._vmstat.path) or "it has no pgmajfault"
            return [("swap and fault counters", f"{self._vmstat.path}: {trouble}")]
        if paging.refaults is None:
            return [("refaults", "the kernel does not count them, so thrashing without swap is detected later")]
        return []

    def close(self) -> None:
        self._vmstat.close()


def _bytes_after(text: bytes, key: bytes) -> int | None:
    kib = number_after(text, key)
    return None if kib is None else kib * KIB


def _kstat(text: bytes, name: bytes) -> int | None:
    """A line of a kstat file: name, type, value."""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == name:
            return int(words[2])
    return None


def _stalls(file: KeptFile) -> tuple[int | None, int | None]:
    """The stalled time (some, full), in microseconds since boot."""
    return parse_stalls(file.read() or b"")


def parse_stalls(text: bytes) -> tuple[int | None, int | None]:
    """(some, full) in microseconds, of a PSI file: the host's or a cgroup's."""
    return _stall(text, b"some "), _stall(text, b"full ")


def _stall(text: bytes, kind: bytes) -> int | None:
    for line in text.splitlines():
        if line.startswith(kind):
            digits = line.partition(b"total=")[2]
            return int(digits) if digits.isdigit() else None
    return None


def _why_no_pressure(file: KeptFile) -> str:
    trouble = why_unreadable(file.path)
    if trouble is None:
        return f"{file.path} is empty: PSI is off"
    return f"{file.path} cannot be read ({trouble}): PSI is off, or the kernel is built without it"


def refaults_in(text: bytes) -> int | None:
    """Of /proc/vmstat or of a cgroup's memory.stat; None on a kernel that does not count them."""
    anonymous = number_after(text, b"workingset_refault_anon ")
    file = number_after(text, b"workingset_refault_file ")
    if anonymous is None and file is None:
        return number_after(text, b"workingset_refault ")  # Before Linux 5.9.
    return (anonymous or 0) + (file or 0)
