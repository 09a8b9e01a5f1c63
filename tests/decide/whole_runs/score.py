"""Scores the whole-run forecast on the recorded runs: python -m tests.decide.whole_runs.score [--held-out] [--jobs]

Every run is replayed on a clock that is stretched to RUN_S, as if its input were so much larger; with what is there set
at several shares of its true peak. The forecast sees a sample a second and progress every two seconds, as in a guard.

A run that does not fit counts where its forecast has a chance: progress is known, and memory ends after MINIMUM of it.
It is warned of in time if the warning comes at least 60 s before memory ends, and in the first half of the time from
the first progress until then.
"""

import argparse
import statistics
from dataclasses import dataclass

from memwatch.decide.peak import GrowthOutlook, Persistence, WholeRun
from memwatch.model.units import MIB
from tests.decide.whole_runs.traces import Moment, Trace, load_traces

RUN_S = 900.0
TOO_SMALL = (0.5, 0.6, 0.7, 0.8, 0.9)
LARGE_ENOUGH = (1.1, 1.2, 1.35, 1.5, 2.0)
MINIMUM = 0.2
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


def replay(trace: Trace) -> list[tuple[float, GrowthOutlook]]:
    """What was forecast, and when."""
    run, latest_s = WholeRun(), float("-inf")
    found = []
    for moment in stretched(trace):
        run.sample(moment.used_bytes)
        if moment.fraction is not None and moment.running_s - latest_s >= LOOK_S:
            latest_s = moment.running_s
            run.progress(moment.running_s, moment.fraction)
            if (outlook := run.outlook()) is not None:
                found.append((moment.running_s, outlook))
    return found


def judged(trace: Trace, outlooks: list[tuple[float, GrowthOutlook]], there_bytes: float) -> Replay:
    """The same run where so much memory is there."""
    began_s = next((moment.running_s for moment in stretched(trace) if moment.fraction), 0.0)
    full_s = full_at = fraction = None
    for moment in stretched(trace):
        fraction = fraction if moment.fraction is None else moment.fraction
        if moment.used_bytes > there_bytes:
            full_s, full_at = moment.running_s, fraction or 0.0
            break
    persistence = Persistence()
    for clock_s, outlook in outlooks:
        if full_s is not None and clock_s >= full_s:
            break
        if persistence.is_warning(outlook.need(int(there_bytes))):
            return Replay(began_s, clock_s, outlook.fraction, full_s, full_at)
    return Replay(began_s, None, None, full_s, full_at)


@dataclass(frozen=True, slots=True)
class Score:
    """Over many runs: how many there were, and how many of them went as they should."""

    traces: int
    too_small: int
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
            f"({100 * self.in_time_share:.1f} %); {self.false_warnings} of {self.fits} runs that fit warned of "
            f"({100 * self.false_share:.1f} %); peak at 20 % of progress: median error "
            f"{100 * self.median_error:.1f} % over {len(self.errors)} jobs"
        )


def score(traces: list[Trace], tell: bool = False) -> Score:
    too_small = in_time = fits = false_warnings = 0
    errors = []
    for trace in traces:
        words = []
        outlooks = replay(trace)
        at_fifth = next((outlook.need() for _, outlook in outlooks if outlook.fraction >= 0.2), None)
        if at_fifth is not None:
            errors.append(at_fifth.need_bytes / trace.peak_bytes - 1)
        for share in TOO_SMALL:
            result = judged(trace, outlooks, trace.peak_bytes * share)
            if result.full_at is None or result.full_at < MINIMUM:
                continue
            too_small += 1
            in_time += result.is_in_time
            if not result.is_in_time:
                words.append(f"{share}: {_at(result.warned_at)} of {_at(result.full_at)}")
        for share in LARGE_ENOUGH:
            result = judged(trace, outlooks, trace.peak_bytes * share)
            fits += 1
            false_warnings += result.warned_s is not None
            if result.warned_s is not None:
                words.append(f"FALSE {share} at {_at(result.warned_at)}")
        if tell:
            error = "  n/a" if at_fifth is None else f"{100 * errors[-1]:+5.0f}"
            print(f"{trace.name:22} {trace.peak_bytes / MIB:5.0f} MiB {error} %  {'; '.join(words)}")
    return Score(len(traces), too_small, in_time, fits, false_warnings, tuple(errors))


def _at(fraction: float | None) -> str:
    return "none" if fraction is None else f"{100 * fraction:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true", help="score the jobs that are held out instead")
    parser.add_argument("--jobs", action="store_true", help="a line per job")
    options = parser.parse_args()
    traces = [trace for trace in load_traces() if trace.is_held_out == options.held_out]
    print(score(traces, options.jobs))


if __name__ == "__main__":
    main()
