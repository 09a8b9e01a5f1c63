"""Whose limit the stack in an OOM report shows: the request went through a cgroup's account, or the machine's.

OomReader (oom_report.py) gives it every line that is nothing else.
"""

import re
from dataclasses import dataclass

from memwatch.diagnose.logs.oom_kill import LimitKind

_THROUGH_CGROUP = re.compile(
    r"\bmem_cgroup_(?:out_of_memory|oom_synchronize|oom)\b|\btry_charge_memcg\b|(?<!\? )\b_*mem_cgroup_try_charge\b"
)
_THROUGH_MACHINE = re.compile(
    r"^\s*(?:\[<[0-9a-f]+>\] )?__alloc_(?:pages|frozen_pages)(?:\w*(?:slowpath|may_oom)|(?:_nodemask)?\+0x)|"
    r"\b__out_of_memory\+0x|out_of_memory from __alloc_pages|^\s*(?:\[<[0-9a-f]+>\] )?pagefault_out_of_memory"
)
_UNSURE_FRAME = re.compile(
    r"\s*(?:\[<[0-9a-f]+>\] )?\? (?P<function>_*mem_cgroup_(?:out_of_memory|oom\w*|try_charge\w*)|"
    r"__alloc_pages_nodemask)\+0x"
)
_ANY_FRAME = re.compile(r"\s*(?:\[<[0-9a-f]+>\] )?[A-Za-z_][\w.]*\+0x")


@dataclass(slots=True)
class RequestStack:
    """The stack of the request that failed, taken line by line."""

    shown: LimitKind = LimitKind.UNKNOWN
    unsure: LimitKind = LimitKind.UNKNOWN  # by frames with '?', which the kernel puts before all without frame pointers
    has_sure_frame: bool = False

    def take(self, text: str) -> None:
        if (unsure := _UNSURE_FRAME.match(text)) is not None:
            if self.unsure == LimitKind.UNKNOWN:
                is_cgroup = "mem_cgroup" in unsure["function"]
                self.unsure = LimitKind.CGROUP if is_cgroup else LimitKind.MACHINE
        elif _ANY_FRAME.match(text) is not None:
            self.has_sure_frame = True
        if _THROUGH_CGROUP.search(text) is not None:
            self.shown = LimitKind.CGROUP
        elif self.shown == LimitKind.UNKNOWN and _THROUGH_MACHINE.search(text) is not None:
            self.shown = LimitKind.MACHINE

    @property
    def limit(self) -> LimitKind:
        if self.shown != LimitKind.UNKNOWN or self.has_sure_frame:
            return self.shown
        return self.unsure
