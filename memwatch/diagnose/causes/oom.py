"""OOM kills by the kernel: whose limit was reached, who held the memory, and what to do about it."""

from collections.abc import Iterable

from memwatch.diagnose.causes.memory_shortage import main_grower
from memwatch.diagnose.causes.oom_advice import MAIN_SHARE, oom_advice
from memwatch.diagnose.causes.oom_holder import (
    ONE_INCIDENT_S,
    Holder,
    held_parts,
    holder_of,
    is_held_by_no_process,
    is_spread,
    size_range,
    why_memory_ran_out,
)
from memwatch.diagnose.causes.phrases import SINCE_BOOT_S, clock, forecast_of, listed, moment, sentence, times
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding, chosen
from memwatch.diagnose.logs.log_events import LogEvents
from memwatch.diagnose.logs.oom_kill import LimitKind, NoVictim, OomKill, Shortage
from memwatch.diagnose.timeline.growth import Growth
from memwatch.model.units import format_duration, format_size

SAME_STORY_S = 600.0

_CAUSES = {
    LimitKind.MACHINE: Cause.OOM_KILL,
    LimitKind.CGROUP: Cause.CGROUP_LIMIT,
    LimitKind.UNKNOWN: Cause.OOM_UNKNOWN_LIMIT,
}
WHICH_LIMIT = "which limit was reached, the machine's or a cgroup's: `journalctl -k -o short` has the lines before it"
WHICH_VICTIM = "which process was killed, if any: the log ends before its name"
WHO_HELD = "who held the memory: the table of processes (`journalctl -k`, 'Tasks state') is not in this log"


def oom_findings(evidence: Evidence, told: Iterable[int | None]) -> list[Finding]:
    """`told`: victims that another finding has named already, as the ones that grew."""
    known = set(told) - {None}
    kills = [kill for kill in _kills(evidence) if kill.pid not in known and _is_relevant(kill, evidence)]
    return [_finding(group, evidence) for group in _grouped(kills)]


def _kills(evidence: Evidence) -> list[OomKill]:
    return [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, OomKill)]


def _is_relevant(kill: OomKill, evidence: Evidence) -> bool:
    """Of another cgroup than the run's, a kill has nothing to do with it."""
    return not evidence.is_of_run or not kill.in_cgroup or evidence.run_of(kill.pid) is not None


def _grouped(kills: list[OomKill]) -> list[list[OomKill]]:
    """Kills of one story: soon after one another, or of the same program for the same reason."""
    groups: list[list[OomKill]] = []
    for kill in kills:
        same = [group for group in groups if _is_same_story(group, kill)]
        if same:
            same[-1].append(kill)
        else:
            groups.append([kill])
    return [_with_known_limit(group) for group in groups]


def _is_same_story(group: list[OomKill], kill: OomKill) -> bool:
    last = group[-1]
    if (last.shortage, last.cgroup or kill.cgroup) != (kill.shortage, kill.cgroup or last.cgroup):
        return False
    if last.limit != kill.limit and LimitKind.UNKNOWN not in (last.limit, kill.limit):
        return False
    if last.t is not None and kill.t is not None and (last.t < SINCE_BOOT_S) != (kill.t < SINCE_BOOT_S):
        return False  # Of two logs in one paste, one counts from the start of its machine.
    is_soon = last.t is None or kill.t is None or kill.t - last.t <= ONE_INCIDENT_S
    if last.limit != kill.limit:
        return is_soon and last.name == kill.name
    if kill.pid is None and last.t is not None and kill.t is not None:
        return kill.t - last.t <= SAME_STORY_S  # A report without an end, after a kill for the same reason.
    return is_soon or (kill.name == last.name and kill.pid is not None)


def _with_known_limit(group: list[OomKill]) -> list[OomKill]:
    """Old kernels print the first of their two lines not every time: the limit is that of the others."""
    return sorted(group, key=lambda kill: kill.limit == LimitKind.UNKNOWN)


def _finding(kills: list[OomKill], evidence: Evidence) -> Finding:
    shortage = kills[0].shortage
    if shortage == Shortage.NONE:
        return _by_hand_finding(kills, evidence)
    if shortage in (Shortage.CONTIGUOUS, Shortage.ZONE):
        return _enough_free_finding(kills, evidence)
    first = next((kill for kill in kills if kill.programs), kills[0])
    guilty = _guilty(kills, evidence)
    holder = holder_of(first)
    known_t = [kill.t for kill in kills if kill.t is not None]
    return Finding(
        _CAUSES[kills[0].limit],
        _what(kills, first, holder, guilty, evidence),
        why_memory_ran_out(kills, first, holder, is_guilty_known=guilty is not None),
        _confidence(kills[0], holder),
        tuple(_log_lines(kills, first, evidence)),
        tuple(oom_advice(first, holder, guilty, evidence)),
        min(known_t, default=None),
        max(known_t, default=None),
        tuple(_missing(kills, first, is_holder_known=holder is not None or guilty is not None)),
        held=held_parts(first),
    )


def _what(
    kills: list[OomKill],
    first: OomKill,
    holder: Holder | None,
    guilty: tuple[str, int, int | None] | None,
    evidence: Evidence,
) -> str:
    what = f"{_reached(kills[0])}{_how_often(kills)}{_ended(kills, evidence)}."
    if first.pid is None:
        return what
    names = listed(list(dict.fromkeys(kill.name for kill in kills)))
    if guilty is not None:
        name, pid, size = guilty
        held = "held the memory" if size is None else f"held {format_size(size)}"
        return f"{what} {name} ({pid}) {held}: {names} was killed in its place."
    if holder is not None and is_held_by_no_process(first, holder):
        return f"{what} {format_size(holder.taken_bytes)} was in {holder.words}: {names} is not the reason."
    program = None if holder is None else holder.program
    if program is not None and program.processes > 1 and program.taken_bytes > 1.5 * (first.taken_bytes or 0):
        return f"{what} {program.processes} processes of {program.name} held {format_size(program.taken_bytes)} in all."
    if first.is_small_victim and holder is None:
        return f"{what} That is too little to be the reason."
    return what


def _reached(kill: OomKill) -> str:
    if kill.limit == LimitKind.MACHINE:
        return "Memory ran out"
    if kill.limit == LimitKind.UNKNOWN:
        return "A memory limit was reached (the machine's or a cgroup's)"
    return f"The memory limit of {chosen(kill.cgroup) if kill.cgroup else 'a cgroup'} was reached"


def _how_often(kills: list[OomKill]) -> str:
    if len(kills) == 1 or not is_spread(kills) or any(kill.t is None for kill in kills):
        return ""
    known = [kill.t for kill in kills if kill.t is not None]
    return f" {times(len(kills))} in {format_duration(max(known) - min(known))},"


def _ended(kills: list[OomKill], evidence: Evidence) -> str:
    no_victim = kills[0].no_victim
    if no_victim is None:
        return f" and the kernel killed {_victims(kills, evidence)}"
    if no_victim == NoVictim.NONE_LEFT:
        return " and there was no process that the kernel may kill"
    if no_victim == NoVictim.PANIC:
        return " and the kernel panicked, as panic_on_oom requires"
    if kills[0].pid is not None:
        return f" and the kernel chose {kills[0].name} ({kills[0].pid}) to be killed"
    by = "" if kills[0].invoked_by is None else f" when {kills[0].invoked_by} asked for more"
    return f"{by}; the log ends before the kernel names a victim"


def _victims(kills: list[OomKill], evidence: Evidence) -> str:
    """'python (7, 2.0 GiB)', and of a program that was killed again and again 'rms 5 times (6.9 GiB - 9.4 GiB)'."""
    by_name: dict[str, list[OomKill]] = {}
    for kill in kills:
        if kill.pid is not None:
            by_name.setdefault(evidence.name_of(kill.pid, kill.name), []).append(kill)
    said = []
    for name, same in by_name.items():
        sizes = [kill.taken_bytes for kill in same if kill.taken_bytes is not None]
        if len(same) == 1:
            size = f", {format_size(sizes[0])}" if sizes else ""
            said.append(f"{name} ({same[0].pid}{size})")
        else:
            said.append(f"{name} {times(len(same))}" + (f" ({size_range(sizes)})" if sizes else ""))
    return listed(said)


def _guilty(kills: list[OomKill], evidence: Evidence) -> tuple[str, int, int | None] | None:
    """(name, pid, bytes) of who took more than any victim, or grew while a victim did not."""
    victims = {kill.pid for kill in kills}
    grower = _grower_before(kills[0], evidence)
    if grower is not None:
        return None if grower.pid in victims else (grower.name, grower.pid, grower.to_bytes)
    bigger = kills[0].bigger
    if bigger is None or bigger.pid in victims or bigger.name == kills[0].name:
        return None
    holder = holder_of(kills[0])
    if holder is not None and holder.program is None and holder.taken_bytes > bigger.taken_bytes:
        return None
    return bigger.name, bigger.pid, bigger.taken_bytes


def _grower_before(kill: OomKill, evidence: Evidence) -> Growth | None:
    if kill.t is None:
        return None
    for line in evidence.timelines:
        for stretch in line.stretches:
            if stretch.start_t - 10 <= kill.t <= stretch.end_t + 180:
                return main_grower(stretch)
    return None


def _confidence(kill: OomKill, holder: Holder | None) -> Confidence:
    if kill.limit == LimitKind.UNKNOWN:
        return Confidence.LOW
    if kill.no_victim == NoVictim.NONE_LEFT:
        return Confidence.MEDIUM if kill.ram_bytes is None else Confidence.HIGH
    if kill.no_victim is not None or kill.was_roomy:
        return Confidence.MEDIUM
    return Confidence.MEDIUM if kill.is_small_victim and holder is None else Confidence.HIGH


def _missing(kills: list[OomKill], first: OomKill, is_holder_known: bool) -> list[str]:
    missing = []
    if any(kill.no_victim == NoVictim.CUT and kill.pid is None for kill in kills):
        missing.append(WHICH_VICTIM)
    if kills[0].limit == LimitKind.UNKNOWN:
        missing.append(WHICH_LIMIT)
    whole = first.cgroup_limit_bytes if first.in_cgroup else first.ram_bytes
    is_most = whole is not None and (first.taken_bytes or 0) >= MAIN_SHARE * whole
    if not is_holder_known and not is_most:
        missing.append(WHO_HELD)
    return missing


def _log_lines(kills: list[OomKill], first: OomKill, evidence: Evidence) -> list[str]:
    now_t = evidence.now_t
    lines = [
        f"kernel log: oom-kill of {kill.name} ({kill.pid}){moment(kill.t, now_t)}"
        if kill.pid is not None and kill.no_victim is None
        else f"kernel log: OOM report{moment(kill.t, now_t)}, without a victim"
        for kill in kills[:3]
    ]
    if len(kills) > 3:
        lines.append(f"kernel log: {len(kills) - 3} more kills until {clock(kills[-1].t, evidence.now_t)}")
    if first.programs:
        biggest = [f"{each.name} {format_size(each.taken_bytes)}" for each in first.programs[:3]]
        lines.append(f"the biggest then, RAM and swap: {listed(biggest)}")
    if first.task_cgroup is not None and first.task_cgroup not in ("/", first.cgroup):
        lines.append(f"{first.name or 'it'} was in the cgroup {chosen(first.task_cgroup)}")
    adjusted = kills[0].oom_score_adj
    run = evidence.run_of(kills[0].pid)
    if run is not None:
        lines.append(f"run {run.run_id}: it was of this job, peak memory {format_size(run.peak_job_bytes or 0)}")
        lines += forecast_of(run, evidence.now_t)
    elif adjusted and adjusted > 0:
        lines.append(f"{kills[0].name} was marked to be killed first (oom_score_adj {adjusted})")
    return lines


def _by_hand_finding(kills: list[OomKill], evidence: Evidence) -> Finding:
    named = [kill for kill in kills if kill.pid is not None]
    ended = f"killed {_victims(named, evidence)}" if named else "named no victim in this log"
    known_t = [kill.t for kill in kills if kill.t is not None]
    return Finding(
        Cause.SYSRQ_OOM_KILL,
        f"Somebody requested an OOM kill by hand (SysRq-f), and the kernel {ended}.",
        "The request came from the keyboard (Alt+SysRq+F) or from /proc/sysrq-trigger; it does not show how much memory"
        " was left.",
        Confidence.HIGH,
        tuple(_log_lines(kills, kills[0], evidence)),
        ("last -x; journalctl -b _COMM=sudo: show who was logged in, and who wrote to /proc/sysrq-trigger.",),
        min(known_t, default=None),
        max(known_t, default=None),
    )


def _enough_free_finding(kills: list[OomKill], evidence: Evidence) -> Finding:
    kill, page_bytes = kills[0], (evidence.log or LogEvents()).page_bytes
    free, zone, order = format_size(kill.free_bytes or 0), kill.tight_zone, kill.order or 0
    is_zone = kill.shortage == Shortage.ZONE and zone is not None
    if is_zone and zone is not None:
        left = format_size(zone.free_bytes)
        what = f"{free} of memory was free, but not in the zone {zone.name}, which was down to {left}"
        why = f"{kill.invoked_by or 'the kernel'} needs memory of that zone; the rest of RAM cannot be used for it"
        advice = (
            "Use a 64-bit kernel, which has no such zone; `slabtop -o -s c | head` shows what the kernel holds there."
        )
    else:
        size = format_size(page_bytes << order)
        what = f"{free} of memory was free, but no piece of {size} (order {order})"
        why = f"{kill.invoked_by or 'the kernel'} asked for {size} in one piece; free memory was in smaller pieces"
        advice = "sysctl -w vm.min_free_kbytes=262144; echo 1 > /proc/sys/vm/compact_memory: larger pieces stay free."
    victims = [each for each in kills if each.pid is not None]
    ended = f"; the kernel killed {_victims(victims, evidence)}" if victims else ""
    known_t = [each.t for each in kills if each.t is not None]
    return Finding(
        Cause.LOWMEM if is_zone else Cause.FRAGMENTATION,
        f"{what}{ended}.",
        sentence([why, "the victim is not the reason" if victims else None], starts_with_name=bool(kill.invoked_by)),
        Confidence.HIGH,
        tuple(_log_lines(kills, kill, evidence)),
        (advice,),
        min(known_t, default=None),
        max(known_t, default=None),
    )
