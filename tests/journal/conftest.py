"""A disk that can really be filled."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journal.examples import DISK_BYTES


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},nr_inodes=16", "memwatch-test", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
