"""The tests that run in the guest load there: it has pytest, hypothesis, click and numpy, and no other package."""

import subprocess
import sys

ABSENT = ("backports", "gigatoken", "isal", "msgspec", "obstore", "psutil", "pyarrow", "pynvml", "textual", "tiktoken")
IN_THE_GUEST = (
    "tests.conftest",
    "tests.faults.test_scope",
    "tests.faults.test_scoped_jobs",
    "tests.faults.test_confine",
    "tests.guard.test_wrapper",
    "tests.guard.test_job_control",
)


def test_what_runs_in_the_guest_needs_no_package_that_it_lacks() -> None:
    script = f"""
import contextlib, importlib, sys
import pytest
for name in {ABSENT!r}:
    sys.modules[name] = None
for name in {IN_THE_GUEST!r}:
    with contextlib.suppress(pytest.skip.Exception):  # There is no scope here.
        importlib.import_module(name)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
