"""Blocks in the order of the input: who encodes them, where their tokens belong, and which of them are written.

Workers encode and write in any order. A block gets its place when all before it have theirs, and counts when it and all
before it are written. In memory mode workers hold the tokens: there a block counts when it is held.
"""

from collections import deque

from memwatch.errors import Broken, MemwatchError
from memwatch.model.units import MIB
from memwatch.tokenize.crew import CrewMember
from memwatch.tokenize.messages import BlockFailed, Encoded, WritePlace, Written
from memwatch.tokenize.outputs import Outputs
from memwatch.tokenize.tally import Tally

# Of what is written; the pages of the rest wait in the page cache.
MOST_UNHASHED_BYTES = 256 * MIB
# To a worker that writes out what it holds.
MOST_PLACES_UNDER_WAY = 64


class BlockOrder:
    """The pipeline calls it with every message about a block. Blocks are known by their number."""

    def __init__(self, outputs: Outputs, tally: Tally, holds: bool) -> None:
        self._outputs = outputs
        self._tally = tally
        self._owners: dict[int, CrewMember] = {}
        self._early: dict[int, Encoded | BlockFailed] = {}  # came back before its turn
        self._placed: dict[int, Encoded] = {}  # and not written without a gap yet
        self._written: set[int] = set()
        self._next_to_place = 0
        self._is_open = True
        self._next_to_count = 0
        # In memory mode: places of tokens that workers hold, in order; and those that they are to write now.
        self._held: deque[tuple[CrewMember, WritePlace]] | None = deque() if holds else None
        self._to_write: deque[tuple[CrewMember, WritePlace]] = deque()
        self.held_bytes = 0

    @property
    def holds(self) -> bool:
        """Whether tokens are held in memory and written at the end."""
        return self._held is not None

    @property
    def is_idle(self) -> bool:
        """Whether nobody has a block to encode or to write."""
        return not self._owners

    @property
    def is_all_written(self) -> bool:
        return not self._placed

    @property
    def is_all_counted_written(self) -> bool:
        """Whether a checkpoint of what was counted would be true."""
        return not self.holds and self._tally.is_written(self._next_to_count)

    def assign(self, number: int, member: CrewMember) -> None:
        """A worker gets this block, to encode or to write."""
        self._owners[number] = member
        member.tasks += 1

    def take(self, message: Encoded | BlockFailed) -> None:
        """A block has come back from its worker, perhaps before its turn."""
        self._early[message.number] = message

    def place(self) -> None:
        """Give places to all blocks whose turn it is, unless the hasher is too far behind."""
        while self._is_open and self._outputs.unhashed_bytes < MOST_UNHASHED_BYTES:
            encoded = self._early.pop(self._next_to_place, None)
            if encoded is None:
                return
            if isinstance(encoded, BlockFailed):
                raise Broken(encoded.problem) if encoded.is_broken else MemwatchError(encoded.problem)
            number, member = encoded.number, self._owners[encoded.number]
            starts = encoded.train_starts, encoded.val_starts
            place = WritePlace(number, *self._outputs.place(encoded.train_tokens, encoded.val_tokens, *starts))
            self._placed[number] = encoded
            self._next_to_place += 1
            if self._held is None:
                member.send(place)
            else:
                self._held.append((member, place))
                self.held_bytes += sum(end - start for _, _, start, end in (*place.train, *place.val))
                self._tally.count(encoded)
                self._release(member, number)

    def stop_placing(self) -> None:
        """The run stops: what would be written now is not in its last checkpoint, and would be made again."""
        self._is_open = False

    def take_written(self, member: CrewMember, written: Written) -> bool:
        """Count what is complete now; returns whether that completed a shard."""
        self._release(member, written.number)
        self._written.add(written.number)
        self._tally.add_time(written.writing_s, written.waiting_s)
        completed_shard = False
        while self._next_to_count in self._written:
            self._written.remove(self._next_to_count)
            encoded = self._placed.pop(self._next_to_count)
            completed_shard |= self._outputs.wrote()
            self._tally.count(encoded)
            self._next_to_count += 1
        return completed_shard

    def stop_holding(self) -> None:
        """From now on blocks are written at once; `write_held` is to be called until all that was held is sent."""
        self._to_write, self._held = self._held or self._to_write, None

    def write_held(self) -> bool:
        """Have workers write some of what they hold; returns whether there was any left to send."""
        had_some = bool(self._to_write)
        while self._to_write and len(self._owners) < MOST_PLACES_UNDER_WAY:
            member, place = self._to_write.popleft()
            self.assign(place.number, member)
            member.send(place)
        return had_some

    def _release(self, member: CrewMember, number: int) -> None:
        member.tasks -= 1
        del self._owners[number]
