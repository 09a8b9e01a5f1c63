"""Which part of a record a report should show: what was found, and what led up to it."""

from memwatch.diagnose.findings import Diagnosis

BEFORE_S = 900.0
AFTER_S = 300.0


def window_around(diagnosis: Diagnosis, since_t: float, until_t: float) -> tuple[float, float]:
    """The time around the worst finding that has one, within what was looked at; all of that if none has.

    Three days in one chart would hide a freeze of three minutes.
    """
    for finding in diagnosis.findings:
        if finding.start_t is not None:
            end_t = finding.start_t if finding.end_t is None else max(finding.end_t, finding.start_t)
            return max(finding.start_t - BEFORE_S, since_t), min(end_t + AFTER_S, until_t)
    return since_t, until_t
