"""Blocks of an archive: of each member as of a file of its own. Positions count the text of all members."""

from collections.abc import Callable
from dataclasses import replace

from memwatch.tokenize.blocks import Block, ReadPosition
from memwatch.tokenize.cuts import Cuts
from memwatch.tokenize.inputs.archives import ArchiveMember, format_of_member, members_of
from memwatch.tokenize.inputs.byte_streams import Stream, TextReader, skip
from memwatch.tokenize.inputs.input_formats import Kind
from memwatch.tokenize.inputs.input_source import Input, InputChanged
from memwatch.tokenize.inputs.json_records import JsonRecords
from memwatch.tokenize.inputs.recognition import Prefixed, head_of
from memwatch.tokenize.split import SplitWalk
from memwatch.tokenize.stream_blocks import StreamBlocks


class ArchiveBlocks:
    """The blocks of all members of an archive, one member after the other. `cuts_of` has the cuts of each format. `at`
    is where an earlier run stopped: what comes before it is read again and compared with its checksum."""

    def __init__(
        self,
        source: Input,
        stream: Stream,
        cuts_of: Callable[[Kind], Cuts],
        walk: SplitWalk,
        at: ReadPosition,
    ) -> None:
        self.ended = False
        self._source = source
        self._stream = stream
        self._members = members_of(source, stream)
        self._cuts_of = cuts_of
        self._walk = walk
        self._blocks: StreamBlocks | None = None
        self._number = -1
        skip(self._skipped, at.offset, at.digest, source)
        if at.offset and self._number != at.member:
            raise InputChanged(source.name)

    def next(self, at: ReadPosition, limit: int) -> Block | None:
        while self._blocks is not None or self._begin_member():
            assert self._blocks is not None
            if at.member != self._number:
                at = replace(at, member=self._number, lines=0, in_document=False)
            block = self._blocks.next(at, limit)
            if block is not None:
                return block
            self._blocks = None
        self.ended = True
        return None

    def close(self) -> None:
        self._stream.close()

    def _begin_member(self) -> bool:
        member = next(self._members, None)
        if member is None:
            return False
        self._number += 1
        self._blocks = self._blocks_of(member)
        return True

    def _blocks_of(self, member: ArchiveMember) -> StreamBlocks:
        head, is_whole = head_of(member.read)
        kind = format_of_member(self._source, member.name, head, is_whole)
        file = Prefixed(head, member.read)
        reader = JsonRecords(file.read, member.name) if kind == "json" else file
        text = _MemberText(reader, self._stream)
        return StreamBlocks(text, member.name, kind, self._cuts_of(kind), self._walk, continues_val=True)

    def _skipped(self, size: int) -> bytes:
        """Text that an interrupted run has read, of whatever member it is in."""
        while self._blocks is not None or self._begin_member():
            assert self._blocks is not None
            data = self._blocks.skipped(size)
            if data:
                return data
            self._blocks = None
        return b""


class _MemberText:
    """A member as a stream; how far the archive itself has been read is what progress is measured by."""

    def __init__(self, file: TextReader, stream: Stream) -> None:
        self._file = file
        self._stream = stream

    @property
    def file_position(self) -> int:
        return self._stream.file_position

    def read(self, size: int) -> bytes:
        return self._file.read(size)

    def close(self) -> None:
        """Does nothing: the archive stays open for its next member."""
