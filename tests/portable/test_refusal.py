"""The seam of MEMWATCH_PROBE=portable: what only Linux has is refused, and psutil may still use it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memwatch.on_linux import PROBE_VARIABLE
from memwatch.refuse_linux import LOG_VARIABLE
from tests.helpers import HANG_S


def run(code: str, log: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, PROBE_VARIABLE: "portable", LOG_VARIABLE: str(log)}
    command = [sys.executable, "-c", f"import memwatch\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, env=environment)


@pytest.mark.parametrize(
    ("code", "named"),
    [
        pytest.param(
            "from memwatch.probe.files import *; read_file('/proc/meminfo')", "/proc/meminfo", id="open of /proc"
        ),
        pytest.param("from memwatch.probe.pci import *; read_text('/sys/x')", "/sys/x", id="open of /sys"),
        pytest.param("from memwatch.probe.machine import *; disk_free_bytes('/proc/1')", "/proc/1", id="stat of /proc"),
        pytest.param("from memwatch.guard.system import *; signal_descriptor([15])", "signalfd", id="C function"),
        pytest.param("import os; os.pidfd_open(1)", None, id="pidfd"),
        pytest.param("import socket; socket.SO_PEERCRED", None, id="peer credentials"),
    ],
)
def test_a_linux_only_call_is_refused(code: str, named: str | None, tmp_path: Path) -> None:
    done = run(code, tmp_path / "log")
    if named is None:
        assert "AttributeError" in done.stderr
    else:
        assert "LinuxOnly" in done.stderr, done.stderr
        assert named in (tmp_path / "log").read_text()


def test_psutil_reads_what_memwatch_may_not(tmp_path: Path) -> None:
    code = "from memwatch.probe.cgroups import memory_sample; print(memory_sample().memory.total_bytes)"
    done = run(code, tmp_path / "log")
    assert int(done.stdout) == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), done.stderr
    assert not (tmp_path / "log").exists()


def test_without_the_variable_nothing_is_refused() -> None:
    assert (
        "memwatch.refuse_linux"
        not in subprocess.run(
            [sys.executable, "-c", "import memwatch, sys; print(*sys.modules)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    )
