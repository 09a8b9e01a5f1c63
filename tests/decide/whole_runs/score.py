"""Scores the whole-run forecast on the recorded runs: python -m tests.decide.whole_runs.score [--held-out] [--jobs]

Every run is replayed on a clock that is stretched to RUN_S, as if its input were so much larger; with what is there set
at several shares of its true peak. The forecast sees a sample a second and progress every two seconds, as in a guard.

Every run that does not fit counts, but for those whose memory ends before 3 % of progress, where no forecast begins. It
is warned of in time if the warning comes at least 60 s before memory ends, and in the first half of the time from the
first progress until then. With --again, the journals hold one earlier run of the same command on a part of the work.

Some of them nobody can know of in a first run, and `unknowable` says so: the last moment for a warning comes before 3 %
of progress (too soon), or until then memory does not grow as if it would not do (no sign: a copy after the input was
read, a step, a file that is read at once).
"""

import argparse
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from memwatch.decide.earlier_runs import EarlierRun, need_of
from memwatch.decide.peak import LEAST_FRACTION, GrowthOutlook, Persistence, WholeRun
from memwatch.model.units import MIB
from tests.decide.whole_runs.traces import EARLIER, EARLIER_PART, Moment, Trace, load_traces

RUN_S = 900.0
TOO_SMALL = (0.5, 0.6, 0.7, 0.8, 0.9)
LARGE_ENOUGH = (1.1, 1.2, 1.35, 1.5, 2.0)
LOOK_S = 2.0
LEAD_S = 60.0


@dataclass(frozen=True, slots=True)
class Replay:
    """`began_s`: when progress was first known. `full_s`: when memory ended. None: there was no warning, no end."""

    began_s: float
    warned_s: float | None
    warned_at: float | None
    full_s: float | None
    full_at: float | None

    @property
    def is_in_time(self) -> bool:
        if self.full_s is None or self.warned_s is None:
            return False
        return self.full_s - self.warned_s >= max(LEAD_S, (self.full_s - self.began_s) / 2)


def stretched(trace: Trace) -> list[Moment]:
    factor = RUN_S / trace.seconds
    return [moment._replace(running_s=moment.running_s * factor) for moment in trace.moments]


def unknowable(trace: Trace, result: Replay, there_bytes: float) -> str | None:
    """Why no forecast can be in time, if so: until the last moment for a warning, there is nothing to go by."""
    full_s = result.full_s or 0.0
    last_s = full_s - max(LEAD_S, (full_s - result.began_s) / 2)
    known = [moment for moment in stretched(trace) if moment.running_s <= last_s]
    fraction = max((moment.fraction or 0.0 for moment in known), default=0.0)
    if fraction < LEAST_FRACTION:
        return "too soon"
    half_s = next(moment.running_s for moment in known if (moment.fraction or 0.0) >= fraction / 2)
    before_bytes = max(moment.used_bytes for moment in known if moment.running_s <= half_s)
    now_bytes = max(moment.used_bytes for moment in known)
    expected_bytes = now_bytes + (now_bytes - before_bytes) * (1 - fraction) / (fraction / 2)
    return "no sign" if expected_bytes < there_bytes else None


class Look(NamedTuple):
    """What the forecast had at one moment."""

    running_s: float
    fraction: float
    peak_bytes: int
    outlook: GrowthOutlook | None


def replay(trace: Trace) -> list[Look]:
    run, latest_s, peak_bytes = WholeRun(), float("-inf"), 0
    looks = []
    for moment in stretched(trace):
        run.sample(moment.used_bytes)
        peak_bytes = max(peak_bytes, moment.used_bytes)
        if moment.fraction is not None and moment.running_s - latest_s >= LOOK_S:
            latest_s = moment.running_s
            run.progress(moment.running_s, moment.fraction)
            looks.append(Look(moment.running_s, moment.fraction, peak_bytes, run.outlook()))
    return looks


def earlier_run(trace: Trace) -> EarlierRun:
    """As its journal would tell of it; its work is a part of the whole, which is 1."""
    run = WholeRun()
    for moment in trace.moments:
        run.sample(moment.used_bytes)
        if moment.fraction is not None:
            run.progress(moment.running_s, moment.fraction)
    curve = tuple((fraction * EARLIER_PART, used) for fraction, used in run.curve())
    return EarlierRun(EARLIER_PART, trace.peak_bytes, curve)


def judged(trace: Trace, looks: list[Look], earlier: list[EarlierRun], there_bytes: float) -> Replay:
    """The same run where so much memory is there."""
    began_s = next((moment.running_s for moment in stretched(trace) if moment.fraction), 0.0)
    full_s = full_at = fraction = None
    for moment in stretched(trace):
        fraction = fraction if moment.fraction is None else moment.fraction
        if moment.used_bytes > there_bytes:
            full_s, full_at = moment.running_s, fraction or 0.0
            break
    persistence = Persistence()
    for look in looks:
        if full_s is not None and look.running_s >= full_s:
            break
        need = need_of(look.outlook, earlier, 1.0, look.fraction, look.peak_bytes, int(there_bytes))
        if persistence.is_warning(need):
            return Replay(began_s, look.running_s, look.fraction, full_s, full_at)
    return Replay(began_s, None, None, full_s, full_at)


@dataclass(frozen=True, slots=True)
class Score:
    """Over many runs: how many there were, and how many of them went as they should."""

    traces: int
    too_small: int
    too_soon: int  # of these
    no_sign: int
    in_time: int
    fits: int
    false_warnings: int
    errors: tuple[float, ...]

    @property
    def in_time_share(self) -> float:
        return self.in_time / max(self.too_small, 1)

    @property
    def false_share(self) -> float:
        return self.false_warnings / max(self.fits, 1)

    @property
    def median_error(self) -> float:
        return statistics.median(map(abs, self.errors))

    def __str__(self) -> str:
        return (
            f"{self.traces} jobs; {self.in_time} of {self.too_small} runs that do not fit warned of in time "
            f"({100 * self.in_time_share:.1f} %; not to be known: {self.too_soon} end too soon, {self.no_sign} show "
            f"no sign); {self.false_warnings} of {self.fits} runs that fit warned of "
            f"({100 * self.false_share:.1f} %); peak at 20 % of progress: median error "
            f"{100 * self.median_error:.1f} % over {len(self.errors)} jobs"
        )


def score(traces: list[Trace], earlier_traces: dict[str, Trace] | None = None, tell: bool = False) -> Score:
    too_small = in_time = fits = false_warnings = 0
    why: Counter[str | None] = Counter()
    errors = []
    for trace in traces:
        words = []
        before = (earlier_traces or {}).get(trace.name)
        earlier = [] if before is None else [earlier_run(before)]
        looks = replay(trace)
        needs = (need_of(look.outlook, earlier, 1.0, *look[1:3], None) for look in looks if look.fraction >= 0.2)
        at_fifth = next((need for need in needs if need is not None), None)
        if at_fifth is not None:
            errors.append(at_fifth.need_bytes / trace.peak_bytes - 1)
        for share in TOO_SMALL:
            result = judged(trace, looks, earlier, trace.peak_bytes * share)
            if result.full_at is None or result.full_at < LEAST_FRACTION:
                continue
            too_small += 1
            in_time += result.is_in_time
            reason = unknowable(trace, result, trace.peak_bytes * share)
            why[reason] += 1
            if not result.is_in_time:
                words.append(
                    f"{share}: {_at(result.warned_at)} of {_at(result.full_at)}" + (f" ({reason})" if reason else "")
                )
        for share in LARGE_ENOUGH:
            result = judged(trace, looks, earlier, trace.peak_bytes * share)
            fits += 1
            false_warnings += result.warned_s is not None
            if result.warned_s is not None:
                words.append(f"FALSE {share} at {_at(result.warned_at)}")
        if tell:
            error = "  n/a" if at_fifth is None else f"{100 * errors[-1]:+5.0f}"
            print(f"{trace.name:22} {trace.peak_bytes / MIB:5.0f} MiB {error} %  {'; '.join(words)}")
    unknown = why["too soon"], why["no sign"]
    return Score(len(traces), too_small, *unknown, in_time, fits, false_warnings, tuple(errors))


def _at(fraction: float | None) -> str:
    return "none" if fraction is None else f"{100 * fraction:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true", help="score the jobs that are held out instead")
    parser.add_argument("--again", action="store_true", help="with an earlier run of the same command")
    parser.add_argument("--jobs", action="store_true", help="a line per job")
    options = parser.parse_args()
    traces = [trace for trace in load_traces() if trace.is_held_out == options.held_out]
    earlier = {trace.name: trace for trace in load_traces(EARLIER)} if options.again else {}
    print(score(traces, earlier, options.jobs))


if __name__ == "__main__":
    main()
