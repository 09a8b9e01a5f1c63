"""Whether a partial run can go on: the same settings, and inputs of which everything that was read is still the same.

A checkpoint has a checksum of the text that was read of each input. It is compared where an input may have changed: its
time stamp is another one, or, with --resume-changed, its size or content is.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from memwatch.errors import MemwatchError
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.checkpoint import Checkpoint, Totals
from memwatch.tokenize.inputs.input_source import Checksum, Input, InputChanged
from memwatch.tokenize.inputs.plain_file import PlainFile
from memwatch.tokenize.inputs.row_reader import open_rows
from memwatch.tokenize.settings import TokenizeSettings

READ_BYTES = 4 << 20
_OR_FRESH = "Repeat the original command to resume it, or add --fresh to delete it and start over"
_OR_CHANGED = f"--resume-changed goes on if what was read is still the same. {_OR_FRESH}"


def check_resumable(
    checkpoint: Checkpoint,
    settings: TokenizeSettings,
    opener: BlockOpener,
    may_change: bool,
    note: Callable[[str], None],
) -> None:
    """Raise, naming the change, unless the command can go on with the partial run."""
    changes = settings.changes_since(checkpoint.settings)
    if changes:
        raise _cannot(changes, _OR_FRESH)
    inputs, recorded = opener.inputs, checkpoint.inputs
    if len(inputs) != len(recorded):
        changes.append(f"the number of inputs was {len(recorded)} and is now {len(inputs)}")
    pairs = list(zip(inputs, recorded, strict=False))
    found = {number: now.change_since(then) for number, (now, then) in enumerate(pairs)}
    changes += [change for change in found.values() if change is not None]
    is_other = len(inputs) < len(recorded) or any(
        (now.path, now.kind, now.packing) != (then["path"], then["kind"], then["packing"]) for now, then in pairs
    )
    # The order of a shuffled run follows from the sizes of its inputs.
    is_other = is_other or settings.shuffle is not None
    if changes and (is_other or not may_change):
        raise _cannot(changes, _OR_FRESH if is_other else _OR_CHANGED)
    if settings.shuffle is not None:
        return  # What was read lies all over the inputs; their sizes and fingerprints are the same.
    for at in positions_read(checkpoint.totals, checkpoint.position):
        now, then = pairs[at.input]
        if found[at.input] is not None or now.is_touched(then["modified_ns"]):
            note(f"{now.name} has another time stamp or size: comparing what was read of it")
            is_finished = at.input < checkpoint.position.input
            check_same_text(opener, at, is_finished=is_finished, may_go_on_here=found[at.input] is None)


def positions_read(totals: Totals, position: ReadPosition) -> list[ReadPosition]:
    """Up to where each input was read."""
    ends = [
        ReadPosition(number, offset, digest=digest, member=member)
        for number, offset, digest, member in totals.finished_inputs
    ]
    return [*ends, *([position] if position.offset else [])]


def check_untouched(opener: BlockOpener, totals: Totals, position: ReadPosition) -> None:
    """At the end of a run: raise if an input was changed meanwhile. A new time stamp alone is no change."""
    for source in opener.inputs:
        source.check_unchanged()
    if opener.settings.shuffle is not None:
        return
    for at in positions_read(totals, position):
        source = opener.inputs[at.input]
        if not source.is_standard_input and source.is_touched(source.now().modified_ns):
            try:
                check_same_text(opener, at, is_finished=True, may_go_on_here=True)
            except MemwatchError as error:
                raise InputChanged(source.name) from error


def check_same_text(opener: BlockOpener, at: ReadPosition, is_finished: bool, may_go_on_here: bool) -> None:
    """Raise unless the text of an input before a position has its checksum. `is_finished`: nothing may follow it.
    Else it must be possible to go on there, which is certain (`may_go_on_here`) if the input is as it was."""
    source = opener.inputs[at.input]
    if source.has_rows:
        ends, digest = _rows_digest(source, opener.settings.text_column, at, is_finished)
        may_go_on_here = may_go_on_here or not at.row_offset  # Between rows nothing depends on what follows.
    elif source.is_plain:
        ends, digest = _plain_digest(source, at)
        if not is_finished and not may_go_on_here:
            with closing(PlainFile(source)) as file:
                may_go_on_here = opener.start_at(file, at.offset).offset == at.offset
    else:
        # Opening compares the digest.
        with closing(opener.open(at)) as blocks:
            ends = not is_finished or blocks.next(replace(at, digest=None), READ_BYTES) is None
            digest = at.digest or ""
        may_go_on_here = may_go_on_here or _ends_as_before(opener, at)
    if digest != (at.digest or ""):
        raise _cannot([f"the part of {source.name} that was read has changed contents"], _OR_FRESH)
    if is_finished and not ends:
        raise _cannot([f"{source.name} was read to its end and has grown since"], _OR_FRESH)
    if not is_finished and not may_go_on_here:
        raise _cannot([f"{source.name} has changed right behind byte {at.offset}, where the run stopped"], _OR_FRESH)


def _ends_as_before(opener: BlockOpener, at: ReadPosition) -> bool:
    """If the end of the text (or of the member of an archive) was in view, the text was cut and split by it."""
    if at.end is None:
        return True
    position = replace(at, digest=None)
    with closing(opener.open(position)) as blocks:
        while position.offset <= at.end and (block := blocks.next(position, READ_BYTES)) is not None:
            if block.after.member != at.member:
                break
            position = block.after
    return position.offset == at.end


def _plain_digest(source: Input, at: ReadPosition) -> tuple[bool, str]:
    checksum = Checksum()
    size = source.size_bytes or 0
    if size < at.offset:
        raise _cannot([f"{source.name} is now shorter than what was read of it"], _OR_FRESH)
    with closing(PlainFile(source)) as file:
        for start in range(0, at.offset, READ_BYTES):
            checksum.update(file.read(start, min(start + READ_BYTES, at.offset)))
    return size == at.offset, checksum.hex


def _rows_digest(source: Input, column: str, at: ReadPosition, is_finished: bool) -> tuple[bool, str]:
    checksum, length = Checksum(), 0
    stop = None if is_finished else at.row_group + 1
    with closing(open_rows(source, column, 0, 0, stop)) as rows:
        while (batch := rows.next()) is not None:
            end = len(batch.texts)
            if not is_finished and batch.group == at.row_group:
                before = max(min(at.row - batch.row, len(batch.ends)), 0)
                end = int(batch.ends[before - 1]) if before else 0
                end += at.row_offset if batch.row <= at.row < batch.row + len(batch.ends) else 0
            checksum.update(memoryview(batch.texts)[:end])
            length += end
    return length == at.offset, checksum.hex if length == at.offset else ""


def _cannot(changes: list[str], advice: str) -> MemwatchError:
    return MemwatchError(f"cannot resume the partial run: {'; '.join(changes[:3])}. {advice}")
