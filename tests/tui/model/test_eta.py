"""When it will be done, and how sure that is."""

import random

from memwatch.tui.model.eta import Eta, ProgressPace


def paced(*points: tuple[float, float], total: float | None = 1000.0) -> Eta | None:
    pace = ProgressPace()
    for t, done in points:
        pace.add(t, done)
    return pace.eta(total)


def test_a_steady_pace_has_no_spread() -> None:
    eta = paced(*((float(t), 10.0 * t) for t in range(30)))
    assert eta is not None
    assert (eta.rate_s, eta.seconds) == (10.0, 71.0)
    assert eta.soonest_s == eta.latest_s == 71.0


def test_an_unsteady_pace_has_a_range_that_holds_the_truth() -> None:
    chance = random.Random(1)
    done, points = 0.0, []
    for t in range(60):
        points.append((float(t), done))
        done += chance.uniform(0, 20)
    eta = paced(*points, total=100_000)
    assert eta is not None
    truth = (100_000 - points[-1][1]) / 10
    assert eta.soonest_s is not None
    assert eta.latest_s is not None
    assert eta.soonest_s < truth < eta.latest_s
    assert eta.latest_s < 2 * truth


def test_one_slow_moment_does_not_widen_the_range() -> None:
    points = [(float(t), 10.0 * t if t < 20 else 10.0 * t - 50) for t in range(50)]
    eta = paced(*points)
    assert eta is not None
    assert eta.latest_s is not None
    assert eta.latest_s < 1.2 * (eta.seconds or 0)


def test_only_the_last_minute_counts() -> None:
    fast = [(float(t), 100.0 * t) for t in range(10)]
    slow = [(10.0 + t, 1000.0 + t) for t in range(120)]
    eta = paced(*fast, *slow, total=2000)
    assert eta is not None
    assert 0.99 < eta.rate_s < 1.01


def test_nothing_is_said_too_early_or_of_what_stands_still() -> None:
    assert paced() is None
    assert paced((0.0, 1.0)) is None
    assert paced((0.0, 1.0), (1.0, 2.0)) is None
    assert paced((0.0, 5.0), (10.0, 5.0)) is None


def test_without_a_total_there_is_a_rate() -> None:
    assert paced((0.0, 0.0), (10.0, 50.0), total=None) == Eta(5.0)


def test_a_new_file_or_a_clock_set_back_begins_anew() -> None:
    assert paced((0.0, 0.0), (10.0, 500.0), (11.0, 3.0)) is None
    assert paced((100.0, 0.0), (10.0, 500.0)) is None
