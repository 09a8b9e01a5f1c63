"""Causes that a record of samples shows: swap thrashing, page-cache churn, and a limit that is full."""

from memwatch.diagnose.causes.hung import at_least, hung_in
from memwatch.diagnose.causes.oom_advice import script_advice
from memwatch.diagnose.causes.phrases import clock, growth, listed, sentence, share
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding
from memwatch.diagnose.logs.oom_kill import OomKill
from memwatch.diagnose.logs.stacks import HungTask, Wait
from memwatch.diagnose.timeline.growth import Growth
from memwatch.diagnose.timeline.model import Strain, Stretch, Timeline
from memwatch.model.units import MIB, format_duration, format_size

# A process must have grown this much, or this share of all that grew, to be named as the one that did it.
SMALLEST_GROWTH_BYTES = 64 * MIB
MAIN_GROWER_SHARE = 0.5
KILL_AFTER_S = 180.0  # the kernel may take minutes to decide that memory is gone
PLENTY_SHARE = 0.20

_CAUSES = {
    Strain.SWAP: Cause.SWAP_THRASHING,
    Strain.CHURN: Cause.PAGE_CACHE_CHURN,
    Strain.STALLED: Cause.MEMORY_STALLS,
}


def stretch_findings(evidence: Evidence) -> list[Finding]:
    """One finding a stretch; of two records of the same time, the one that knows more."""
    found: list[tuple[Timeline, Stretch]] = []
    both = [(line, stretch) for line in evidence.timelines for stretch in line.stretches]
    for line, stretch in sorted(both, key=lambda pair: (-len(pair[1].growers), -pair[1].strained_s)):
        if not any(_overlap(stretch, other) for _, other in found):
            found.append((line, stretch))
    return [_stretch_finding(line, stretch, evidence) for line, stretch in found]


def kills_in(stretch: Stretch, evidence: Evidence) -> list[OomKill]:
    """OOM kills that ended it, or tried to; a cgroup's, only where it killed one that grew."""
    growers = {growth.pid for growth in _suspects(stretch)}
    return [
        event
        for event in (() if evidence.log is None else evidence.log.events)
        if isinstance(event, OomKill)
        and event.t is not None
        and stretch.start_t - 10 <= event.t <= stretch.end_t + KILL_AFTER_S
        and (event.pid in growers or not (event.in_cgroup or _has_plenty(stretch)))
    ]


def main_grower(stretch: Stretch) -> Growth | None:
    """The process that grew most of all that could have caused it, if one did."""
    growers = _suspects(stretch)
    grown = sum(growth.grown_bytes for growth in growers)
    if not growers or growers[0].grown_bytes < max(SMALLEST_GROWTH_BYTES, MAIN_GROWER_SHARE * grown):
        return None
    return growers[0]


def _suspects(stretch: Stretch) -> tuple[Growth, ...]:
    """Where the machine had plenty, a process that grew took nothing from anyone: only those whose own memory was
    pushed out to swap had too little of it."""
    if stretch.strain == Strain.SWAP and _has_plenty(stretch):
        return stretch.swapped
    return stretch.growers if stretch.limit is not None or not _has_plenty(stretch) else ()


def _stretch_finding(line: Timeline, stretch: Stretch, evidence: Evidence) -> Finding:
    grower = main_grower(stretch)
    kills = kills_in(stretch, evidence)
    hung = _hung_for_memory(stretch, evidence)
    end_t = max([stretch.end_t, *(kill.t for kill in kills if kill.t is not None and _is_grower(kill, grower))])
    return Finding(
        _CAUSES[stretch.strain],
        _what(stretch, grower),
        _why(stretch, evidence),
        _confidence(stretch, bool(kills or hung)),
        evidence=_shown(line, stretch, kills, hung, evidence),
        advice=_advice(stretch, grower, evidence),
        start_t=stretch.start_t,
        end_t=end_t,
    )


def _is_inside_limit(stretch: Stretch) -> bool:
    """Whether a cgroup limit was used up while the machine had plenty of memory."""
    return stretch.limit is not None and _has_plenty(stretch)


def _has_plenty(stretch: Stretch) -> bool:
    available, total = stretch.least_available_bytes, stretch.total_bytes
    return available is not None and total is not None and available > PLENTY_SHARE * total


def _what(stretch: Stretch, grower: Growth | None) -> str:
    kind = {
        Strain.SWAP: "Swap thrashing",
        Strain.CHURN: "Programs' own pages were dropped and read back from disk, over and over",
        Strain.STALLED: "Programs stalled on memory",
    }[stretch.strain]
    if _is_inside_limit(stretch) and stretch.limit is not None:
        kind += f" inside the memory limit of {stretch.limit.path}"
    elif _has_plenty(stretch):
        kind += ", probably inside a memory limit"
    if grower is None:
        return f"{kind}; {_nobody(stretch)}."
    span = format_duration(max(grower.to_t - grower.from_t, 0.0))
    return f"{kind}: {grower.name} ({grower.pid}) grew {growth(grower.from_bytes, grower.to_bytes)} in {span}."


def _nobody(stretch: Stretch) -> str:
    """The sentence that says why no process is named as the cause."""
    grew = [each for each in _suspects(stretch) if each.grown_bytes >= SMALLEST_GROWTH_BYTES]
    if grew:
        return f"{listed([f'{each.name} ({each.pid})' for each in grew])} grew together"
    return "no process that was recorded grew enough to be named"


def _why(stretch: Stretch, evidence: Evidence) -> str:
    now_t = evidence.now_t
    parts: list[str | None] = []
    if _is_inside_limit(stretch) and stretch.limit is not None:
        limit = format_size(stretch.limit.limit_bytes)
        parts.append(f"of the limit of {limit} nothing was left, while the machine had plenty")
    elif _has_plenty(stretch) and stretch.least_available_bytes is not None:
        left = format_size(stretch.least_available_bytes)
        parts.append(
            f"the machine itself always had {left}, so a cgroup's limit, which is not recorded, was likely full"
        )
    elif stretch.least_available_bytes is not None:
        left = format_size(stretch.least_available_bytes)
        parts.append(f"available memory was down to {left} at {clock(stretch.least_available_t, now_t)}")
    if stretch.swap_full_t is not None:
        parts.append(f"swap full at {clock(stretch.swap_full_t, now_t)}")
    elif stretch.strain == Strain.CHURN and not stretch.swap_total_bytes:
        parts.append("there is no swap, so only file pages could go")
    if stretch.strain == Strain.SWAP and stretch.zram_bytes:
        parts.append(f"{format_size(stretch.zram_bytes)} of the swap is zram, which is RAM itself, compressed")
    if stretch.stalled_fraction is not None:
        parts.append(f"programs stalled {share(stretch.stalled_fraction)} of the time")
    return sentence(parts)


def _confidence(stretch: Stretch, confirmed: bool) -> Confidence:
    """High needs two kinds of evidence: traffic and stalls, or one of them and the kernel's own word, or a gap."""
    has_traffic = stretch.strain != Strain.STALLED
    signs = [has_traffic, stretch.stalled_fraction is not None, confirmed, stretch.longest_gap_s > 0]
    return Confidence.HIGH if sum(signs) >= 2 else Confidence.MEDIUM


def _shown(
    line: Timeline, stretch: Stretch, kills: list[OomKill], hung: list[HungTask], evidence: Evidence
) -> tuple[str, ...]:
    now_t = evidence.now_t
    shown = [f"{line.name} {clock(stretch.start_t, now_t)} - {clock(stretch.end_t, now_t)}"]
    if stretch.strain == Strain.SWAP:
        coming = format_size(stretch.swapped_in_bytes / stretch.strained_s)
        going = format_size(stretch.swapped_out_bytes / stretch.strained_s)
        shown.append(f"swap in and out at once: {coming}/s in, {going}/s out")
    elif stretch.strain == Strain.CHURN and stretch.refaults:
        pages = stretch.refaults / stretch.strained_s
        shown.append(f"pages read back soon after they were dropped: {pages:.0f} a second")
    if stretch.biggest:
        sizes = [f"{each.name} ({each.pid}) {format_size(each.to_bytes)}" for each in stretch.biggest]
        shown.append(f"the biggest then: {listed(sizes)}")
    if stretch.longest_gap_s:
        shown.append(f"the recorder itself stood still for {format_duration(stretch.longest_gap_s)}")
    shown += [f"kernel log: oom-kill of {kill.name} ({kill.pid}) at {clock(kill.t, now_t)}" for kill in kills[:2]]
    shown += [f"kernel log: {task.name} ({task.pid}) blocked{at_least(task.seconds)}" for task in hung[:1]]
    if stretch.cut_off:
        shown.append("the record ends here: the machine was reset or lost power, or the recorder was killed")
    return tuple(shown)


def _advice(stretch: Stretch, grower: Growth | None, evidence: Evidence) -> tuple[str, ...]:
    advice = []
    if grower is None:
        advice.append("memwatch run -- COMMAND: whatever grows next time is paused before the machine stalls.")
    else:
        advice.append(f"memwatch run -- {grower.name} ...: it is paused or stopped before the machine stalls.")
        advice += script_advice(grower.name)
    if _is_inside_limit(stretch) and stretch.limit is not None:
        advice.append(f"Raise the limit of {stretch.limit.path}, if the job is meant to take that much.")
        return tuple(advice)
    if stretch.strain == Strain.CHURN and not stretch.swap_total_bytes:
        advice.append("A few GiB of swap or zram would have let idle memory go, instead of programs' own pages.")
    settings = None if evidence.state is None else evidence.state.settings
    if settings is not None and settings.min_ttl_ms == 0:
        advice.append(
            "echo 1000 > /sys/kernel/mm/lru_gen/min_ttl_ms: the kernel then kills rather than thrash away what was used"
            " in the last second."
        )
    return tuple(advice)


def _overlap(one: Stretch, other: Stretch) -> bool:
    return one.start_t <= other.end_t + 10 and other.start_t <= one.end_t + 10


def _is_grower(kill: OomKill, grower: Growth | None) -> bool:
    return grower is not None and kill.pid == grower.pid


def _hung_for_memory(stretch: Stretch, evidence: Evidence) -> list[HungTask]:
    return hung_in(Wait.MEMORY, stretch.start_t, stretch.end_t, evidence)
