"""The unit in recipes/: systemd understands it, and what it starts exists."""

import os
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.helpers import HANG_S, memwatch

UNIT = Path(__file__).parents[2] / "recipes" / "memwatch-record.service"


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    verify = ["systemd-analyze", "verify", "--user", str(UNIT)]
    done = subprocess.run(verify, capture_output=True, text=True, timeout=HANG_S, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_unit_starts_is_a_command_of_memwatch() -> None:
    unit = ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    assert unit["Service"]["ExecStart"] == "/usr/bin/env memwatch record"
    assert memwatch("record", "--help").code == 0
