"""Recorded machines: small /proc and /sys trees, as the machines they are named after show them."""

from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024

SELF_PID = 900  # Who reads; it is in every tree.

_CGROUP1 = "35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
_CPU = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"


@dataclass(frozen=True, slots=True)
class Tree:
    proc: str
    sys: str

    def write(self, name: str, text: str | bytes) -> None:
        """`name` begins with proc/ or sys/."""
        folder, _, rest = name.partition("/")
        path = Path(self.proc if folder == "proc" else self.sys, rest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def remove(self, name: str) -> None:
        folder, _, rest = name.partition("/")
        Path(self.proc if folder == "proc" else self.sys, rest).unlink()


def meminfo(
    total_mib: int = 16000,
    available_mib: int = 9000,
    swap_mib: int = 0,
    swap_free_mib: int = 0,
    swap_cached_mib: int = 0,
) -> str:
    return (
        f"MemTotal:       {total_mib * 1024} kB\nMemFree:         {available_mib * 512} kB\n"
        f"MemAvailable:   {available_mib * 1024} kB\nBuffers:          110592 kB\nCached:          4190208 kB\n"
        f"SwapCached:     {swap_cached_mib * 1024} kB\nSwapTotal:      {swap_mib * 1024} kB\n"
        f"SwapFree:       {swap_free_mib * 1024} kB\nShmem:            524288 kB\n"
    )


def stat_line(
    pid: int,
    parent: int,
    comm: bytes = b"job",
    start_ticks: int = 5000,
    group: int | None = None,
    session: int | None = None,
    threads: int = 1,
) -> bytes:
    before = f"{pid} (".encode() + comm + b") S "
    numbers = (
        f"{parent} {group or pid} {session or pid} 0 -1 4194304 9 0 1 0 250 50 0 0 20 0 {threads} 0 {start_ticks} "
    )
    return before + numbers.encode() + b"10485760 512 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n"


def add_process(tree: Tree, pid: int, parent: int, command: str = "job --fast", **stat: object) -> None:
    tree.write(f"proc/{pid}/stat", stat_line(pid, parent, **stat))  # type: ignore[arg-type]
    tree.write(f"proc/{pid}/cmdline", command.replace(" ", "\0") + "\0" if command else "")
    tree.write(f"proc/{pid}/statm", "2560 512 200 1 0 90 0\n")
    tree.write(f"proc/{pid}/status", f"Name:\tjob\nPid:\t{pid}\nVmRSS:\t    2048 kB\nVmSwap:\t    3072 kB\n")
    tree.write(f"proc/{pid}/io", "rchar: 9\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n")
    tree.write(f"proc/{pid}/task/{pid}/children", "")
    siblings = Path(tree.proc, f"{parent}/task/{parent}/children")
    if siblings.exists():
        siblings.write_text(siblings.read_text() + f"{pid} ")


def bare(folder: Path) -> Tree:
    """A machine with memory, PSI and counters, no swap, no cgroup and no graphics card."""
    tree = Tree(str(folder / "proc"), str(folder / "sys"))
    tree.write("proc/meminfo", meminfo())
    tree.write("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
    for kind, total in (("memory", 1000), ("io", 3000)):
        averages = "avg10=0.10 avg60=0.00 avg300=0.00"
        tree.write(f"proc/pressure/{kind}", f"some {averages} total={total}\nfull {averages} total={total // 2}\n")
    tree.write(
        "proc/vmstat",
        "nr_free_pages 6102779\nworkingset_refault_anon 30\nworkingset_refault_file 400\npswpin 5\npswpout 7\n"
        "pgfault 1234\npgmajfault 11\n",
    )
    tree.write("proc/self/mountinfo", _CPU)
    tree.write("proc/thread-self/children", "")
    add_process(tree, SELF_PID, 1, command="guard")
    tree.write(f"proc/{SELF_PID}/cgroup", "1:cpu:/\n")
    return tree


def desktop_with_zram(folder: Path) -> Tree:
    tree = bare(folder)
    tree.write("proc/meminfo", meminfo(swap_mib=12096, swap_free_mib=11096))
    tree.write(
        "proc/swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
        f"/dev/zram0                              partition\t{8000 * 1024}\t\t{900 * 1024}\t\t100\n"
        f"/swap\\040file                            file\t\t{4096 * 1024}\t\t{100 * 1024}\t\t-2\n",
    )
    return tree


def with_zfs(folder: Path, size: int, smallest: int) -> Tree:
    tree = bare(folder)
    lines = ("9 1 0x01 147 39984 6193 6010", "name type data", "hits 4 99", f"c_min 4 {smallest}", "c_max 4 9", "c 4 8")
    tree.write("proc/spl/kstat/zfs/arcstats", "\n".join((*lines, f"size 4 {size}", "compressed_size 4 77")) + "\n")
    return tree


def cgroup2(tree: Tree, folder: str, limit: str, current: int = 0, cache: int = 0, shmem: int = 0) -> None:
    tree.write(f"sys/{folder}/memory.max", f"{limit}\n")
    tree.write(f"sys/{folder}/memory.high", "max\n")
    tree.write(f"sys/{folder}/memory.current", f"{current}\n")
    tree.write(f"sys/{folder}/memory.swap.current", f"{5 * MIB}\n")
    stat = f"anon 1\nfile {cache + shmem}\nshmem {shmem}\ninactive_anon 7\nactive_anon 7\n"
    tree.write(f"sys/{folder}/memory.stat", stat + f"inactive_file {cache // 4}\nactive_file {cache - cache // 4}\n")


def cgroup1(tree: Tree, folder: str, limit: int, usage: int = 0, cache: int = 0) -> None:
    tree.write(f"sys/{folder}/memory.limit_in_bytes", f"{limit}\n")
    tree.write(f"sys/{folder}/memory.usage_in_bytes", f"{usage}\n")
    own = "inactive_file 1\nactive_file 1\n"  # Without what is below it: not what is asked for.
    tree.write(f"sys/{folder}/memory.stat", own + f"total_inactive_file {cache}\ntotal_active_file 0\ntotal_shmem 9\n")


def container_v2(folder: Path) -> Tree:
    """docker run --memory 512m with a cgroup namespace: the container is its own root."""
    tree = bare(folder)
    tree.write("proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n")
    tree.write(f"proc/{SELF_PID}/cgroup", "0::/\n")
    tree.write("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
    cgroup2(tree, "fs/cgroup", str(512 * MIB), current=300 * MIB, cache=100 * MIB, shmem=50 * MIB)
    return tree


def desktop_v2(folder: Path) -> Tree:
    """systemd: the limit is two levels up, the levels between have none."""
    tree = bare(folder)
    tree.write("proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n")
    tree.write(f"proc/{SELF_PID}/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n")
    tree.write("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
    cgroup2(tree, "fs/cgroup/user.slice", str(8000 * MIB), current=2000 * MIB)
    cgroup2(tree, "fs/cgroup/user.slice/user-1000.slice", "max", current=1000 * MIB)
    cgroup2(tree, "fs/cgroup/user.slice/user-1000.slice/session-2.scope", "max", current=900 * MIB)
    return tree


def container_v1(folder: Path) -> Tree:
    """docker on v1: no namespace, so the container's own cgroup is mounted as the top folder."""
    tree = bare(folder)
    tree.write("proc/self/mountinfo", _CPU + _CGROUP1.format(root="/docker/abc"))
    tree.write(f"proc/{SELF_PID}/cgroup", "4:memory:/docker/abc/inner\n1:cpu:/docker/abc\n")
    cgroup1(tree, "fs/cgroup/memory", 256 * MIB, usage=200 * MIB, cache=80 * MIB)
    cgroup1(tree, "fs/cgroup/memory/inner", 9223372036854771712, usage=10 * MIB)
    return tree


def hybrid(folder: Path) -> Tree:
    """v1 has the memory controller, v2 is mounted beside it without one."""
    tree = bare(folder)
    unified = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
    tree.write("proc/self/mountinfo", unified + _CGROUP1.format(root="/"))
    tree.write(f"proc/{SELF_PID}/cgroup", "4:memory:/jobs\n0::/system.slice\n")
    tree.write("sys/fs/cgroup/unified/cgroup.controllers", "")
    tree.write("sys/fs/cgroup/unified/system.slice/cgroup.procs", "")
    cgroup1(tree, "fs/cgroup/memory/jobs", 128 * MIB, usage=100 * MIB)
    cgroup1(tree, "fs/cgroup/memory", 9223372036854771712)
    return tree


def add_card(tree: Tree, bus_id: str, vendor: str, driver: str, runtime_status: str = "active") -> str:
    folder = f"sys/bus/pci/devices/{bus_id}"
    tree.write(f"{folder}/vendor", f"{vendor}\n")
    tree.write(f"{folder}/class", "0x030000\n")
    tree.write(f"{folder}/power/runtime_status", f"{runtime_status}\n")
    Path(tree.sys, f"bus/pci/devices/{bus_id}/driver").symlink_to(f"../../../bus/pci/drivers/{driver}")
    return folder
