"""The progress that a job reports, checked: a job may report anything, and a journal may be forged."""

from collections.abc import Mapping

NUMBERS = frozenset(
    (
        "done",
        "total",
        "rate",
        "eta_s",
        "tokens",
        "projected_tokens",
        "output_bytes",
        "projected_output_bytes",
        "rss_bytes",
    )
)
_BEYOND = 1 << 63


def plausible_progress(message: Mapping[str, object]) -> dict[str, object]:
    """Plain values alone: numbers that can be counted with and, where no number is expected, words."""
    return {
        key: value
        for key, value in message.items()
        if value is None or _is_countable(value) or (isinstance(value, str) and key not in NUMBERS)
    }


def _is_countable(value: object) -> bool:
    """An int may have more digits than a float can hold, and a comparison with NaN is false."""
    return isinstance(value, int | float) and abs(value) < _BEYOND
