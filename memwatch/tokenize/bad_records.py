"""Records that were skipped (`--bad-records skip`): how many, which, and when there are too many."""

from fractions import Fraction
from typing import Any

from memwatch.errors import MemwatchError

# The manifest lists so many; all are counted.
LISTED_RECORDS = 1000
# Before the end, so many beyond the limit end a run: the first records of an input may be worse than the rest.
GRACE_RECORDS = 100


def listed_bad(name: str, line: int, problem: str) -> dict[str, Any]:
    return {"file": name, "line": line, "problem": problem}


def check_bad_records(
    bad: int, records: int, limit: str, listed: list[dict[str, Any]], grace: int = GRACE_RECORDS
) -> None:
    """Raise if more records are bad than the limit, a share, allows."""
    if bad <= Fraction(limit) * records + grace or not listed:
        return
    first = listed[0]
    raise MemwatchError(
        f"{bad} of {records} records are bad, more than --bad-limit {float(Fraction(limit)):g} allows; "
        f"the first is line {first['line']} of {first['file']}: it {first['problem']}"
    )
