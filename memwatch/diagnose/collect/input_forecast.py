"""What a script that holds everything would take for an input: from its size alone, or as `memwatch estimate` measures
it (by another process, because it loads tokenizers)."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from memwatch.diagnose.collect.capture import Captured, command_lines
from memwatch.errors import MemwatchError
from memwatch.model.python_list import LEAST_BYTES_PER_TOKEN, MOST_BYTES_PER_TOKEN, peak_bytes
from memwatch.model.units import format_count, format_range, format_size
from memwatch.probe.cgroups import memory_sample

TEXT_BYTES_PER_TOKEN = (4.7, 1.4)


@dataclass(frozen=True, slots=True)
class InputForecast:
    size_bytes: int
    least_tokens: float
    most_tokens: float
    least_list_bytes: float
    most_list_bytes: float
    available_bytes: int | None
    is_measured: bool
    full_at_tokens: float | None = None  # where memory ends, if it does

    @classmethod
    def from_size(cls, size_bytes: int, available_bytes: int | None) -> "InputForecast":
        least, most = (size_bytes / each for each in TEXT_BYTES_PER_TOKEN)
        sizes = peak_bytes(least, LEAST_BYTES_PER_TOKEN), peak_bytes(most, MOST_BYTES_PER_TOKEN)
        return cls(size_bytes, least, most, *sizes, available_bytes, is_measured=False)

    @property
    def fits(self) -> bool | None:
        """None if that cannot be told."""
        if self.available_bytes is None:
            return None
        if self.least_list_bytes > self.available_bytes:
            return False
        return True if self.most_list_bytes <= self.available_bytes else None

    def sentences(self) -> list[str]:
        found = [
            format_size(self.size_bytes),
            f"{format_range(self.least_tokens, self.most_tokens, format_count)} tokens",
            f"{format_range(self.least_list_bytes, self.most_list_bytes, format_size)} peak memory in a list",
        ]
        if self.available_bytes is not None:
            words = {True: "that fits", False: "that does not fit", None: "that may not fit"}[self.fits]
            found.append(f"{words}: {format_size(self.available_bytes)} of memory is available here")
        if self.full_at_tokens is not None:
            found.append(f"memory is full at about {format_count(self.full_at_tokens)} tokens")
        if not self.is_measured:
            found.append("rough figures, from the size of the file alone")
        return found


ESTIMATE_S = 60.0


def forecast_of(path: str) -> InputForecast:
    """From the file's size alone where it cannot be measured: a kind that is unknown, a vocabulary that is missing."""
    try:
        size_bytes = os.stat(path).st_size
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error
    memory = memory_sample().memory
    available_bytes = None if memory is None else memory.available_bytes
    return measured(_estimated(path), size_bytes) or InputForecast.from_size(size_bytes, available_bytes)


def measured(estimate: Mapping[str, object], size_bytes: int) -> InputForecast | None:
    """From the JSON of `memwatch estimate`; None if it has no such value."""
    tokens, script, memory = (_part(estimate, key) for key in ("tokens", "list_script", "memory"))
    least, most, per_token = _number(tokens, "low"), _number(tokens, "high"), _number(script, "bytes_per_token")
    if least is None or most is None or per_token is None:
        return None
    available = _number(memory, "available")
    full_at = [at for key in ("swaps_at_tokens", "dies_at_tokens") if (at := _number(script, key)) is not None]
    return InputForecast(
        size_bytes,
        least,
        most,
        peak_bytes(least, per_token),
        peak_bytes(most, per_token),
        None if available is None else int(available),
        is_measured=True,
        full_at_tokens=min(full_at, default=None),
    )


def _estimated(path: str) -> Mapping[str, object]:
    command = [sys.executable, "-m", "memwatch", "estimate", "--json", "--", os.path.abspath(path)]
    text = "\n".join(command_lines(command, Captured(), seconds=ESTIMATE_S))
    try:
        found = json.loads(text)
    except ValueError:
        return {}  # It has said on stderr what it cannot do.
    return found if isinstance(found, dict) else {}


def _part(found: Mapping[str, object], key: str) -> Mapping[str, object]:
    part = found.get(key)
    return part if isinstance(part, Mapping) else {}


def _number(found: Mapping[str, object], key: str) -> float | None:
    value = found.get(key)
    return float(value) if isinstance(value, int | float) else None
