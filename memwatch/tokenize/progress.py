"""Progress: how far, how fast, how much there will be, and when."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

RECENT_S = 10.0


@dataclass(slots=True)
class Meter:
    """All sizes in bytes of the input files, so that packed and plain inputs are alike."""

    total_bytes: int | None
    token_bytes: int
    expected_tokens: int | None
    _recent: deque[tuple[float, int]] = field(default_factory=deque)

    def report(self, now_s: float, done_bytes: int, tokens: int) -> dict[str, Any]:
        self._recent.append((now_s, done_bytes))
        while len(self._recent) > 2 and now_s - self._recent[0][0] > RECENT_S:
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
        """What was counted, and for the rest what the pieces looked at before the start tell, or what was counted."""
        if not self.total_bytes:
            return None
        if self.expected_tokens is not None:
            tokens_a_byte = self.expected_tokens / self.total_bytes
        elif done_bytes:
            tokens_a_byte = tokens / done_bytes
        else:
            return None
        return round(tokens + (self.total_bytes - done_bytes) * tokens_a_byte)

    def _rate(self) -> float | None:
        (first_s, first), (last_s, last) = self._recent[0], self._recent[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None
