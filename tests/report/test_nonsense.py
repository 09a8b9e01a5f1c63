"""Journals that no guard ever wrote: whatever they say, there is a page and a table, and no traceback."""

import io
from datetime import UTC
from json import dumps

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memwatch.journal.events import Event
from memwatch.journal.reader import parse_event
from memwatch.journal.run_export import without_commands, write_json, write_table
from memwatch.report.page import report_page

numbers = st.one_of(st.integers(-2, 5), st.sampled_from([2**40, 2**63, -(2**70), 10**400]), st.floats(allow_nan=False))
parts = {
    "memory": ["total_bytes", "available_bytes", "swap_total_bytes", "swap_free_bytes"],
    "pressure": ["memory_some_us", "memory_full_us", "io_some_us"],
    "paging": ["swapped_in_pages", "swapped_out_pages", "major_faults"],
}
gpu = st.fixed_dictionaries({"index": st.integers(-1, 3), "name": st.text()}, optional={"used_fraction": numbers})
limit = st.fixed_dictionaries({"path": st.text(), "limit_bytes": numbers, "used_bytes": numbers})
sample = st.fixed_dictionaries(
    {"t": numbers, "event": st.just("sample"), "clock_s": numbers},
    optional={
        **{name: st.fixed_dictionaries(dict.fromkeys(keys, numbers)) for name, keys in parts.items()},
        "gpus": st.lists(gpu, max_size=2),
        "limits": st.lists(limit, max_size=2),
        "every": numbers,
    },
)
anything = st.one_of(st.none(), numbers, st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.text()))
other = st.fixed_dictionaries(
    {"t": numbers, "event": st.sampled_from(["start", "verdict", "action", "gap", "exit", "output", "progress", "?"])},
    optional={
        key: anything for key in ("level", "reason", "action", "by", "code", "signal", "command", "limits", "guard")
    },
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(sample, other), max_size=8))
def test_there_is_always_a_page_and_a_table(lines: list[Event]) -> None:
    events = [event for line in lines if (event := parse_event(dumps(line).encode())) is not None]
    assert report_page(events, zone=UTC).endswith("</html>\n")
    write_table(events, io.StringIO())
    write_json(without_commands(events), io.StringIO())
