"""How the memory of a process went over the last minute."""

from memwatch.tui.model.series import STEP_S, STEPS, Trends

Key = tuple[int, int]


def process(rss_bytes: int, pid: int = 1, start_ticks: int = 1, swap_bytes: int = 0) -> tuple[Key, int]:
    return (pid, start_ticks), rss_bytes + swap_bytes


def test_the_highest_of_each_step_counts_and_a_minute_is_kept() -> None:
    trends = Trends()
    for second in range(100):
        trends.add(1000 * STEP_S + second, [process(second)])
    steps = trends.of((1, 1))
    assert len(steps) == STEPS
    assert steps == tuple(sorted(steps))
    assert steps[-1] == 99
    trends.add(1000 * STEP_S + 99, [process(5)])
    assert trends.of((1, 1))[-1] == 99


def test_what_is_swapped_out_is_not_gone() -> None:
    trends = Trends()
    trends.add(0.0, [process(100)])
    trends.add(STEP_S, [process(30, swap_bytes=70)])
    assert trends.of((1, 1)) == (100, 100)


def test_where_nobody_looked_it_is_as_it_was() -> None:
    trends = Trends()
    trends.add(0.0, [process(7)])
    trends.add(3 * STEP_S, [process(9)])
    assert trends.of((1, 1)) == (7, 7, 7, 9)
    trends.add(1000 * STEP_S, [process(1)])
    assert trends.of((1, 1)) == (9,) * (STEPS - 1) + (1,)


def test_another_process_with_the_same_pid_begins_anew_and_who_is_gone_is_forgotten() -> None:
    trends = Trends()
    trends.add(0.0, [process(7), process(8, pid=2)])
    trends.add(STEP_S, [process(3, start_ticks=2)])
    assert trends.of((1, 2)) == (3,)
    assert trends.of((1, 1)) == trends.of((2, 1)) == ()


def test_a_clock_that_was_set_back_is_no_step() -> None:
    trends = Trends()
    trends.add(100.0, [process(7)])
    trends.add(10.0, [process(9)])
    assert trends.of((1, 1)) == (9,)
