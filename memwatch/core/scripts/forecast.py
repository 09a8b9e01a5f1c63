"""What a script that holds everything would take for an input, from the input's size alone.

A rough figure, and it says so: text has 1.4 (Chinese) to 4.7 (English) bytes a token. `memwatch estimate` measures.
"""

from dataclasses import dataclass

from memwatch.core.units import format_count, format_size

BYTES_PER_TOKEN = (4.7, 1.4)
LIST_BYTES_PER_TOKEN = (29, 36)  # in a Python list: a pointer, and an int object unless it is a small number


@dataclass(frozen=True, slots=True)
class InputForecast:
    size_bytes: int
    least_tokens: float
    most_tokens: float
    available_bytes: int | None

    @classmethod
    def of(cls, size_bytes: int, available_bytes: int | None) -> "InputForecast":
        least, most = (size_bytes / each for each in BYTES_PER_TOKEN)
        return cls(size_bytes, least, most, available_bytes)

    @property
    def least_list_bytes(self) -> float:
        return self.least_tokens * LIST_BYTES_PER_TOKEN[0]

    @property
    def most_list_bytes(self) -> float:
        return self.most_tokens * LIST_BYTES_PER_TOKEN[1]

    @property
    def fits(self) -> bool | None:
        """None if that cannot be told from the size."""
        if self.available_bytes is None:
            return None
        if self.least_list_bytes > self.available_bytes:
            return False
        return True if self.most_list_bytes <= self.available_bytes else None

    def sentences(self) -> list[str]:
        tokens = f"{format_count(self.least_tokens)} to {format_count(self.most_tokens)} tokens"
        lists = f"{format_size(self.least_list_bytes)} to {format_size(self.most_list_bytes)} in a Python list"
        found = [format_size(self.size_bytes), f"some {tokens}", lists]
        if self.available_bytes is not None:
            free = format_size(self.available_bytes)
            words = {True: "that fits", False: "that does not fit", None: "that may not fit"}[self.fits]
            found.append(f"{words}: {free} of memory is available here")
        return [*found, "rough figures, from the file's size; memwatch estimate measures them"]
