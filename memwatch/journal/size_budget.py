"""The journal's budget: how many bytes an hour it may write, whatever the job's tree. Pure: times come with the events.

A token bucket. Changes of level, actions and the exit are always written, and paid for. Samples are written while there
are tokens: calm ones only from the upper half of the bucket, so that the lower half is left for the minutes in which
something happens. Then every sample is written, ten a second for a minute or two, and after that as the tokens come in.
"""

BYTES_AN_HOUR = 5_000_000
BURST_BYTES = 1_000_000
# For what is written without asking: changes of level, actions, the exit.
ALWAYS_WRITTEN_BYTES = 500_000
# So that any hour has no more than BYTES_AN_HOUR, also the first one with its full bucket.
BYTES_A_SECOND = (BYTES_AN_HOUR - BURST_BYTES - ALWAYS_WRITTEN_BYTES) / 3600
# Of what comes in, for verdicts that go on and for progress each: samples keep at least half.
REPEATED_SHARE = 0.25


class JournalBudget:
    def __init__(self, bytes_a_second: float = BYTES_A_SECOND, burst_bytes: float = BURST_BYTES) -> None:
        self._bytes_a_second = bytes_a_second
        self._burst_bytes = self._tokens = burst_bytes
        self._t: float | None = None

    def allows_sample(self, t: float, size_bytes: int, is_calm: bool) -> bool:
        self._earn(t)
        floor = self._burst_bytes / 2 if is_calm else 0.0
        return self._tokens - size_bytes >= floor

    def allows_output(self, t: float) -> bool:
        """Tails of the job's output come with actions, and are the longest lines: they end before the rest does."""
        self._earn(t)
        return self._tokens > -self._burst_bytes / 2

    def repeat_interval_s(self, size_bytes: int) -> float:
        """How long to wait after such a line before the next one of its kind."""
        return size_bytes / (self._bytes_a_second * REPEATED_SHARE)

    def spend(self, t: float, size_bytes: int) -> None:
        self._earn(t)
        self._tokens -= size_bytes

    def _earn(self, t: float) -> None:
        # A clock that is set back earns nothing; one that is set forward no more than a full bucket.
        passed_s = 0.0 if self._t is None else max(t - self._t, 0.0)
        self._tokens = min(self._tokens + passed_s * self._bytes_a_second, self._burst_bytes)
        self._t = t
