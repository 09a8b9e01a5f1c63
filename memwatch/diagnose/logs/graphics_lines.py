"""Lines of graphics drivers that report a hang or a fault of the card. NVIDIA's Xid errors are in log_events.py."""

import re

from memwatch.diagnose.logs.fault_values import MOST_DETAIL_CHARACTERS, GpuHang

_AMD = re.compile(
    r".*\bring (?P<ring>\S+) timeout|.*amdgpu.*(?:qcm fence wait loop timeout|Waiting for fences timed out)"
)
# Bounded, because a line may repeat these words thousands of times.
_AMD_PROCESS = re.compile(
    r".{0,120}?amdgpu.{0,80}?\bProcess (?:information: process )?(?P<name>\S.{0,40}?)? ?\bpid (?P<pid>\d+)"
)
_AMD_RESET = re.compile(r".*amdgpu.*GPU reset begin")
_AMD_FAULT = re.compile(r"amdgpu .*?(?:page fault(?!.*for process)|\bfor process (?P<name>.*?) pid (?P<pid>\d+))")
# No other driver says it in these words, so its name need not stand before them.
_RADEON = re.compile(r".*(?:ring \d+ stalled for more than|GPU lockup \(current fence|GPU softreset: )")
_I915 = re.compile(r"(?:\[drm\] |i915 )?.*GPU HANG: ecode [^,]*(?:, in (?P<name>.+?) \[(?P<pid>\d+)\])?")
_I915_STUCK = re.compile(r"\[drm(?::ring_stuck)?\].*(?:stuck (?:wait )?on \w+ ring|GPU crash dump saved)")
_I915_RESET = re.compile(
    r"(?:i915 |drm/i915).*(?:(?P<name>\S+?)\[(?P<pid>\d+)\] context reset due to GPU hang|Resetting (?:chip|\w+) "
    r"(?:for|after)|GPU recovery timed out|reset request timed out)"
)
_XE = re.compile(
    r"xe \S+: \[drm\].*(?:Timedout job: .*?(?: in (?P<name>\S.*?) \[(?P<pid>\d+)\]|$)|Engine reset: |job timed out|"
    r"engine reset failed|as wedged|device coredump has been created)"
)
_NOUVEAU = re.compile(
    r"nouveau (?:\S+: |[A-Z]\[.*?\]\s*)(?:\w+: )?(?:fault .*\[\w+ (?P<name>\S+?)\[(?P<pid>\d+)\]\]|"
    r"SCHED_ERROR|.*killed|timeout|.*\b(?:read|write) fault|(?:gr|fifo): .*(?:ERROR|TRAP)|Xorg|"
    r"DRM: .*(?:failed to idle|GPU lockup))"
)
# Small boards: the driver names itself, and the card is a part of the chip.
_BOARD = re.compile(
    r"(?P<driver>panfrost|lima|v3d|vc4|etnaviv-gpu|msm|panthor)\b.*(?:gpu sched timeout|Resetting GPU for hang|"
    r"recover hung GPU|gpu lockup|job timeout)"
)
_DRIVERS = (
    ("amdgpu", (_AMD_PROCESS, _AMD_FAULT, _AMD, _AMD_RESET)),
    ("radeon", (_RADEON,)),
    ("i915", (_I915, _I915_RESET, _I915_STUCK)),
    ("xe", (_XE,)),
    ("nouveau", (_NOUVEAU,)),
)

HINT = (
    r"timeout|timed out|GPU HANG|GPU hang|GPU reset|Process |Timedout|Engine reset|nouveau|page fault|ring \d+ stalled|"
    r"GPU lockup|gpu lockup|hung GPU|for hang|wedged|softreset|stuck|crash dump"
)


def read_graphics_line(t: float | None, text: str) -> GpuHang | None:
    detail = text[:MOST_DETAIL_CHARACTERS]
    for driver, patterns in _DRIVERS:
        if driver not in text and driver not in ("i915", "radeon"):
            continue
        for pattern in patterns:
            if (match := pattern.match(text)) is not None:
                found = match.groupdict()
                name, pid = found.get("name"), found.get("pid")
                return GpuHang(t, driver, name or None, int(pid) if pid and name else None, detail)
    board = _BOARD.match(text)
    return None if board is None else GpuHang(t, board["driver"], None, None, detail)
