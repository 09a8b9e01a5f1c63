"""Which events a page shows: those of the run that was asked about, or of the time around the worst finding."""

from collections.abc import Iterable, Iterator
from itertools import chain

from memwatch.diagnose.collect.all_evidence import Wanted
from memwatch.diagnose.findings import Diagnosis
from memwatch.errors import MemwatchError
from memwatch.journal.events import Event
from memwatch.journal.reader import read_events
from memwatch.journal.record_files import read_machine_events
from memwatch.journal.run_list import LAST, journal_of

BEFORE_S = 900.0
AFTER_S = 300.0
USUAL_S = 3600.0  # where nothing was found


def page_events(wanted: Wanted, diagnosis: Diagnosis) -> Iterable[Event]:
    """The record's, if there is one of that time, else the last run's. Raises MemwatchError where there is neither."""
    if wanted.run is not None:
        return read_events(journal_of(wanted.run))
    events = _recorded(*_window(wanted, diagnosis))
    first = next(events, None)
    if first is not None:
        return chain([first], events)
    try:
        return read_events(journal_of(LAST))
    except MemwatchError as error:
        raise MemwatchError("nothing was recorded that could be drawn; keep `memwatch record` running") from error


def _recorded(since_t: float, until_t: float) -> Iterator[Event]:
    try:
        yield from read_machine_events(since_t, until_t)
    except OSError:
        return  # The diagnosis names it among what is missing.


def _window(wanted: Wanted, diagnosis: Diagnosis) -> tuple[float, float]:
    for finding in diagnosis.findings:
        if finding.start_t is not None and finding.end_t is not None:
            return finding.start_t - BEFORE_S, finding.end_t + AFTER_S
    return wanted.now_t - USUAL_S, wanted.now_t
