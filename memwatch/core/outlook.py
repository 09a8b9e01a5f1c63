"""All that `memwatch estimate` has to say, as values: the report and the JSON are two ways of showing it."""

from dataclasses import dataclass

from memwatch.core.cells import Range
from memwatch.core.estimate import Conclusion, Disk
from memwatch.core.ways import Fit, ListFate, Room


@dataclass(frozen=True, slots=True)
class InputOutlook:
    name: str
    kind: str
    packing: str | None
    size_bytes: int
    text_bytes: Range
    tokens: Range
    pieces: int
    read_bytes: int
    seen_share: float
    token_count: int | None

    @property
    def is_exact(self) -> bool:
        return self.tokens.is_exact


@dataclass(frozen=True, slots=True)
class Outlook:
    inputs: tuple[InputOutlook, ...]
    tokens: Range
    text_bytes: Range
    encoding: str
    dtype: str
    engine: str
    format: str
    output_bytes: dict[str, Range]  # by format
    stream_bytes: int
    memory_bytes: float
    stream_fit: Fit
    memory_fit: Fit
    room: Room
    disk: Disk
    seconds: Range
    bytes_a_second: float  # once it has started
    workers: int
    list_fate: ListFate
    list_bytes_per_token: float
    list_seconds: Range
    list_tokens_a_second: float
    conclusion: Conclusion
    advice: str
    hint: str | None
    notes: tuple[str, ...]
    took_s: float

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.inputs)

    @property
    def bytes_per_token(self) -> float | None:
        return self.text_bytes.estimate / self.tokens.estimate if self.tokens.estimate else None

    @property
    def is_exact(self) -> bool:
        return all(each.is_exact for each in self.inputs)
