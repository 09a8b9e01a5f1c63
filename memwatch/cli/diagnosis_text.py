"""A diagnosis as text, for `memwatch diagnose` in a terminal."""

import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from memwatch.diagnose.causes.phrases import clock, took
from memwatch.diagnose.findings import Cause, Diagnosis, Finding, Source
from memwatch.errors import printable

WIDEST = 110
NARROWEST = 30
LABEL_WIDTH = 10
CONFIDENCE_COLUMN = 57
BETWEEN = " · "
SHOWN_ADVICE = 6

_KILLS = (
    Cause.OOM_KILL,
    Cause.CGROUP_LIMIT,
    Cause.OOM_UNKNOWN_LIMIT,
    Cause.SYSRQ_OOM_KILL,
    Cause.OOMD_KILL,
    Cause.DAEMON_KILL,
)
_KINDS = {cause: "Kill" for cause in _KILLS} | {Cause.CPU_SATURATION: "Slow"}


def width() -> int:
    if not sys.stdout.isatty():
        return WIDEST
    return max(min(shutil.get_terminal_size().columns, WIDEST), NARROWEST)


def as_object(diagnosis: Diagnosis, now_t: float) -> dict[str, Any]:
    return {"schema": 1, "t": now_t, **asdict(diagnosis)}


def report(diagnosis: Diagnosis, now_t: float, columns: int) -> list[str]:
    lines = block("VERDICT", verdict(diagnosis), columns)
    for finding in diagnosis.findings:
        lines += [_head(finding, now_t, columns)]
        lines += block("WHAT", [finding.what], columns)
        lines += block("WHY", [finding.why], columns)
        lines += block("EVIDENCE", finding.evidence, columns)
        lines += [""] if len(diagnosis.findings) > 1 else []
    if not diagnosis.findings:
        where = " in this log" if diagnosis.is_pasted else ""
        found = "failed segment" if diagnosis.is_of_nodes else "freeze"
        lines.append(f"No {found} and no killed job was found{where}.")
    lines += block("RULED OUT", diagnosis.ruled_out, columns)
    lines += block("NOT KNOWN", diagnosis.not_known, columns)
    for number, advice in enumerate(_numbered(diagnosis.findings)):
        lines += block("" if number else "NEXT", [advice], columns, hanging=3)
    lines += block("LOOKED AT", [_found(source, now_t) for source in diagnosis.sources if source.found], columns)
    lines += block("NOT SEEN", _missing(diagnosis.sources), columns)
    return lines


def verdict(diagnosis: Diagnosis) -> list[str]:
    """Which part of the machine is at fault, and what else fits: of a log, and wherever there are several."""
    parts: dict[str, str] = {}
    for finding in diagnosis.findings:
        parts.setdefault(finding.part, finding.confidence.value)
    if not parts or (len(parts) == 1 and not diagnosis.is_pasted):
        return []
    (first, confidence), *others = parts.items()
    said = [f"{first} (confidence {confidence})"]
    if others:
        said.append("also: " + ", ".join(f"{part} ({sure})" for part, sure in others))
    return said


def _head(finding: Finding, now_t: float, columns: int) -> str:
    kind = _KINDS.get(finding.cause, "Freeze" if finding.is_freeze else "Problem")
    head = f"{kind} {_when(finding.start_t, finding.end_t, now_t)}"
    column = min(CONFIDENCE_COLUMN, columns - len("confidence: medium"))
    return f"{head:<{column - 1}} confidence: {finding.confidence.value}"


def _when(start_t: float | None, end_t: float | None, now_t: float) -> str:
    if start_t is None and end_t is None:
        return "at an unknown time"
    start = clock(start_t if start_t is not None else end_t, now_t)
    span = took(start_t, end_t)
    if span is None:
        return start
    end = clock(end_t, now_t)
    # Of two times on the same other day, the day is said once.
    return f"{start} - {end[11:] if len(end) == len(start) > 10 and end[:10] == start[:10] else end} ({span})"


def _found(source: Source, now_t: float) -> str:
    if source.start_t is None or source.end_t is None:
        return f"{source.name}: {source.found}"
    return f"{source.name} {_when(source.start_t, source.end_t, now_t)}: {source.found}"


def _missing(sources: Iterable[Source]) -> list[str]:
    """The missing sources, grouped by the reason why they are missing."""
    reasons: dict[str, list[str]] = {}
    for source in sources:
        if source.missing is not None:
            reasons.setdefault(source.missing, []).append(source.name)
    return [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _numbered(findings: Iterable[Finding]) -> list[str]:
    advice = dict.fromkeys(sentence for finding in findings for sentence in finding.advice)
    return [f"{number}. {sentence}" for number, sentence in enumerate(list(advice)[:SHOWN_ADVICE], 1)]


def block(label: str, sentences: Iterable[str], columns: int, hanging: int = 0) -> list[str]:
    """Sentences after one another, wrapped and indented below the label; nothing where there are none."""
    text = BETWEEN.join(printable(sentence) for sentence in sentences if sentence)
    if not text:
        return []
    return textwrap.wrap(
        text,
        columns,
        initial_indent=label.ljust(LABEL_WIDTH),
        subsequent_indent=" " * (LABEL_WIDTH + hanging),
        break_on_hyphens=False,
    )
