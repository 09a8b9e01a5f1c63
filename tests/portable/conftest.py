"""memwatch as on a system without /proc: every process that a test starts reads through psutil alone."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.model.units import MIB
from memwatch.on_linux import PROBE_VARIABLE
from memwatch.refuse_linux import LOG_VARIABLE
from tests.cage import CONTROLLER, Cage, cage

CAGED = Path(__file__).parent / "caged"


@pytest.fixture
def portable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails the test if any Linux-only call was reached, whatever became of it."""
    log = tmp_path / "refused.log"
    # A socket's path has 104 bytes on macOS, and pytest's own folders are long.
    state = tempfile.mkdtemp(prefix="memwatch-", dir="/tmp")
    monkeypatch.setenv(PROBE_VARIABLE, "portable")
    monkeypatch.setenv(LOG_VARIABLE, str(log))
    monkeypatch.setenv("XDG_STATE_HOME", state)
    monkeypatch.setenv("TMPDIR", state)
    yield
    shutil.rmtree(state, ignore_errors=True)  # A guard that ends just now removes a folder of its own there.
    assert not log.exists(), log.read_text()


@pytest.fixture
def small_machine(portable: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cage]:
    """A cage that psutil takes for the whole machine."""
    with cage(400 * MIB) as made:
        made.forbid_swap()
        monkeypatch.setenv("MEMWATCH_TEST_CAGE", f"{CONTROLLER}{made.name}")
        monkeypatch.setenv("PYTHONPATH", str(CAGED))
        yield made
