"""Takes memory, gives every other MiB of it free again, and holds the rest until it is killed. Says when it is done.

python spare.py MEBIBYTES
"""

import mmap
import sys
import time

MADV_POPULATE_WRITE = 23  # Linux 5.14; Python has no name for it yet.

size = int(sys.argv[1]) << 20
held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.madvise(mmap.MADV_HUGEPAGE)
held.madvise(MADV_POPULATE_WRITE)
for start in range(0, size, 2 << 20):
    held.madvise(mmap.MADV_DONTNEED, start, 1 << 20)
print("ready", flush=True)
time.sleep(1000)
