"""Counters between two samples: the page size is that of the machine that made them, wherever a journal is read."""

from memwatch.decide.forecast import forecast
from memwatch.decide.history import History
from memwatch.diagnose.timeline.strain import between
from memwatch.journal.codec import sample_from_json
from memwatch.journal.events import encode, sample_event
from memwatch.journal.reader import parse_event
from memwatch.model.rates import change_between
from memwatch.model.sample import Memory, Paging, Sample
from memwatch.model.units import GIB, KIB, MIB
from memwatch.probe.files import PAGE_BYTES
from memwatch.probe.procfs import HostPaging


def swapping(page_bytes: int) -> tuple[Sample, Sample]:
    """160 pages a second go out, twice as many come in."""
    memory = Memory(8 * GIB, 4 * GIB, 2 * GIB, GIB)
    earlier = Sample(100.0, 10.0, memory, paging=Paging(0, 0, 0, 0, page_bytes=page_bytes))
    later = Sample(110.0, 20.0, memory, paging=Paging(3200, 1600, 0, 0, page_bytes=page_bytes))
    return earlier, later


def test_pages_of_64_kib_are_sixteen_times_the_traffic() -> None:
    change = change_between(*swapping(64 * KIB))
    assert (change.swap_in_bytes_s, change.swap_out_bytes_s) == (20 * MIB, 10 * MIB)


def test_the_forecast_counts_in_the_pages_of_the_machine() -> None:
    history = History()
    for sample in swapping(64 * KIB):
        history.add(sample)
    found = forecast(history, lambda capacity: 0).rates
    assert (found.swap_in_bytes_s, found.swap_out_bytes_s) == (20 * MIB, 10 * MIB)


def test_a_diagnosis_counts_in_the_pages_of_the_machine_that_wrote_the_journal() -> None:
    read = []
    for sample in swapping(64 * KIB):
        event = parse_event(encode(sample_event(sample)))
        assert event is not None
        read.append(sample_from_json(event))
    interval = between(*read)
    assert (interval.swapped_in_bytes, interval.swapped_out_bytes) == (200 * MIB, 100 * MIB)


def test_a_sample_of_this_machine_has_its_page_size() -> None:
    paging = HostPaging("/proc").read()
    assert paging is not None
    assert paging.page_bytes == PAGE_BYTES
