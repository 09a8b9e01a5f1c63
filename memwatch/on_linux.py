"""Whether memwatch uses what only Linux has: /proc, cgroups, pidfd, ptrace, prctl, signalfd, abstract sockets.

Elsewhere psutil reads the machine (probe/portable.py), a pause is SIGSTOP, and sockets have files.
MEMWATCH_PROBE=portable chooses the same on Linux, for tests: refuse_linux.py then refuses every Linux-only call, so
that what passes there can run on macOS.
"""

import os
import sys

PROBE_VARIABLE = "MEMWATCH_PROBE"
IS_FORCED = os.environ.get(PROBE_VARIABLE) == "portable"
IS_LINUX: bool = sys.platform == "linux" and not IS_FORCED
MAXRSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024  # of what the kernel says of a peak (getrusage)
