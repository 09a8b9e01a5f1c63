"""A job that is calm for a while, and then suddenly takes memory. Prints the Unix time of that, a moment before.

python burst.py CALM_SECONDS MEBIBYTES_A_SECOND MOST_MEBIBYTES
"""

import mmap
import sys
import time

MAP_POPULATE = 0x8000
MADV_POPULATE_WRITE = 23  # Linux 5.14; Python has no name for it yet.
PIECE_BYTES = 4 << 20
FILLING = b"x" * PIECE_BYTES
# Page by page a core makes a good GiB a second; with huge pages, as numpy asks for them, several.
HUGE_FROM_BYTES_A_SECOND = 1 << 30
HUGE_PIECE_BYTES = 16 << 20
HEADS_UP_S = 0.2
held = []


def small_piece() -> int:
    held.append(mmap.mmap(-1, PIECE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_POPULATE))
    held[-1].write(FILLING)
    return PIECE_BYTES


def huge_piece() -> int:
    held.append(mmap.mmap(-1, HUGE_PIECE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    held[-1].madvise(mmap.MADV_HUGEPAGE)
    held[-1].madvise(MADV_POPULATE_WRITE)
    return HUGE_PIECE_BYTES


def take(size_bytes: float, bytes_a_second: float) -> None:
    piece = huge_piece if bytes_a_second > HUGE_FROM_BYTES_A_SECOND else small_piece
    started, taken = time.monotonic(), 0
    while taken < size_bytes:
        while taken < min((time.monotonic() - started) * bytes_a_second, size_bytes):
            taken += piece()
        time.sleep(0.002)


calm_s, rate_mib_s, most_mib = map(float, sys.argv[1:])
time.sleep(calm_s)
print(time.time() + HEADS_UP_S, flush=True)
time.sleep(HEADS_UP_S)
take(most_mib * 2**20, rate_mib_s * 2**20)
time.sleep(1000)
