"""Progress: how far, how fast, how much there will be, and when; and who reports it to the guard."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memwatch.job import Channel
from memwatch.model.units import MIB
from memwatch.tokenize.checkpoint import Totals
from memwatch.tokenize.sizing import Expected

if TYPE_CHECKING:
    from memwatch.tokenize.crew import Crew
    from memwatch.tokenize.outputs import Outputs

RECENT_S = 10.0
PROGRESS_INTERVAL_S = 1.0
# The reader is about a MiB ahead of what was unpacked: before this, the two cannot be compared.
ENOUGH_PACKED_BYTES = 8 * MIB


def time_shares(time_s: Mapping[str, float]) -> str:
    """Where the workers' time went, so that a user sees what would make the job faster."""
    spent_s = sum(time_s.values())
    return ", ".join(f"{what} {100 * took_s / spent_s:.0f} %" for what, took_s in time_s.items()) if spent_s else ""


@dataclass(slots=True)
class Meter:
    """Makes the `progress` event. Sizes are in bytes of the input files, so that packed and plain inputs are alike."""

    total_bytes: int | None
    token_bytes: int
    expected: Expected | None
    rate_over_s: float = RECENT_S
    _recent: deque[tuple[float, int]] = field(default_factory=deque)

    def report(self, now_s: float, done_bytes: int, tokens: int) -> dict[str, Any]:
        """The event for this moment, with the rate over the last seconds."""
        self._recent.append((now_s, done_bytes))
        while len(self._recent) > 2 and now_s - self._recent[0][0] > self.rate_over_s:
            self._recent.popleft()
        rate = self._rate()
        projected = self.projected_tokens(done_bytes, tokens)
        return {
            "event": "progress",
            "done": done_bytes,
            "total": self.total_bytes,
            "unit": "bytes",
            "rate": rate,
            "tokens": tokens,
            "projected_tokens": projected,
            "output_bytes": tokens * self.token_bytes,
            "projected_output_bytes": None if projected is None else projected * self.token_bytes,
            "eta_s": (self.total_bytes - done_bytes) / rate if rate and self.total_bytes is not None else None,
        }

    def projected_tokens(self, done_bytes: int, tokens: int) -> int | None:
        """The tokens counted so far, and for the rest a projection from pieces sampled before the start."""
        if not self.total_bytes or self.expected is None:
            return None
        so_far = self.expected.tokens_up_to(done_bytes)
        rest = self.expected.tokens - so_far
        if self.expected.is_packed and so_far and done_bytes >= ENOUGH_PACKED_BYTES:
            rest *= tokens / so_far  # How much text a packed byte stands for was a guess; by now it shows.
        return round(tokens + rest)

    def _rate(self) -> float | None:
        (first_s, first), (last_s, last) = self._recent[0], self._recent[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None


class ProgressReporter:
    """Sends a run's progress to the guard, and measures what the run takes. Without a guard it only measures."""

    def __init__(self, channel: Channel | None, meter: Meter, totals: Totals, crew: "Crew", outputs: "Outputs") -> None:
        self._channel = channel
        self._meter = meter
        self._totals = totals
        self._crew = crew
        self._outputs = outputs
        self._seconds_before = totals.seconds  # of earlier runs that this one resumes
        self._started_s = self._reported_s = time.monotonic()

    @property
    def due_s(self) -> float:
        return self._reported_s + PROGRESS_INTERVAL_S

    def measure(self) -> None:
        """Seconds and peak memory, for the checkpoint and the manifest."""
        self._totals.seconds = self._seconds_before + time.monotonic() - self._started_s
        self._totals.peak_rss_bytes = max(self._totals.peak_rss_bytes, self._crew.rss_bytes())

    def report(self) -> None:
        """Send how far the run is."""
        self._reported_s = time.monotonic()
        if self._channel is not None:
            report = self._meter.report(self._reported_s, self._totals.file_bytes, self._totals.tokens)
            extra: dict[str, Any] = {"sharded": self._outputs.sharded, "rss_bytes": self._crew.rss_bytes()}
            self._channel.send({**report, **extra, "time_shares": time_shares(self._totals.time_s)})

    def note(self, text: str) -> None:
        """A sentence for the user."""
        if self._channel is not None:
            self._channel.send({"event": "note", "text": text})
