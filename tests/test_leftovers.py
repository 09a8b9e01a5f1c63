"""A test that fails leaves no process behind: whoever runs the suite next would run it beside them."""

import subprocess
import sys
from pathlib import Path

from tests.guard.processes import state_of
from tests.helpers import HANG_S

FAILING = """
import subprocess, sys

def test_it():
    line = [sys.executable, "-m", "memwatch", "run", "--no-record", "--ui", "none", "--"]
    job = subprocess.Popen([*line, "setsid", "sh", "-c", "echo $$; exec sleep 1000"], stdout=subprocess.PIPE)
    print("pids", job.pid, int(job.stdout.readline()))
    assert False
"""


def test_what_a_failing_test_has_started_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "test_failing.py"
    file.write_text(FAILING)
    options = ["-p", "tests.leftovers", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-W", "ignore"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(file)], capture_output=True, text=True, timeout=HANG_S
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("pids "))
    assert [state_of(int(pid)) for pid in line.split()[1:]] == [None, None], done.stdout
