"""Loaded by Python at its start in some tests: psutil sees the cage (tests/cage.py) as the whole machine.

So a hog that is confined to the cage fills "the machine", although psutil knows no cgroups.
"""

import os
from collections import namedtuple

import psutil

_FOLDER = os.environ["MEMWATCH_TEST_CAGE"]
_Ram = namedtuple("_Ram", "total available")
_Swap = namedtuple("_Swap", "total used free sin sout")


def _number(name: str) -> int:
    with open(f"{_FOLDER}/{name}") as file:
        return int(file.read())


def _cache_bytes() -> int:
    with open(f"{_FOLDER}/memory.stat") as file:
        values = dict(line.split() for line in file)
    return int(values["total_active_file"]) + int(values["total_inactive_file"])


def virtual_memory() -> _Ram:
    total = _number("memory.limit_in_bytes")
    return _Ram(total, max(total - _number("memory.usage_in_bytes") + _cache_bytes(), 0))


psutil.virtual_memory = virtual_memory
psutil.swap_memory = lambda: _Swap(0, 0, 0, 0, 0)
