"""Shuffles the documents of a block of tokens among each other."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memwatch.tokenize.shuffle_order import mixed

Array = npt.NDArray[Any]


def document_order(documents: int, key: int) -> npt.NDArray[np.intp]:
    """A permutation. Not numpy's own generator, whose numbers may differ from one version to the next."""
    numbers = np.arange(documents, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(mixed(key))
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(numbers ^ (numbers >> np.uint64(31)), kind="stable")


def shuffled(tokens: Array, starts: Array, open_end: bool, key: int) -> tuple[Array, Array]:
    """The documents in another order, and where they begin now. What belongs to a document that begins before the block
    stays at its beginning, and one that goes on after the block stays at its end."""
    movable = len(starts) - open_end
    if movable < 2:
        return tokens, starts
    ends = np.append(starts[1:], len(tokens))
    order = np.append(document_order(movable, key), np.arange(movable, len(starts)))
    pieces = [tokens[: starts[0]], *(tokens[starts[i] : ends[i]] for i in order)]
    lengths = (ends - starts)[order]
    return np.concatenate(pieces), starts[0] + np.concatenate([[0], np.cumsum(lengths)[:-1]])
