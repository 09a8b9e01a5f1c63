"""Lines of graphics drivers that report a hang or a fault of the card. NVIDIA's Xid errors are in log_events.py."""

import re

from memwatch.diagnose.logs.fault_values import MOST_DETAIL_CHARACTERS, GpuHang

_AMD = re.compile(
    r".*\bring (?P<ring>\S+) timeout|.*amdgpu.*(?:qcm fence wait loop timeout|Waiting for fences timed out|MES"
    r" failed to respon|"
    r"unrecoverable state|device lost from bus|SMU: I'm not done with your previous command)"
)
# Bounded, because a line may repeat these words thousands of times.
_AMD_PROCESS = re.compile(
    r".{0,120}?amdgpu.{0,80}?\bProcess (?:information: process )?(?P<name>\S.{0,40}?)? ?\bpid (?P<pid>\d+)"
)
_AMD_RESET = re.compile(r".*amdgpu.*GPU reset begin")
_AMD_FAULT = re.compile(r"amdgpu .*?(?:page fault(?!.*for process)|\bfor process (?P<name>.*?) pid (?P<pid>\d+))")
# No other driver says it in these words, so its name need not stand before them.
_RADEON = re.compile(r".*(?:ring \d+ stalled for more than|GPU lockup \((?:current fence|waiting for)|GPU softreset: )")
_I915 = re.compile(r"(?:\[drm\] |i915 )?.*GPU HANG: ecode [^,]*(?:, in (?P<name>.+?) \[(?P<pid>\d+)\])?")
_I915_STUCK = re.compile(
    r"\[drm(?::\w+(?: \[i915\])?)?\].*(?:Hangcheck timer elapsed|stuck (?:wait )?on \w+ ring|GPU crash dump saved)"
)
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
    r"SCHED_ERROR|gsp: rc engn:|.*killed|timeout|.*\b(?:read|write) fault|(?:gr|fifo): .*(?:ERROR|TRAP)|Xorg|"
    r"DRM: .*(?:failed to idle|GPU lockup))"
)
# Small boards: the driver names itself, and the card is a part of the chip.
_BOARD = re.compile(
    r"(?P<driver>panfrost|lima|v3d|vc4|etnaviv-gpu|msm|panthor)\b.*(?:gpu sched timeout|Resetting GPU for hang|"
    r"recover hung GPU|gpu lockup|job timeout)"
)
_NVIDIA_DISPLAY = re.compile(r"nvidia-modeset: ERROR: .*(?:timed out|Idling display engine)")
# The picture was not shown in time; the driver's name may stand before it, or not at all.
_FLIP = re.compile(r"(?:(?P<driver>[a-z\d]+) \S+: )?\[drm.*flip_done timed out")
# In the words of a compositor, or of another driver that waits for the card's work.
_WAITED = re.compile(
    r"(?i).*(?:page ?flip timed out!?.* bug in the (?P<driver>\w+) kernel driver|"
    r"Asynchronous wait on fence .* timed out(?: \(hint:\w+ \[(?P<waiter>\w+)\])?)"
)
_DRIVERS = (
    ("amdgpu", (_AMD_PROCESS, _AMD_FAULT, _AMD, _AMD_RESET)),
    ("radeon", (_RADEON,)),
    ("i915", (_I915, _I915_RESET, _I915_STUCK)),
    ("xe", (_XE,)),
    ("nouveau", (_NOUVEAU,)),
    ("nvidia", (_NVIDIA_DISPLAY,)),
)

HINT = (
    r"timeout|[Tt]imed out|"
    r"GPU HANG|GPU hang|GPU reset|Process |Timedout|Engine reset|nouveau|page fault|ring \d+ stalled|"
    r"GPU lockup|gpu lockup|hung GPU|for hang|wedged|softreset|stuck|crash dump|Hangcheck|MES failed|"
    r"unrecoverable state|device lost|SMU: "
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
    other = _BOARD.match(text) or _FLIP.match(text) or _WAITED.match(text)
    if other is None:
        return None
    found = other.groupdict()
    return GpuHang(t, found["driver"] or found.get("waiter") or "drm", None, None, detail)
