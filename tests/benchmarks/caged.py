"""A job under guard in a cage, seen through its journal."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import NotMeasured
from tests.cage import Cage

HERE = Path(__file__).parent
PAGE_BYTES = 4096
RUN = (sys.executable, "-m", "memwatch", "run", "--ui", "none")
PATIENCE_S = 60


def events_of(journal: Path) -> list[dict[str, Any]]:
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


class Running:
    def __init__(self, process: "subprocess.Popen[str]", journal: Path) -> None:
        self._process = process
        self._journal = journal
        self._deadline_s = time.monotonic() + PATIENCE_S

    def line(self) -> str:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            return line
        raise NotMeasured("the hog ended before its burst")

    def action(self, name: str) -> dict[str, Any]:
        while True:
            for event in events_of(self._journal):
                if event["event"] == "action" and event["action"] == name:
                    return event
            self._wait_for(f"the guard's {name}")

    def swapped_out_so_far(self) -> list[tuple[float, int]]:
        """(when, bytes since the start)."""
        samples = [event for event in events_of(self._journal) if event["event"] == "sample"]
        pages = [(event["t"], event["paging"]["swapped_out_pages"]) for event in samples]
        return [(t, (count - pages[0][1]) * PAGE_BYTES) for t, count in pages]

    def swapped_out(self) -> list[tuple[float, int]]:
        """The same, once there is something."""
        while not (seen := self.swapped_out_so_far()) or seen[-1][1] == 0:
            self._wait_for("the first page in swap")
        return seen

    def _wait_for(self, what: str) -> None:
        if time.monotonic() > self._deadline_s:
            raise NotMeasured(f"{what} did not come within {PATIENCE_S} s")
        time.sleep(0.02)


@contextmanager
def running(
    made: Cage, folder: Path, program: str, *arguments: object, reserve_mib: int = 140, wish: str = "pause"
) -> Iterator[Running]:
    journal = Path(tempfile.mktemp(suffix=".jsonl", dir=folder))
    options = ("--record", journal, "--reserve", f"{reserve_mib}M", "--on-pressure", wish)
    command = made.command(*RUN, *options, "--", sys.executable, HERE / program, *arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Running(process, journal)
        finally:
            made.close()
