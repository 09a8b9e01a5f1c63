"""Ray tasks with a Ray that only pretends: what is asked of it."""

from typing import Any

from memwatch.cluster.ray_pool import LEAST_TASKS, TASKS_A_CPU, RayPool
from memwatch.cluster.segment_tasks import SegmentTask


class PretendedRay:
    def __init__(self, cpus: int) -> None:
        self._cpus = cpus
        self.options: dict[str, Any] = {}

    def remote(self, **options: object) -> Any:
        self.options = options
        return lambda function: function

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self._cpus)}


def pool_of(ray: PretendedRay, most_tasks: int | None = None) -> RayPool:
    return RayPool(ray, SegmentTask("out", 0, "tiktoken", 0, "1", 1.0, "plan"), 1 << 30, most_tasks)


def test_tasks_are_spread() -> None:
    """With Ray's default strategy, two nodes and the head exchange requests without a pause while tasks wait."""
    ray = PretendedRay(cpus=2)
    pool_of(ray)
    assert ray.options["scheduling_strategy"] == "SPREAD"


def test_as_many_tasks_run_as_there_are_cpus_and_some_wait() -> None:
    assert (pool_of(PretendedRay(cpus=2)).most_running, pool_of(PretendedRay(cpus=2)).slots) == (2, LEAST_TASKS)
    assert (pool_of(PretendedRay(cpus=64)).most_running, pool_of(PretendedRay(cpus=64)).slots) == (64, 64 * TASKS_A_CPU)
    assert (pool_of(PretendedRay(cpus=64), 3).most_running, pool_of(PretendedRay(cpus=64), 3).slots) == (3, 3)
    assert pool_of(PretendedRay(cpus=0)).slots == LEAST_TASKS  # An autoscaler starts nodes for them.
