"""The peak memory of a script that keeps every token in a list, for an input: measured, or else from its size alone.

Text has 1.4 (Chinese) to 4.7 (English) bytes a token, so the second is a rough figure, and it says so.
"""

from dataclasses import dataclass

from memwatch.model.python_list import LEAST_BYTES_PER_TOKEN, MOST_BYTES_PER_TOKEN, peak_bytes
from memwatch.model.units import format_count, format_size

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
            f"{format_count(self.least_tokens)} to {format_count(self.most_tokens)} tokens",
            f"{format_size(self.least_list_bytes)} to {format_size(self.most_list_bytes)} peak memory in a list",
        ]
        if self.available_bytes is not None:
            words = {True: "that fits", False: "that does not fit", None: "that may not fit"}[self.fits]
            found.append(f"{words}: {format_size(self.available_bytes)} of memory is available here")
        if self.full_at_tokens is not None:
            found.append(f"memory is full at about {format_count(self.full_at_tokens)} tokens")
        if not self.is_measured:
            found.append("rough figures, from the size of the file alone")
        return found
