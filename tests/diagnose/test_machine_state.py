"""The machine as it is now, on recorded machines."""

from pathlib import Path

import pytest

from memwatch.diagnose.collect.machine_state import read_state, state_source
from memwatch.diagnose.evidence import Settings
from memwatch.model.units import GIB
from tests.probe import trees
from tests.probe.trees import SELF_PID

NOW_T = 1794844800.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwatch.probe.machine.GPU_WAIT_S", 0.1)


def test_settings_and_counters_are_read(tmp_path: Path) -> None:
    tree = trees.desktop_with_zram(tmp_path)
    for name, text in {
        "proc/sys/vm/swappiness": "60\n",
        "proc/sys/vm/overcommit_memory": "0\n",
        "proc/sys/vm/dirty_ratio": "20\n",
        "proc/sys/vm/dirty_bytes": "0\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/kernel/mm/lru_gen/min_ttl_ms": "1000\n",
        "proc/uptime": "9000.5 17000.1\n",
        "proc/pressure/cpu": "some avg10=1.00 avg60=2.00 avg300=8.26 total=359962671\n",
    }.items():
        tree.write(name, text)
    trees.add_process(tree, 950, 1, command="/opt/hog --key SECRET")
    state = read_state(NOW_T, [str(tmp_path)], proc_root=tree.proc, sys_root=tree.sys, self_pid=SELF_PID)
    assert state.settings == Settings(60, 0, 20, 0, "madvise", 1000)
    assert (state.uptime_s, state.cpu_some_avg300) == (9000.5, 8.26)
    assert state.settings.dirty_limit_bytes(10 * GIB) == 2 * GIB
    assert len(state.disks) == 1
    found = str(state_source(state).found)
    assert "7.8 GiB of it zram" in found
    assert "min_ttl_ms 1000" in found
    assert "hog" in found
    assert "SECRET" not in repr(state)


def test_a_machine_that_tells_nothing_is_unknown(tmp_path: Path) -> None:
    tree = trees.bare(tmp_path)
    tree.remove("proc/meminfo")
    state = read_state(NOW_T, [], proc_root=tree.proc, sys_root=tree.sys, self_pid=SELF_PID)
    assert state.settings == Settings()
    assert (state.uptime_s, state.cpu_some_avg300, state.disks) == (None, None, ())
    assert state_source(state).missing == "memory cannot be read"


def test_command_lines_are_shown_when_asked_for(tmp_path: Path) -> None:
    tree = trees.bare(tmp_path)
    trees.add_process(tree, 950, 1, command="/opt/hog --key SECRET")
    state = read_state(NOW_T, [], True, tree.proc, tree.sys, SELF_PID)
    assert "SECRET" in repr(state)
