"""Whose growth fills memory, when the job is read less often than its room."""

from collections.abc import Callable

from memwatch.decide.forecast import Forecast
from memwatch.decide.monitor import Monitor
from memwatch.model.sample import Memory, Process, Sample
from memwatch.model.units import GIB, MIB

Size = Callable[[float], float]  # MiB over time
TICK_S = 0.1


def forecasts(job: Size, others: Size, read_every_s: float, seconds: float) -> list[Forecast]:
    """As a guard makes them of a machine of 16 GiB that samples its memory ten times a second."""
    monitor = Monitor(lambda capacity: GIB)
    made = []
    read: tuple[Process, ...] = ()
    read_s = float("-inf")
    for tick in range(int(seconds / TICK_S)):
        now_s = tick * TICK_S
        if now_s - read_s >= read_every_s - 1e-6:
            read_s = now_s
            size = int(job(now_s)) * MIB
            read = (Process(7, 7, 1, "R", size, 0, 0.0, None, None, "job"),)
        available = 16 * GIB - int(job(now_s) + others(now_s)) * MIB
        made.append(monitor.forecast(Sample(now_s, now_s, Memory(16 * GIB, available, 0, 0), job=read)))
    return made


def blamed(made: list[Forecast]) -> list[bool]:
    return [forecast.job_explains for forecast in made if forecast.is_credible]


def test_a_growing_job_that_is_read_rarely_is_never_taken_for_other_programs() -> None:
    """At 12 samples a reading, all that a short window sees is newer than the last reading."""
    made = forecasts(lambda t: 900 * t, lambda t: 100, read_every_s=1.2, seconds=15)[30:]
    assert len(blamed(made)) > 50
    assert all(blamed(made))


def test_a_job_that_grows_more_slowly_now_is_still_what_grows() -> None:
    made = forecasts(lambda t: 600 * min(t, 20) + 150 * max(t - 20, 0), lambda t: 100, 0.1, 23)
    assert all(blamed(made[-25:]))


def test_a_job_that_has_stopped_is_not_blamed_for_its_neighbour() -> None:
    made = forecasts(lambda t: 400 * min(t, 10), lambda t: 800 * max(t - 10, 0), read_every_s=0.5, seconds=16)
    late = blamed(made[125:])
    assert late
    assert not any(late)
