"""Boots the guest that tests/vm/build has made, hands this tree over, and returns what it wrote.

The tree goes as a tar archive that the guest sees as its second disk; what the guest writes comes back by its second
serial line. Its own disk is never written to.
"""

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "tests" / "vm" / "build"
HANDED_OVER = ("memwatch", "tests", "pyproject.toml")
MEMORY_MIB = 1536
# A crash in the guest's kernel (ext4 of Debian 12's 6.1.192 has one, short of memory) must not leave the tests waiting.
DIES_OF_AN_OOPS = "oops=panic panic=-1"


def guest_folder() -> Path:
    """Outside of the tree, because it is large and slow to make; another one for every way to make it."""
    recipe = hashlib.sha256(BUILD.read_bytes()).hexdigest()[:12]
    return Path.home() / ".cache" / "memwatch-guest" / recipe


def obstacle(folder: Path) -> str | None:
    """Why the guest cannot be booted here, if so."""
    if shutil.which("qemu-system-x86_64") is None:
        return "qemu-system-x86_64 is not installed"
    if not (folder / "disk.ext4").exists():
        return f"there is no guest in {folder}"
    return None


@dataclass(frozen=True, slots=True)
class GuestMachine:
    """`script` is run in the guest as root, with `arguments`; `swap_mib` is a second disk, /dev/vdc, as fast as
    `swap_bytes_s`."""

    script: str = "guest"
    arguments: str = ""
    memory_mib: int = MEMORY_MIB
    swap_mib: int | None = None
    swap_bytes_s: int = 40_000_000


def boot(folder: Path, work: Path, hang_s: float, machine: GuestMachine = GuestMachine()) -> str:  # noqa: B008
    """Everything the guest wrote before it switched itself off, or its kernel crashed."""
    handed_over, written = work / "tree.tar", work / "written.txt"
    with tarfile.open(handed_over, "w") as archive:
        for name in HANDED_OVER:
            archive.add(ROOT / name, name, filter=_without_caches)
        archive.addfile(*_script(machine))
    command = [
        "qemu-system-x86_64",
        # Emulated: it boots everywhere, also where /dev/kvm is there and does not work (a guest of a guest).
        *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(machine.memory_mib)),
        *("-kernel", folder / "vmlinuz", "-initrd", folder / "initrd.img"),
        *(
            "-append",
            f"root=/dev/vda rw console=ttyS0 quiet psi=1 systemd.unified_cgroup_hierarchy=1 {DIES_OF_AN_OOPS}",
        ),
        *("-drive", f"file={folder / 'disk.ext4'},format=raw,if=virtio,snapshot=on"),
        *("-drive", f"file={handed_over},format=raw,if=virtio,readonly=on"),
        *_swap_disk(work, machine),
        *("-serial", f"file:{work / 'console.txt'}", "-serial", f"file:{written}"),
        *("-nodefaults", "-display", "none", "-no-reboot"),
    ]
    subprocess.run([str(word) for word in command], check=True, timeout=hang_s, stdin=subprocess.DEVNULL)
    return written.read_text(errors="replace").replace("\r\n", "\n")


def _script(machine: GuestMachine) -> tuple[tarfile.TarInfo, io.BytesIO]:
    text = f"set -- {machine.arguments}\n" + (ROOT / "tests" / "vm" / machine.script).read_text()
    entry = tarfile.TarInfo("tests/vm/guest")
    entry.size = len(text.encode())
    return entry, io.BytesIO(text.encode())


def _swap_disk(work: Path, machine: GuestMachine) -> list[str]:
    if machine.swap_mib is None:
        return []
    disk = work / "swap.raw"
    with disk.open("wb") as file:
        file.truncate(machine.swap_mib << 20)
    speed = f"throttling.bps-total={machine.swap_bytes_s}"
    return ["-drive", f"file={disk},format=raw,if=virtio,cache=unsafe,{speed}"]


def _without_caches(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in entry.name else entry


if __name__ == "__main__":
    if not (guest_folder() / "disk.ext4").exists():
        print(f"== making a Debian guest in {guest_folder()} (downloads about 100 MB)", flush=True)
        sys.exit(subprocess.run([BUILD, guest_folder()]).returncode)
