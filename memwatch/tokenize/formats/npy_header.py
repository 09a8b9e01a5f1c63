"""The header of numpy.save. Written by hand, because the processes that write files do without numpy."""

import struct

NPY_HEADER_BYTES = 128


def npy_header(descr: str, items: int) -> bytes:
    """Version 1.0 of a one-dimensional array, padded with spaces so that the data is aligned."""
    entries = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({items},), }}"
    length = NPY_HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + entries.ljust(length - 1).encode() + b"\n"
