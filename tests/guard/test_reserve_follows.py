"""The reserve, the forecast and their words follow the room that counts: that of a child in a tighter cgroup, too."""

import shlex
import signal
import sys

import pytest

from memwatch.model.units import MIB
from tests.cage import Cage, cage, needs_cage
from tests.guard.processes import Watched
from tests.guard.test_runs_together import JOB

pytestmark = needs_cage
LIMIT_MIB = 400  # of which a quarter is the reserve


def in_cage(small: Cage, size_mib: int, is_child: bool) -> list[str]:
    """A job that enters a small cage only when it runs; the guard stays outside."""
    command = small.command(sys.executable, "-c", JOB, size_mib, 1)
    return ["sh", "-c", f"{shlex.join(command)}; exit $?"] if is_child else command


@pytest.mark.parametrize("is_child", [False, True], ids=["the-job-moves", "a-child-is-in-it"])
def test_a_job_that_fits_into_the_smaller_room_is_left_alone(is_child: bool) -> None:
    """A reserve of 10 % of the machine's RAM would leave it nothing."""
    with cage(LIMIT_MIB * MIB) as small, Watched(*in_cage(small, 200, is_child)) as watched:
        watched.event("start")
        assert watched.event("exit")["code"] == 0
        assert not [e for e in watched.events if e["event"] == "action" and not e.get("brief")]


@pytest.mark.parametrize("is_child", [False, True], ids=["the-job-moves", "a-child-is-in-it"])
def test_a_hog_in_the_smaller_room_is_paused_before_the_kernel_kills_it(is_child: bool) -> None:
    with cage(LIMIT_MIB * MIB) as small, Watched(*in_cage(small, 1000, is_child), pause_timeout_s=1) as watched:
        small.forbid_swap()
        watched.event("start")
        pause = watched.event("action", action="pause", next="stop")
        assert f"{LIMIT_MIB}.0 MiB memory limit of {small.name}" in pause["reason"]
        ended = watched.event("exit")
        assert (ended["code"], ended["by"]) == (124, "guard")
        assert ended["signal"] in (None, signal.SIGTERM)
