"""A guard that was stopped and continued: the job has gone on, and nothing old is acted upon."""

import signal
import time

from memwatch.decide.forecast import forecast
from memwatch.decide.history import History
from memwatch.guard.waiting import LATE_S
from memwatch.model.sample import Paging, Sample
from memwatch.model.units import GIB, MIB
from tests.guard.processes import Watched, send, state_of


def test_the_job_goes_on_meanwhile_and_the_guard_afterwards() -> None:
    with Watched("sleep", "1000") as watched:
        job = watched.event("start")["pid"]
        watched.event("sample")
        send(watched.guard.pid, signal.SIGSTOP)
        time.sleep(LATE_S + 1.5)
        assert state_of(job) == "S"
        watched.events += watched.channel.receive()
        watched.events.clear()
        send(watched.guard.pid, signal.SIGCONT)
        watched.event("sample")
        watched.event("sample")
        assert not watched.has("action", by="guard", action="pause")
        watched.tell("kill")
        watched.event("exit")


def test_what_happened_while_nobody_looked_is_not_what_happens_now() -> None:
    """A machine that swapped for a minute and is well again has no swapping to show after the gap is forgotten."""
    history = History()
    history.add(Sample(0.0, 0.0, None, paging=Paging(0, 0, 0, 0)))
    later = Paging(60 * GIB // 4096, 60 * GIB // 4096, 10**6, 10**6)
    history.add(Sample(60.0, 60.0, None, paging=later))
    assert (forecast(history, lambda _: MIB).rates.swap_out_bytes_s or 0) > 500 * MIB
    history.forget()
    history.add(Sample(60.0, 60.0, None, paging=later))
    assert forecast(history, lambda _: MIB).rates.swap_out_bytes_s is None
