"""The limit that counted: RAM or the job's cgroup, whichever had less room left; less the reserve if memwatch acted."""

from dataclasses import dataclass

from memwatch.model.units import format_size
from memwatch.report.run_story import RunStory

NEAR_SHARE = 0.10  # of the limit: with more room than that it was only the nearest one


@dataclass(frozen=True, slots=True)
class CountedLimit:
    """`level_bytes` is where it is drawn: below the limit by the reserve where memwatch stopped the job for that."""

    in_cgroup: bool
    limit_bytes: int
    level_bytes: int
    left_bytes: int

    @property
    def was_near(self) -> bool:
        return self.left_bytes <= NEAR_SHARE * self.limit_bytes or self.level_bytes < self.limit_bytes

    @property
    def words(self) -> str:
        whole = "memory limit of the job's cgroup" if self.in_cgroup else "all of RAM"
        reserve = self.limit_bytes - self.level_bytes
        return f"{whole}, less the reserve of {format_size(reserve)}" if reserve else whole


def counted_limit(story: RunStory) -> CountedLimit | None:
    """None where no limit was recorded."""
    found = []
    if story.total_bytes and story.least_available_bytes is not None:
        found.append((story.least_available_bytes, story.total_bytes, False))
    used = story.levels.highest("limit")
    if story.limit is not None and used is not None:
        found.append((int(story.limit.limit_bytes - used), story.limit.limit_bytes, True))
    if not found:
        return None
    left_bytes, limit_bytes, in_cgroup = min(found)
    reserve = reserve_bytes(story) if _is_stopped(story) else 0
    level_bytes = limit_bytes - reserve if 0 < reserve < limit_bytes else limit_bytes
    return CountedLimit(in_cgroup, limit_bytes, level_bytes, left_bytes)


def reserve_bytes(story: RunStory) -> int:
    limits = (story.start or {}).get("limits")
    reserve = limits.get("reserve_bytes") if isinstance(limits, dict) else None
    return reserve if isinstance(reserve, int) and reserve > 0 else 0


def _is_stopped(story: RunStory) -> bool:
    return story.exit is not None and story.exit.get("by") == "guard"
