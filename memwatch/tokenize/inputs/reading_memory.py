"""How much memory inputs take to read, beyond the usual: the plan of a run counts with it."""

from contextlib import closing

from memwatch.model.units import MIB
from memwatch.tokenize.inputs.byte_streams import StandardInput, open_once
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.packings import WINDOW_HEADER_BYTES, window_bytes
from memwatch.tokenize.inputs.row_reader import open_rows
from memwatch.tokenize.plan import ReadingMemory

MOST_FILES_LOOKED_AT = 16
FEEDER_BYTES = 40 * MIB
# For pyarrow and its buffers, measured.
WORKER_BYTES = 80 * MIB
# Of what pyarrow frees; a worker had up to 245 MiB where pyarrow held 50 (docs/MEASUREMENTS.md).
KEPT_BYTES = 160 * MIB
# Windows up to this are in the feeder's share.
USUAL_WINDOW_BYTES = 8 * MIB


def reading_memory(inputs: list[Input], column: str) -> ReadingMemory:
    """What a run with these inputs needs. Of many files, some are looked at."""
    rows = [source for source in inputs if source.has_rows]
    is_fed = any(not source.is_plain for source in inputs)
    once = FEEDER_BYTES + max(map(_rows_bytes, some(rows), [column] * len(rows)), default=0)
    windowed = [source for source in inputs if source.packing in ("zstd", "xz")]
    windows = max(map(_window_bytes, some(windowed)), default=0)
    once += windows if windows > USUAL_WINDOW_BYTES else 0
    return ReadingMemory(once if is_fed else 0, WORKER_BYTES if rows else 0, KEPT_BYTES if rows else 0)


def some(sources: list[Input]) -> list[Input]:
    """At most about MOST_FILES_LOOKED_AT of the inputs, spread over all of them."""
    return sources[:: max(len(sources) // MOST_FILES_LOOKED_AT, 1)]


def _rows_bytes(source: Input, column: str) -> int:
    with closing(open_rows(source, column)) as rows:
        return rows.held_bytes()


def _window_bytes(source: Input) -> int:
    if source.is_standard_input:
        return window_bytes(bytes(StandardInput.head[:WINDOW_HEADER_BYTES]))
    with closing(open_once(source.path)) as file:
        return window_bytes(file.read(WINDOW_HEADER_BYTES) or b"")
