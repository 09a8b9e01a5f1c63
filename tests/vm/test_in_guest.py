"""What needs a machine with systemd and cgroup v2, on one: a Debian guest (`make test-vm`)."""

import os
from pathlib import Path

import pytest

from tests.vm.guest import GuestMachine, boot, guest_folder, obstacle

# Emulated, and on a busy machine: 10 minutes were seen.
HANG_S = 1800


def test_the_scope_holds_on_a_real_machine(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--vm"):
        pytest.skip("takes minutes, and a guest that is made by: make test-vm")
    folder = guest_folder()
    if (why := obstacle(folder)) is not None:
        pytest.skip(f"{why}: make test-vm")
    written = boot(folder, tmp_path, HANG_S)
    print(written)
    assert written.endswith("memwatch-guest: exit 0\n"), written


def test_a_confined_job_finishes_beside_a_desktop(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--vm"):
        pytest.skip("takes minutes, and a guest that is made by: make test-vm")
    folder = guest_folder()
    if (why := obstacle(folder)) is not None:
        pytest.skip(f"{why}: make test-vm")
    scenarios = os.environ.get("MEMWATCH_CONFINE_SCENARIOS", "")
    written = boot(folder, tmp_path, HANG_S, GuestMachine("guest-confine", scenarios, memory_mib=768, swap_mib=3072))
    print(written)
    assert written.endswith("memwatch-guest: exit 0\n"), written


def test_the_short_form_in_a_guest(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """What CI has time for."""
    if not request.config.getoption("--vm"):
        pytest.skip("takes minutes, and a guest that is made by: make test-vm")
    folder = guest_folder()
    if (why := obstacle(folder)) is not None:
        pytest.skip(f"{why}: make test-vm-short")
    written = boot(folder, tmp_path, HANG_S, GuestMachine("guest-short"))
    print(written)
    assert written.endswith("memwatch-guest: exit 0\n"), written
