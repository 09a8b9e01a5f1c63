"""Logs as people paste them, each with the right conclusion, which was written down before the tool read it.

tests/diagnose/excerpts/README.md says what the keys mean.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from memwatch.cli.diagnosis_text import report
from memwatch.diagnose.collect.pasted_log import pasted_evidence
from memwatch.diagnose.conclude import diagnose
from memwatch.diagnose.findings import Cause, Diagnosis

pytestmark = pytest.mark.usefixtures("in_utc")

FOLDER = Path(__file__).parent / "excerpts"
FOLDERS = ("open", "held_out", "fresh", *(f"fresh_{number}" for number in range(2, 9)))
NOW_T = 1794844800.0
LIMITS = {
    Cause.OOM_KILL: "machine",
    Cause.CGROUP_LIMIT: "cgroup",
    Cause.OOM_UNKNOWN_LIMIT: "unknown",
    Cause.LOWMEM: "zone",
}
MISSING = {
    "victim": "which process was killed",
    "limit": "which limit",
    "holder": "who held the memory",
    "wait": "what they waited for",
}


def cases(folder: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads((FOLDER / folder / "conclusions.toml").read_text())


def faults_in(diagnosis: Diagnosis, expected: dict[str, Any]) -> list[str]:
    """In what the diagnosis differs from the right one; empty if in nothing."""
    said = "\n".join(report(diagnosis, NOW_T, 10_000))
    if expected["kind"] == "nothing":
        return [f"found {finding.cause.value}" for finding in diagnosis.findings]
    if not diagnosis.findings:
        return ["found nothing"]
    first = diagnosis.findings[0]
    about = " ".join((first.what, first.why, *first.evidence))
    faults = []
    if first.cause.value != expected["kind"]:
        faults.append(f"kind {first.cause.value}, not {expected['kind']}")
    if "limit" in expected and LIMITS.get(first.cause, "none") != expected["limit"]:
        faults.append(f"limit {LIMITS.get(first.cause, 'none')}, not {expected['limit']}")
    if first.confidence.value != expected["confidence"]:
        faults.append(f"confidence {first.confidence.value}, not {expected['confidence']}")
    faults += [f"does not name {name}" for name in expected.get("who", ()) if name not in about]
    faults += [f"does not say {words!r}" for words in expected.get("says", ()) if words not in said]
    left_open = " ".join(diagnosis.not_known)
    faults += [
        f"{topic} not listed as missing" for topic in expected.get("missing", ()) if MISSING[topic] not in left_open
    ]
    faults += [f"says {words!r}" for words in expected.get("never", ()) if words.lower() in said.lower()]
    causes = {finding.cause.value for finding in diagnosis.findings}
    faults += [f"misses {cause}" for cause in expected.get("also", ()) if cause not in causes]
    return faults


@pytest.mark.parametrize(
    ("folder", "name"),
    [(folder, name) for folder in FOLDERS for name in cases(folder)],
)
def test_an_excerpt_is_concluded_rightly(folder: str, name: str) -> None:
    diagnosis = diagnose(pasted_evidence(str(FOLDER / folder / f"{name}.log"), NOW_T))
    assert faults_in(diagnosis, cases(folder)[name]) == []
