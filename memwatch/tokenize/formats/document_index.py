"""Where the documents of a file begin, and the index that is made of it.

While a file grows, the positions of its documents grow in a file beside it: 8 bytes for each document. When the file is
complete, its index is made from them piece by piece, so memory does not grow with the number of documents.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

START_BYTES = 8
CHUNK_STARTS = 1 << 16
NPY_HEADER_BYTES = 128

IndexBytes = Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Starts:
    """Positions of the first tokens of all documents that begin in a file. `read(first, last)` returns some of them as
    little-endian 64-bit numbers."""

    count: int
    read: Callable[[int, int], bytes]

    def chunks(self) -> "Iterator[npt.NDArray[np.int64]]":
        import numpy as np  # Not before there is an index: the coordinator and the hasher do without it.

        for first in range(0, self.count, CHUNK_STARTS):
            yield np.frombuffer(self.read(first, min(first + CHUNK_STARTS, self.count)), "<i8")


def npy_header(descr: str, items: int) -> bytes:
    """The header that numpy.save writes for a one-dimensional array (version 1.0), padded so that the data is aligned.
    Made without numpy, which the processes that write files do not load."""
    entries = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({items},), }}"
    length = NPY_HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + entries.ljust(length - 1).encode() + b"\n"


def npy_index(starts: Starts) -> IndexBytes:
    """The positions as an array of numpy, for np.load."""
    yield npy_header("<i8", starts.count)
    for chunk in starts.chunks():
        yield chunk.tobytes()
