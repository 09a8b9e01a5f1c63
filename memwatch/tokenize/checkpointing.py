"""When a checkpoint is due, and its two steps: what is written is put on disk, then the checkpoint describes it."""

import time
from collections.abc import Callable

from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.checkpoint import Totals
from memwatch.tokenize.output_state import OutputState
from memwatch.tokenize.outputs import Outputs
from memwatch.tokenize.tally import Tally

CHECKPOINT_INTERVAL_S = 4.0
# A checkpoint that takes long, because it has much to say, comes less often.
CHECKPOINT_SHARE = 0.02


class Checkpointing:
    """The pipeline calls `begin`, and `finish` when the hasher has put everything on disk. `save` writes the file."""

    def __init__(
        self, tally: Tally, outputs: Outputs, save: Callable[[ReadPosition, Totals, OutputState], None]
    ) -> None:
        self._tally = tally
        self._outputs = outputs
        self._save = save
        self._begun: tuple[ReadPosition, Totals] | None = None
        self._interval_s = CHECKPOINT_INTERVAL_S
        self.due_s = time.monotonic() + self._interval_s

    @property
    def is_under_way(self) -> bool:
        return self._begun is not None

    def put_off(self) -> None:
        """The next one is due after a whole interval."""
        self.due_s = time.monotonic() + self._interval_s

    def begin(self) -> None:
        """Remember where the run stands, and have the hasher put all up to there on disk."""
        self._begun = (self._tally.position, self._tally.snapshot())
        self._outputs.request_state()

    def finish(self, sha256: tuple[str, ...]) -> None:
        """Write the checkpoint. `sha256` has the hashes of the growing files, in their order."""
        assert self._begun is not None
        (position, totals), self._begun = self._begun, None
        state = self._outputs.state_of(sha256)
        began_s = time.monotonic()
        self._save(position, totals, state)
        interval_s = max(CHECKPOINT_INTERVAL_S, (time.monotonic() - began_s) / CHECKPOINT_SHARE)
        self.due_s += interval_s - self._interval_s
        self._interval_s = interval_s
