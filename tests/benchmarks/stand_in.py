"""A stand-in for a desktop: a working set that is touched 20 times a second. Prints how long each touch took.

python stand_in.py MEBIBYTES FILE [WINDOW_MEBIBYTES]

Half of it is memory of its own, half is mapped from FILE, as programs and their libraries are; and with every touch a
window is drawn, in memory that is new. Every line is the Unix time and the seconds from when the touch was due until
it was done.
"""

import mmap
import os
import sys
import time

TOUCHES_A_SECOND = 20
PAGE_BYTES = 4096
WINDOW_BYTES = int(sys.argv[3] if len(sys.argv) > 3 else 8) << 20  # 8 MiB: 1920 x 1080


def draw() -> None:
    with mmap.mmap(-1, WINDOW_BYTES) as window:
        window[::PAGE_BYTES] = b"\1" * (WINDOW_BYTES // PAGE_BYTES)


size = int(sys.argv[1]) << 19
own = mmap.mmap(-1, size)
for page in range(0, size, PAGE_BYTES):
    own[page] = 1
with open(sys.argv[2], "wb+") as file:
    for _ in range(size >> 20):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
    programs = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
print("ready", flush=True)
due = time.monotonic()
while True:
    due += 1 / TOUCHES_A_SECOND
    time.sleep(max(due - time.monotonic(), 0))
    own[::PAGE_BYTES], programs[::PAGE_BYTES]  # One byte of each page, fast enough for an emulated machine.
    draw()
    took = time.monotonic() - due
    print(f"{time.time():.3f} {took:.4f}", flush=True)
    due = max(due, time.monotonic() - 1 / TOUCHES_A_SECOND)  # Late by less than a frame, it keeps its pace.
