"""One process of the job: members.py keeps it from sample to sample, detail_reader.py reads its details."""

from memwatch.model.job_total import Key
from memwatch.model.units import MIB
from memwatch.probe.own_memory import OwnMemory
from memwatch.probe.procpid import Reading
from memwatch.probe.slow_files import Transfers

OUTGROWN = 0.7
TRANSFERS_INTERVAL_S = 5.0
# Less than this is not worth a reading.
SMALLEST_BYTES = MIB


class Member:
    """One process of the job, with what is known of it beyond its last reading."""

    __slots__ = (
        "comm",
        "command",
        "family",
        "family_size",
        "held_before_bytes",
        "image",
        "is_forked",
        "key",
        "memory",
        "parent_key",
        "reading",
        "share_family_size",
        "share_read_s",
        "stale_transfers",
        "transfers",
        "transfers_cpu_s",
        "transfers_s",
    )

    def __init__(self, reading: Reading, parent: "Member | None", family: bytes, is_forked: bool) -> None:
        stat = reading.stat
        self.key: Key = (stat.pid, stat.start_ticks)
        self.reading = reading
        self.held_before_bytes = 0  # at the reading before
        self.parent_key = None if parent is None else parent.key
        self.comm = stat.comm
        self.image = stat.image
        self.family = family
        self.is_forked = is_forked
        self.family_size = 1
        self.share_family_size = 0  # when its share was read; 0: never
        self.share_read_s = float("-inf")
        # It was forked since the last reading, so its parent held one or the other, or something between.
        inherited = None if parent is None else max(parent.held_bytes, parent.held_before_bytes)
        self.memory = OwnMemory(is_forked, inherited)
        self.command: str | None = None
        self.transfers: Transfers | None = None
        self.transfers_s = float("-inf")
        self.transfers_cpu_s = -1.0
        self.stale_transfers = 1  # so many readings are due whatever it does

    @property
    def held_bytes(self) -> int:
        return self.reading.anon_bytes + self.reading.swap_bytes

    @property
    def has_relatives(self) -> bool:
        return self.family_size > 1

    @property
    def is_outgrown(self) -> bool:
        return 0 < self.share_family_size < self.family_size * OUTGROWN

    def runs_same_program(self, reading: Reading) -> bool:
        """Whether it has started no other one (exec) since it was last seen."""
        stat = reading.stat
        if self.image and stat.image:
            return self.image == stat.image
        # A process that has ended has no image, and only the owner may see it.
        return self.comm == stat.comm

    @property
    def needs_share(self) -> bool:
        """Whether its own part of its memory has to be read: it may share pages with relatives, or shared memory."""
        has_relatives = self.has_relatives and self.held_bytes >= SMALLEST_BYTES
        return has_relatives or self.reading.shmem_bytes >= SMALLEST_BYTES

    def wants_transfers(self, clock_s: float) -> bool:
        # A process that has not run since has transferred nothing, but for the children that it has waited for.
        has_run = self.reading.stat.cpu_s != self.transfers_cpu_s
        return self.stale_transfers > 0 or has_run or clock_s - self.transfers_s >= TRANSFERS_INTERVAL_S
