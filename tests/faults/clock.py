"""A clock that jumps, for every process of a run: a small library in front of the C library's own.

Only CLOCK_REALTIME jumps, as when somebody sets the clock; nothing sets a monotonic one. How far is in a file.
"""

import os
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static const volatile long *offset_s;

__attribute__((constructor)) static void open_offset(void) {
    const char *path = getenv("TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        offset_s = page;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    if (result == 0 && id == CLOCK_REALTIME && offset_s)
        now->tv_sec += *offset_s;
    return result;
}
"""


class JumpingClock:
    """`environment` is for the processes that are to see it."""

    def __init__(self, folder: Path) -> None:
        source, library, self._file = folder / "clock.c", folder / "clock.so", folder / "clock"
        source.write_text(SOURCE)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        self._file.write_bytes(bytes(8))
        self.environment = {**os.environ, "LD_PRELOAD": str(library), "TEST_CLOCK": str(self._file)}

    def jump_to(self, offset_s: int) -> None:
        """That far from the true time."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("l", offset_s))

    @staticmethod
    def can_be_made() -> bool:
        return shutil.which("gcc") is not None
