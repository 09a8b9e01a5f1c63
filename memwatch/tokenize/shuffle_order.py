"""--shuffle: the order of slices of the inputs, and of documents in a block. A function of the seed and of sizes alone.

All inputs are divided into slices, each of whole documents. A permutation says which slice comes at which turn; it is
computed, not stored, so it takes no memory, and a run goes on from the number of a turn. Some slices from all over the
inputs make a batch, whose documents are shuffled among each other (`shuffled`).

The coordinator uses `Permutation` and does without numpy; workers use `shuffled`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_MASK_64 = (1 << 64) - 1
_ROUNDS = 6


def mixed(value: int) -> int:
    """A 64-bit number that depends on every bit of another one: the last step of SplitMix64."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK_64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK_64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK_64
    return value ^ (value >> 31)


def key_of(seed: int, *numbers: int) -> int:
    """One key for a seed and a place."""
    key = mixed(seed)
    for number in numbers:
        key = mixed(key ^ mixed(number))
    return key


class Permutation:
    """A permutation of the numbers below a size: a Feistel network over the next power of four, repeated until it gives
    one of them."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._half_bits = max((size - 1).bit_length() + 1, 2) // 2
        self._half_mask = (1 << self._half_bits) - 1
        self._keys = [key_of(seed, number) for number in range(_ROUNDS)]

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, turn: int) -> int:
        if not 0 <= turn < self._size:
            raise IndexError(turn)
        number = self._permuted(turn)
        while number >= self._size:
            number = self._permuted(number)
        return number

    def _permuted(self, number: int) -> int:
        left, right = number >> self._half_bits, number & self._half_mask
        for key in self._keys:
            left, right = right, left ^ (mixed(right ^ key) & self._half_mask)
        return left << self._half_bits | right


def document_order(documents: int, key: int) -> "npt.NDArray[np.intp]":
    """A permutation. Not numpy's own generator, whose numbers may differ from one version to the next."""
    import numpy as np

    numbers = np.arange(documents, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(mixed(key))
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(numbers ^ (numbers >> np.uint64(31)), kind="stable")


def shuffled(tokens: "Array", starts: "Array", open_end: bool, key: int) -> "tuple[Array, Array]":
    """The documents of a block in another order, and where they begin now. What belongs to a document that begins
    before the block stays at its beginning, and one that goes on after the block stays at its end."""
    import numpy as np

    movable = len(starts) - open_end
    if movable < 2:
        return tokens, starts
    ends = np.append(starts[1:], len(tokens))
    order = np.append(document_order(movable, key), np.arange(movable, len(starts)))
    pieces = [tokens[: starts[0]], *(tokens[starts[i] : ends[i]] for i in order)]
    lengths = (ends - starts)[order]
    return np.concatenate(pieces), starts[0] + np.concatenate([[0], np.cumsum(lengths)[:-1]])
