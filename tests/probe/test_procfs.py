"""The host's memory, pressure and paging, on recorded machines."""

import mmap
import os
from pathlib import Path

import pytest

from memwatch.model.sample import Memory, Paging, Pressure
from memwatch.probe.files import KeptFile, number_after
from memwatch.probe.procfs import HostMemory, HostPaging, HostPressure
from tests.probe.trees import MIB, bare, desktop_with_zram, meminfo, with_zfs


def test_no_swap_is_a_known_zero(tmp_path: Path) -> None:
    memory = HostMemory(bare(tmp_path).proc).read()
    assert memory == Memory(16000 * MIB, 9000 * MIB, 0, 0, zram_bytes=0, shmem_bytes=512 * MIB)


def test_zram_is_told_from_swap_on_disk(tmp_path: Path) -> None:
    memory = HostMemory(desktop_with_zram(tmp_path).proc).read()
    assert memory is not None
    assert (memory.swap_total_bytes, memory.swap_free_bytes) == (12096 * MIB, 11096 * MIB)
    assert memory.zram_bytes == 8000 * MIB


def test_swap_added_later_is_seen(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    host = HostMemory(tree.proc)
    host.read()
    tree.write("proc/meminfo", meminfo(swap_mib=100, swap_free_mib=100))
    tree.write("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 102400 0 100\n")
    memory = host.read()
    assert memory is not None
    assert memory.swap_total_bytes == memory.zram_bytes == 100 * MIB


def test_a_page_in_swap_and_in_ram_is_not_swapped_out(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    tree.write("proc/meminfo", meminfo(swap_mib=100, swap_free_mib=30, swap_cached_mib=50))
    memory = HostMemory(tree.proc).read()
    assert memory is not None
    assert memory.swapped_out_bytes == 20 * MIB


def test_zram_is_unknown_without_a_list_of_swaps(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    tree.remove("proc/swaps")
    memory = HostMemory(tree.proc).read()
    assert memory is not None
    assert memory.zram_bytes is None


@pytest.mark.parametrize(
    ("size_mib", "smallest_mib", "available_mib"),
    [
        pytest.param(3000, 500, 11500, id="cache-above-its-minimum"),
        pytest.param(400, 500, 9000, id="cache-below-its-minimum"),
        pytest.param(15000, 500, 16000, id="never-more-than-there-is"),
    ],
)
def test_zfs_cache_above_its_minimum_is_available(
    tmp_path: Path, size_mib: int, smallest_mib: int, available_mib: int
) -> None:
    memory = HostMemory(with_zfs(tmp_path, size_mib * MIB, smallest_mib * MIB).proc).read()
    assert memory is not None
    assert memory.available_bytes == available_mib * MIB


def test_memory_is_unknown_and_named_where_the_kernel_does_not_estimate_it(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    tree.write("proc/meminfo", "MemTotal: 1024 kB\nMemFree: 512 kB\n")
    host = HostMemory(tree.proc)
    assert host.read() is None
    assert "MemAvailable" in host.missing()[0][1]


def test_pressure_is_the_time_stalled_since_boot(tmp_path: Path) -> None:
    assert HostPressure(bare(tmp_path).proc).read() == Pressure(1000, 500, 3000, 1500)


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "missing"])
def test_no_pressure_is_none_and_named(tmp_path: Path, empty: bool) -> None:
    tree = bare(tmp_path)
    for kind in ("memory", "io"):
        if empty:
            tree.write(f"proc/pressure/{kind}", "")
        else:
            tree.remove(f"proc/pressure/{kind}")
    host = HostPressure(tree.proc)
    assert host.read() is None
    assert [what for what, _ in host.missing()] == ["memory pressure (PSI)", "disk pressure (PSI)"]
    assert all("PSI is off" in reason for _, reason in host.missing())  # doctor says how to switch it on


def test_memory_pressure_is_known_without_that_of_the_disk(tmp_path: Path) -> None:
    tree = bare(tmp_path)
    tree.remove("proc/pressure/io")
    assert HostPressure(tree.proc).read() == Pressure(1000, 500, None, None)


def test_refaults_of_both_kinds_are_added(tmp_path: Path) -> None:
    assert HostPaging(bare(tmp_path).proc).read() == Paging(5, 7, 11, refaults=430)


@pytest.mark.parametrize(
    ("line", "refaults"),
    [
        pytest.param("workingset_refault 42\n", 42, id="before-linux-5.9"),
        pytest.param("", None, id="not-counted"),
    ],
)
def test_older_kernels_count_refaults_otherwise_or_not(tmp_path: Path, line: str, refaults: int | None) -> None:
    tree = bare(tmp_path)
    tree.write("proc/vmstat", f"{line}pswpin 1\npswpout 2\npgmajfault 3\n")
    host = HostPaging(tree.proc)
    assert host.read() == Paging(1, 2, 3, refaults)
    assert bool(host.missing()) == (refaults is None)


def test_a_key_is_found_only_at_the_start_of_a_line() -> None:
    text = b"HighMemFree: 1\nMemFree: 2 kB\nMemFreeze: 3\nEmpty:\nWord: x"
    assert number_after(text, b"MemFree:") == 2
    assert number_after(text, b"HighMemFree:") == 1
    assert number_after(text, b"Free:") is None
    assert number_after(text, b"Empty:") is None
    assert number_after(text, b"Word:") is None


def test_a_file_longer_than_the_kernel_gives_at_once_is_read_whole() -> None:
    maps = [mmap.mmap(-1, 4096, prot=(mmap.PROT_READ, mmap.PROT_WRITE)[odd % 2]) for odd in range(1000)]
    text = KeptFile("/proc/self/maps").read() or b""
    assert text.count(b"\n") >= len(maps)
    assert text.endswith(Path("/proc/self/maps").read_bytes()[-200:])


def test_a_file_that_appears_later_is_read_then(tmp_path: Path) -> None:
    file = KeptFile(str(tmp_path / "later"))
    assert file.read() is None
    (tmp_path / "later").write_text("7\n")
    assert file.number() == 7
    (tmp_path / "later").write_text("8\n")
    assert file.number() == 8
    file.close()


def test_a_file_that_is_dropped_is_closed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("7\n")
    before = len(os.listdir("/proc/self/fd"))
    file = KeptFile(str(tmp_path / "kept"))
    assert file.number() == 7
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del file
    assert len(os.listdir("/proc/self/fd")) == before
