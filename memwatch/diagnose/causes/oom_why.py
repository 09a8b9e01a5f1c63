"""Why memory ran out, in one sentence: who held it, of how much, and whether it happens again and again."""

from memwatch.diagnose.causes.oom_holder import Holder, unaccounted_bytes
from memwatch.diagnose.causes.phrases import sentence
from memwatch.diagnose.logs.oom_kill import NoVictim, OomKill
from memwatch.model.units import format_size

ONE_INCIDENT_S = 120.0  # kills that follow one another so closely are one story
MUCH_SHARE = 0.10  # of RAM: worth naming, where no process holds it
SAME_SIZE_SHARE = 0.10


def why_memory_ran_out(kills: list[OomKill], first: OomKill, holder: Holder | None) -> str:
    parts = [_held(holder) or _victim_held(first)]
    if first.in_cgroup:
        limit = first.cgroup_limit_bytes
        parts.append(None if limit is None else f"the limit was {format_size(limit)}")
        parts.append("the rest of the machine was not short of memory, as far as this shows")
    else:
        bound = "only memory of the NUMA nodes it is bound to counted (cpuset or mempolicy)"
        parts += [_machine(first), _swap(first), bound if first.is_node_bound else None]
        if first.was_roomy:
            free = format_size(first.free_bytes or 0)
            parts.append(f"{free} was free: a cgroup's limit on kernel memory (kmem), or one zone, was used up")
    asked = None if first.invoked_by is None or first.no_victim == NoVictim.CUT else first.invoked_by
    parts.append(None if asked is None else f"{asked} asked for more")
    parts.append(_again(kills))
    unheld = unaccounted_bytes(first)
    if unheld and first.ram_bytes and unheld >= MUCH_SHARE * first.ram_bytes and (holder is None or holder.program):
        parts.append(f"not in any process: {format_size(unheld)}")
    starts_with_name = bool(parts[0]) and (holder is None or holder.program is not None)
    return sentence(parts, starts_with_name) or _nothing_counted(first)


def _nothing_counted(kill: OomKill) -> str:
    if kill.no_victim == NoVictim.NONE_LEFT:
        return "Every process that is left is exempt (oom_score_adj -1000), or the kernel's own."
    if kill.no_victim != NoVictim.CUT:
        return "The log has the kill, and nothing about the memory before it."
    asked = f" for {1 << kill.order} pages in one piece" if kill.order and 0 < kill.order < 20 else ""
    who = "A program" if kill.invoked_by is None else kill.invoked_by
    return f"{who} asked{asked}, and the kernel found none to give; the counters of memory are not in this log."


def _held(holder: Holder | None) -> str | None:
    if holder is None:
        return None
    program = holder.program
    if program is None:
        return f"{format_size(holder.taken_bytes)} was in {holder.words}"
    who = program.name if program.processes == 1 else f"{program.name} ({program.processes} processes)"
    swap = f" and {format_size(program.swap_bytes)} of swap" if program.swap_bytes else ""
    return f"{who} held {format_size(program.rss_bytes)} of RAM{swap}"


def _victim_held(kill: OomKill) -> str | None:
    """Without a table, the victim's own size is all that is known."""
    if kill.rss_bytes is None or kill.is_small_victim:
        return None
    return f"{kill.name} held {format_size(kill.rss_bytes)} of RAM when it was killed"


def _machine(kill: OomKill) -> str | None:
    return None if kill.ram_bytes is None else f"the machine has {format_size(kill.ram_bytes)} of RAM"


def _swap(kill: OomKill) -> str | None:
    if kill.swap_total_bytes == 0:
        return "there was no swap"
    if not kill.swap_total_bytes or kill.swap_free_bytes is None:
        return None
    return f"of {format_size(kill.swap_total_bytes)} of swap {format_size(kill.swap_free_bytes)} was free"


def _again(kills: list[OomKill]) -> str | None:
    """A leak, or a limit that is too low, where the same program comes back."""
    sizes = [kill.taken_bytes for kill in kills if kill.taken_bytes]
    if not is_spread(kills) or len(sizes) < 2:
        return None
    if max(sizes) - min(sizes) <= SAME_SIZE_SHARE * max(sizes):
        return f"each time at about {format_size(max(sizes))}: a leak, or a limit that is too low for it"
    return f"its size was {size_range(sizes)}"


def size_range(sizes: list[int]) -> str:
    least, most = format_size(min(sizes)), format_size(max(sizes))
    return most if least == most else f"{least} - {most}"


def is_spread(kills: list[OomKill]) -> bool:
    known = [kill.t for kill in kills if kill.t is not None]
    return len(known) > 1 and max(known) - min(known) > ONE_INCIDENT_S
