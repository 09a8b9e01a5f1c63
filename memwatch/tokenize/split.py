"""Which parts of the input are kept for validation.

Units of validation text lie spread over the whole input. Where the next one begins follows from how many bytes were
given to validation so far, so the share stays within half a unit of the ratio; units start small and grow with the
input, up to a size that holds many training contexts. The split sees offsets only, so it is the same for every engine,
mode, block size and number of workers, and a resumed run goes on as if it had never stopped.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from memwatch.model.units import KIB

SMALLEST_UNIT_BYTES = 2 * KIB
LARGEST_UNIT_BYTES = 256 * KIB
UNITS_BEFORE_GROWTH = 32


@dataclass(slots=True)
class Splitter:
    """Offsets count all input bytes before, over all inputs. `change_at` is where the next change of sides is due;
    it happens at the first place after it where documents or words allow."""

    ratio: Fraction
    val_bytes: int = 0
    unit_start: int | None = None

    @property
    def in_val(self) -> bool:
        return self.unit_start is not None

    @property
    def change_at(self) -> int | None:
        if not self.ratio:
            return None
        if self.unit_start is not None:
            return self.unit_start + self._unit_bytes
        return math.ceil((self.val_bytes + Fraction(self._unit_bytes, 2)) / self.ratio)

    def change_sides(self, offset: int) -> None:
        if self.unit_start is None:
            self.unit_start = offset
        else:
            self.val_bytes += offset - self.unit_start
            self.unit_start = None

    @property
    def _unit_bytes(self) -> int:
        return min(max(self.val_bytes // UNITS_BEFORE_GROWTH, SMALLEST_UNIT_BYTES), LARGEST_UNIT_BYTES)
