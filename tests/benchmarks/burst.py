"""A job that is calm for a while, and then suddenly takes memory. Prints the Unix time at which the burst began.

python burst.py CALM_SECONDS MEBIBYTES_A_SECOND MOST_MEBIBYTES
"""

import mmap
import sys
import time

MAP_POPULATE = 0x8000
PIECE_BYTES = 4 << 20
FILLING = b"x" * PIECE_BYTES
held = []


def take(size_bytes: float, bytes_a_second: float) -> None:
    started, taken = time.monotonic(), 0
    while taken < size_bytes:
        while taken < min((time.monotonic() - started) * bytes_a_second, size_bytes):
            held.append(mmap.mmap(-1, PIECE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_POPULATE))
            held[-1].write(FILLING)
            taken += PIECE_BYTES
        time.sleep(0.002)


calm_s, rate_mib_s, most_mib = map(float, sys.argv[1:])
time.sleep(calm_s)
print(time.time(), flush=True)
take(most_mib * 2**20, rate_mib_s * 2**20)
time.sleep(1000)
