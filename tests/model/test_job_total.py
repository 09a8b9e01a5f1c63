"""Counts that outlive their processes: nothing is lost and nothing counted twice."""

from memwatch.model.job_total import JobTotal

ROOT, CHILD, OTHER = (1, 10), (2, 20), (3, 30)
PARENTS = {ROOT: None, CHILD: ROOT, OTHER: ROOT}


def test_a_child_that_was_waited_for_is_in_its_parents_count() -> None:
    total = JobTotal()
    assert total.update({ROOT: 5, CHILD: 100}, PARENTS) == 105
    assert total.update({ROOT: 105}, PARENTS) == 105
    assert total.update({ROOT: 107}, PARENTS) == 107


def test_a_parent_read_just_before_it_waited_counts_nothing_twice() -> None:
    total = JobTotal()
    total.update({ROOT: 5, CHILD: 100}, PARENTS)
    assert total.update({ROOT: 5}, PARENTS) == 105
    assert total.update({ROOT: 105}, PARENTS) == 105


def test_a_child_nobody_waited_for_is_not_lost() -> None:
    total = JobTotal()
    total.update({ROOT: 5, CHILD: 100}, PARENTS)
    for _ in range(4):
        assert total.update({ROOT: 5}, PARENTS) == 105
    assert total.update({ROOT: 9}, PARENTS) == 109


def test_a_child_of_a_stranger_is_not_lost() -> None:
    total = JobTotal()
    total.update({ROOT: 5, CHILD: 100}, {ROOT: None, CHILD: None})
    assert total.update({ROOT: 5}, {ROOT: None}) == 105


def test_all_that_ended_at_once_is_kept() -> None:
    total = JobTotal()
    total.update({ROOT: 5, CHILD: 100, OTHER: 1000}, PARENTS)
    assert total.update({}, {}) == 1105
    assert total.update({}, {}) == 1105


def test_a_parent_that_was_not_read_since_is_waited_for() -> None:
    total = JobTotal()
    total.update({ROOT: 5, CHILD: 100}, PARENTS)
    for _ in range(5):
        assert total.update({ROOT: 5}, PARENTS, fresh=()) == 105
    assert total.update({ROOT: 105}, PARENTS, fresh={ROOT}) == 105
