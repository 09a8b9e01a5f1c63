"""Every form in which the kernel prints a line (kernel_forms.txt), not only those that stand in the excerpts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.diagnose.logs.log_events import read_log
from memwatch.diagnose.logs.log_lines import KERNEL, LogLine

NOTHING = "nothing"


def forms() -> Iterator[tuple[str, str]]:
    kind = NOTHING
    for line in (Path(__file__).parent / "kernel_forms.txt").read_text().splitlines():
        if line.startswith("== "):
            kind = line.removeprefix("== ")
        elif line and not line.startswith("# "):
            yield kind, line


@pytest.mark.parametrize(("kind", "line"), list(forms()))
def test_a_form_of_the_kernel_is_read(kind: str, line: str) -> None:
    events = read_log([LogLine(1.0, KERNEL, line)]).events
    assert [type(event).__name__ for event in events] == ([] if kind == NOTHING else [kind])
