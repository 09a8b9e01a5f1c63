"""The forecast of the whole run on the recorded runs: tests/decide/whole_runs/score.py has the rules."""

from tests.decide.whole_runs.score import Score, score
from tests.decide.whole_runs.traces import EARLIER, load_traces

AIMS = "| asked | 90 % | | under 2 % | under 15 % |"


def report() -> list[str]:
    traces, earlier = load_traces(), {trace.name: trace for trace in load_traces(EARLIER)}
    lines = [
        "| | do not fit: warned of in time | not to be known in a first run | fit: warned of "
        "| median error of the peak at 20 % of progress |",
        "|---|---|---|---|---|",
    ]
    for is_held_out, words in ((False, "jobs that the forecast was made with"), (True, "jobs held out")):
        chosen = [trace for trace in traces if trace.is_held_out == is_held_out]
        lines.append(_row(f"{len(chosen)} {words}, first run", score(chosen)))
        lines.append(_row("the same, after a run on a third of the work", score(chosen, earlier)))
    return [*lines, AIMS]


def _row(words: str, result: Score) -> str:
    return (
        f"| {words} | {result.in_time} of {result.too_small} ({100 * result.in_time_share:.0f} %) "
        f"| {result.too_soon + result.no_sign} "
        f"| {result.false_warnings} of {result.fits} ({100 * result.false_share:.1f} %) "
        f"| {100 * result.median_error:.1f} % |"
    )
