"""Recorded logs. memcg-6.18.dmesg is a real one, of a confined kill; the others are written after their formats."""

from pathlib import Path

from memwatch.diagnose.logs.log_events import LogEvents, read_log
from memwatch.diagnose.logs.log_lines import Dates
from memwatch.diagnose.logs.pasted import parse_line

FOLDER = Path(__file__).parent / "recorded"
NOW_T = 1794844800.0  # 2026-11-16 16:00 UTC
BOOTED_T = 1794801834.0


def lines(name: str) -> list[str]:
    return (FOLDER / name).read_text().splitlines()


def read(*texts: str) -> LogEvents:
    dates = Dates(NOW_T, BOOTED_T)
    return read_log(line for text in texts if (line := parse_line(text, dates)) is not None)


def recorded(name: str) -> LogEvents:
    return read(*lines(name))
