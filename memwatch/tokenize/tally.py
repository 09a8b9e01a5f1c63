"""Adds up what blocks report, in the order of the input: the totals of a run, and the position that they belong to."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.checkpoint import Totals
from memwatch.tokenize.inputs.input_source import Checksum, Input
from memwatch.tokenize.messages import Encoded

# Of records that --bad-records skip leaves out, the manifest lists so many; all are counted.
LISTED_RECORDS = 1000
# Before the end, so many beyond --bad-limit end a run: the first records of an input may be worse than the rest.
GRACE_RECORDS = 100
MOST_MARKS = 256
FIRST_MARK_STRIDE_BYTES = 4 << 20


class Tally:
    """Counts each block once, in order. `totals` and `position` belong together, so a checkpoint can take both."""

    def __init__(
        self, inputs: list[Input], start: ReadPosition, totals: Totals, bad_limit: str, is_shuffled: bool = False
    ) -> None:
        self._bad_limit = bad_limit
        self.totals = totals
        self.position = start
        self._inputs = inputs
        self._file_bytes_before = [0]
        for source in inputs:
            self._file_bytes_before.append(self._file_bytes_before[-1] + (source.size_bytes or 0))
        self._counted = 0
        self._is_shuffled = is_shuffled
        self._fed_bytes = 0

    def is_written(self, written: int) -> bool:
        """Whether all that was counted is also written, given the number of blocks that are."""
        return self._counted == written

    def snapshot(self) -> Totals:
        """A copy of the totals that later blocks do not change."""
        return self.totals.with_own_lists()

    def add_time(self, writing_s: float, waiting_s: float) -> None:
        """What a worker spent on writing, and on waiting for its place."""
        time_s = self.totals.time_s
        time_s["writing"] += writing_s
        time_s["waiting"] += waiting_s

    def count(self, encoded: Encoded) -> None:
        """The next block. In memory mode it is counted when it is held, and not again when it is written."""
        if encoded.number < self._counted:
            return
        self._counted = encoded.number + 1
        totals = self.totals
        totals.time_s["reading"] += encoded.reading_s
        totals.time_s["encoding"] += encoded.encoding_s
        if not encoded.after:
            return  # It lies inside a record that began in an earlier one.
        after = ReadPosition.from_json(encoded.after)
        source = self._inputs[after.input]
        base = 0
        if source.has_rows and not self._is_shuffled:
            # How much text comes before these rows shows only here.
            base = self.position.offset if self.position.input == after.input else 0
            after = replace(after, offset=base + encoded.text_bytes)
        self._mark(encoded, base)
        self._count_records(encoded, after)
        self.position = self._read_up_to(after, encoded)
        self._count_bytes(encoded, after, source)
        totals.train_tokens += encoded.train_tokens
        totals.val_tokens += encoded.val_tokens
        totals.documents += encoded.documents
        totals.missing_texts += encoded.missing_texts
        totals.replaced_bytes += encoded.replaced_bytes
        totals.inexact_cuts += encoded.inexact_cuts
        for number, start, end in encoded.val_ranges:
            # How much text comes before rows is not known in a shuffled run.
            if not (self._is_shuffled and self._inputs[number].has_rows):
                self._count_range(number, base + start, base + end)

    def _read_up_to(self, after: ReadPosition, encoded: Encoded) -> ReadPosition:
        """The position with what was read of the input before it: its checksum, and the number of its records."""
        before = self.position
        if self._is_shuffled and (before.input, before.turn) != (after.input, after.turn):
            before = ReadPosition(after.input)
        if self._is_shuffled and encoded.slot is None:
            return after  # A batch is read from many places, and the next one from others.
        if before.input != after.input:
            if before.offset:
                self.totals.finished_inputs.append([before.input, before.offset, before.digest, before.member])
            before = ReadPosition(after.input)
        checksum = Checksum(before.digest)
        checksum.append(encoded.checksum, encoded.text_bytes)
        lines = self._lines_before(after) + encoded.records
        return replace(after, digest=checksum.hex, lines=lines)

    def _lines_before(self, after: ReadPosition) -> int:
        before = self.position
        is_same = (before.input, before.member, before.turn) == (after.input, after.member, after.turn)
        return self.position.lines if is_same else 0

    def _count_records(self, encoded: Encoded, after: ReadPosition) -> None:
        totals = self.totals
        totals.records += encoded.records
        totals.bad_records += len(encoded.bad)
        room = max(LISTED_RECORDS - len(totals.bad), 0)
        lines = self._lines_before(after)
        totals.bad += [listed_bad(name, lines + number, problem) for name, number, problem in encoded.bad[:room]]
        if encoded.bad:
            check_bad_records(totals.bad_records, totals.records, self._bad_limit, totals.bad)

    def _count_bytes(self, encoded: Encoded, after: ReadPosition, source: Input) -> None:
        """A parquet file's end is read more than once, and a small one is all end: never more than there is."""
        totals = self.totals
        totals.text_bytes += encoded.text_bytes
        if self._is_shuffled:
            self._count_shuffled_bytes(encoded)
            return
        read = encoded.file_position if source.size_bytes is None else min(encoded.file_position, source.size_bytes)
        totals.file_bytes = max(totals.file_bytes, self._file_bytes_before[after.input] + read)

    def _count_shuffled_bytes(self, encoded: Encoded) -> None:
        """A batch reports how much it took, and what is fed how far it has come in its file."""
        if encoded.slot is None:
            self.totals.file_bytes += encoded.file_position
            self._fed_bytes = 0
        else:
            self.totals.file_bytes += max(encoded.file_position - self._fed_bytes, 0)
            self._fed_bytes = encoded.file_position
        self.totals.file_bytes = min(self.totals.file_bytes, self._file_bytes_before[-1])

    def _count_range(self, number: int, start: int, end: int) -> None:
        ranges = self.totals.val_ranges
        if ranges and ranges[-1][0] == number and ranges[-1][2] == start:
            ranges[-1][2] = end
        else:
            ranges.append([number, start, end])

    def _mark(self, encoded: Encoded, base: int) -> None:
        """Remember now and then which token a place in the input became."""
        if encoded.mark is None:
            return
        tokens, position = encoded.mark
        totals = self.totals
        stride = totals.mark_stride_bytes or FIRST_MARK_STRIDE_BYTES
        at = totals.text_bytes
        if totals.marks and at - totals.marks[-1]["total_bytes"] < stride:
            return
        position = {**position, "offset": base + position["offset"]}
        totals.marks.append(
            {"total_bytes": at, "train_token": totals.train_tokens + tokens, "position": position}
        )  # fmt: skip
        if len(totals.marks) > MOST_MARKS:
            totals.marks = totals.marks[::2]
            stride *= 2
        totals.mark_stride_bytes = stride


def listed_bad(name: str, line: int, problem: str) -> dict[str, Any]:
    """How a manifest lists a record that was skipped."""
    return {"file": name, "line": line, "problem": problem}


def check_bad_records(
    bad: int, records: int, limit: str, listed: list[dict[str, Any]], grace: int = GRACE_RECORDS
) -> None:
    """Raise if more records are bad than the limit, a share, allows."""
    if bad <= Fraction(limit) * records + grace or not listed:
        return
    first = listed[0]
    raise MemwatchError(
        f"{bad} of {records} records are bad, more than --bad-limit {float(Fraction(limit)):g} allows; "
        f"the first is line {first['line']} of {first['file']}: it {first['problem']}"
    )
