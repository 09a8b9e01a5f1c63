"""`memwatch diagnose OUT`: what went wrong in a run on many machines, by node and segment, from its folder alone.

The journals that the nodes left there are read one by one, as the evidence of machines that are not this one.
"""

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memwatch.cluster.kept_journals import FoundJournal, SegmentProblem, found_journals, found_problems
from memwatch.cluster.run_folder import RunFolder
from memwatch.diagnose.collect.from_journals import read_run
from memwatch.diagnose.conclude import diagnose
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Diagnosis, Finding, Source
from memwatch.errors import MemwatchError
from memwatch.model.units import format_number

# The newest ones; a run of ten thousand segments that all had trouble has one cause, not ten thousand.
READ_JOURNALS = 200
SHOWN_FINDINGS = 12


def diagnose_folder(out: str, now_t: float, show_commands: bool) -> Diagnosis:
    folder = RunFolder(out)
    journals, problems = found_journals(folder), found_problems(folder)
    if not journals and not problems and folder.load_plan() is None and not folder.is_finished:
        raise MemwatchError(f"{out} has no run by segments, and is no run of `memwatch runs`")
    findings = [_failed(found, folder) for found in _by_segment(problems)]
    for journal in journals[-READ_JOURNALS:]:
        findings += _of_journal(folder, journal, now_t, show_commands)
    nodes = len({journal.node for journal in journals})
    found = f"{format_number(len(journals), 'journal')} of {format_number(nodes, 'node')}"
    sources = [Source(f"the folder {out}", found=found if journals else "no journal of any node")]
    findings.sort(key=lambda finding: (finding.cause != Cause.SEGMENT_FAILED, finding.start_t or 0))
    return Diagnosis(tuple(findings[:SHOWN_FINDINGS]), sources=tuple(sources), is_of_nodes=True)


def _by_segment(problems: Sequence[SegmentProblem]) -> list[list[SegmentProblem]]:
    segments: defaultdict[int, list[SegmentProblem]] = defaultdict(list)
    for problem in problems:
        segments[problem.number].append(problem)
    return [segments[number] for number in sorted(segments)]


def _failed(problems: list[SegmentProblem], folder: RunFolder) -> Finding:
    last = problems[-1]
    is_done = folder.is_done(last.number)
    times = "once" if len(problems) == 1 else f"{len(problems)} times"
    end = ", and was then made" if is_done else ""
    return Finding(
        Cause.SEGMENT_FAILED,
        f"Segment {last.number} failed {times} on node {last.node}{end}: {last.problem}",
        f"It reads {last.source}." if last.source else "",
        Confidence.HIGH,
        tuple(f"node {problem.node}: {problem.problem}" for problem in problems[:-1]),
        () if is_done else ("Remove the cause and repeat the same command: all other segments are kept.",),
        problems[0].t,
        last.t,
    )


def _of_journal(folder: RunFolder, journal: FoundJournal, now_t: float, show_commands: bool) -> list[Finding]:
    with tempfile.TemporaryDirectory() as there:
        path = Path(there) / f"{journal.name}.jsonl"
        path.write_bytes(folder.store.read(journal.address))
        timeline, run = read_run(path, show_commands)
    what = f"Node {journal.node}" + ("" if journal.segment is None else f", segment {journal.segment}")
    evidence = Evidence(now_t, timelines=(timeline,), runs=(run,), is_of_run=True, is_pasted=True)
    return [
        replace(finding, what=f"{what}: {finding.what}", evidence=(*finding.evidence, journal.address), advice=())
        for finding in diagnose(evidence).findings
    ]
