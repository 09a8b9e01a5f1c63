"""A job that is calm for a while, and then suddenly takes memory. Prints the Unix time of that.

python burst.py CALM_SECONDS MEBIBYTES_A_SECOND MOST_MEBIBYTES
"""

import mmap
import os
import sys
import time

MAP_POPULATE = 0x8000
PIECE_BYTES = 4 << 20
PAGE_BYTES = 4096
MARKS = b"x" * (PIECE_BYTES // PAGE_BYTES)
# A core makes a good GiB a second, page by page.
ONE_PROCESS_BYTES_A_SECOND = 1 << 30
held: list[mmap.mmap] = []


def take(size_bytes: float, bytes_a_second: float) -> None:
    started, taken = time.monotonic(), 0
    while taken < size_bytes:
        while taken < min((time.monotonic() - started) * bytes_a_second, size_bytes):
            held.append(mmap.mmap(-1, PIECE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_POPULATE))
            held[-1][::PAGE_BYTES] = MARKS  # Pages of zeros are never swapped out: the kernel just notes them.
            taken += PIECE_BYTES
        time.sleep(0.002)


calm_s, rate_mib_s, most_mib = map(float, sys.argv[1:])
time.sleep(calm_s)
print(time.time(), flush=True)
processes = 2 if rate_mib_s * 2**20 > ONE_PROCESS_BYTES_A_SECOND else 1
if processes == 2:
    os.fork()
take(most_mib / processes * 2**20, rate_mib_s / processes * 2**20)
time.sleep(1000)
