"""Graphics cards that report an error or do not answer: NVIDIA's Xid, and hangs of amdgpu, i915, xe and nouveau."""

import re

from memwatch.diagnose.causes.phrases import clock, listed, moment, sentence, times
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding, quoted
from memwatch.diagnose.logs.fault_values import GpuHang
from memwatch.diagnose.logs.log_events import GpuError

# After NVIDIA's catalogue of Xid errors; these are the ones that people meet.
_XIDS = {
    8: "the card did not finish its work in time",
    13: "a program made the card do something it cannot (illegal instruction or address)",
    31: "a program touched memory of the card that is not its own",
    32: "the commands that a program sent to the card were corrupt",
    38: "the driver's firmware failed",
    43: "the card stopped processing for a program",
    45: "a program was ended while it used the card",
    48: "memory of the card is damaged beyond repair (double bit error)",
    56: "the display engine failed",
    61: "the card's own firmware failed",
    62: "the card's own firmware failed",
    63: "a damaged part of the card's memory was taken out of use",
    64: "a damaged part of the card's memory could not be taken out of use",
    68: "the video decoder failed",
    69: "a program sent the card commands that its graphics engine refuses",
    74: "the link between cards (NVLink) failed",
    79: "the card has fallen off the bus: power, heat, a riser or the slot",
    92: "memory of the card has many single bit errors",
    94: "memory of the card is damaged; one program was hit (contained)",
    95: "memory of the card is damaged; every program may be hit (uncontained)",
    109: "a program kept the card from switching to another",
    110: "the security processor of the card failed",
    119: "the card's own processor (GSP) did not answer",
    120: "the card's own processor (GSP) failed",
    121: "the link between cards (C2C) corrected errors",
    140: "memory of the card has an error that was not corrected",
    143: "the card could not be initialised",
    **dict.fromkeys(range(144, 151), "the link between cards (NVLink) failed"),
    154: "the card needs a reset or a reboot to go on",
}
_OTHER_XID = "which NVIDIA's catalogue of Xid errors explains"
_FOLLOWS = 45  # a program was ended because another error came before
_WAITED = re.compile(r"(?i)page ?flip timed out|wait on fence")  # who waited says so, not the card's own driver
_OWN_FAULT = {13, 31, 32, 43, 69}  # of the program on the card; the card is well
_MEMORY_DAMAGE = {48, 63, 64, 92, 94, 95, 140}
_LINK = {74, 121, *range(144, 151)}

_FAULT = re.compile(r"page fault|for process")
_MAKERS = {
    "amdgpu": (
        "journalctl -k -b -1 | grep -i amdgpu: keep it for a report at gitlab.freedesktop.org/drm/amd.",
        "Update the kernel, linux-firmware and Mesa; if it returns, boot with amdgpu.gpu_recovery=1.",
    ),
    "radeon": ("Update the kernel, linux-firmware and Mesa; if it returns, boot with radeon.dpm=0.",),
    "i915": (
        "sudo cat /sys/class/drm/card0/error > gpu-error.txt: the crash dump for gitlab.freedesktop.org/drm/i915.",
        "Update the kernel and Mesa; if it returns, boot with i915.enable_psr=0.",
    ),
    "xe": (
        "sudo cat /sys/class/drm/card0/device/devcoredump/data > gpu-dump.txt: for gitlab.freedesktop.org/drm/xe.",
        "Update the kernel, linux-firmware (GuC) and the compute runtime.",
    ),
    "nvidia": ("nvidia-smi -q: shows what the card itself has counted; update its driver, or try the one before.",),
    "nouveau": ("Update the kernel and Mesa, or install NVIDIA's own driver: nouveau resets few cards.",),
}


def gpu_error_findings(evidence: Evidence) -> list[Finding]:
    events = [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, GpuError)]
    if not events:
        return []
    codes = sorted({event.first_code for event in events if event.first_code is not None})
    telling = [code for code in codes if code != _FOLLOWS] or codes
    said = [f"Xid {code}: {_XIDS.get(code, _OTHER_XID)}" for code in telling]
    meaning = listed(said or ["the driver could not start the card (RmInitAdapter failed)"])
    followed = any(event.code == _FOLLOWS and event.first_code != _FOLLOWS for event in events)
    names = [event.name for event in events if event.name]
    by = f", while {listed(list(dict.fromkeys(names)))} ran on it" if names else ""
    known_t = [event.t for event in events if event.t is not None]
    shown: list[str] = [
        quoted(f"kernel log{moment(event.t, evidence.now_t)}", _error(event), f"Xid {event.code}")
        for event in events[:3]
    ]
    if len(events) > 3:
        shown.append(f"kernel log: {len(events) - 3} more until {clock(max(known_t, default=None), evidence.now_t)}")
    return [
        Finding(
            Cause.GPU_XID,
            f"The graphics card reported an error{by}.",
            sentence([meaning, "Xid 45 only follows it" if followed else None]),
            Confidence.LOW if telling == [_FOLLOWS] else Confidence.HIGH,
            tuple(shown),
            _xid_advice(set(telling)),
            min(known_t, default=None),
            max(known_t, default=None),
        )
    ]


def _error(event: GpuError) -> str:
    return event.detail if event.code is None else f"Xid {event.code}, {event.detail}".rstrip(", ")


def _xid_advice(codes: set[int]) -> tuple[str, ...]:
    if codes == {_FOLLOWS}:
        return (
            "journalctl -k -b | grep -i -E 'xid|oom|killed process': shows what ended the program; Xid 45 alone is no"
            " fault of the card: it also follows a kill or Ctrl-C.",
        )
    if codes and codes <= _OWN_FAULT:
        return ("The program on the card is at fault, or its driver: update both; compute-sanitizer finds the place.",)
    if codes & _MEMORY_DAMAGE:
        return (
            "nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT: shows the damage; `nvidia-smi --gpu-reset`, with no job"
            " on the card, takes damaged memory out of use.",
            "If it returns, have the card replaced.",
        )
    if codes & _LINK:
        return ("nvidia-smi nvlink -s; nvidia-smi nvlink -e: show the links and their errors; then reset or reboot.",)
    return (
        "Check the card's power, heat and slot, and update its driver; if it returns, have the card tested.",
        "nvidia-smi -q: shows what the card itself has counted.",
    )


def _fault_finding(driver: str, by: str, shown: list[str], known_t: list[float]) -> Finding:
    return Finding(
        Cause.GPU_HANG,
        f"A program touched memory of the graphics card ({driver}) that is not its own{by}.",
        "The card refuses the access (page fault); the program ends with an error, or the driver resets the card.",
        Confidence.HIGH,
        tuple(shown),
        ("The program on the card is at fault, or its libraries and driver: update them.", *_MAKERS.get(driver, ())),
        min(known_t, default=None),
        max(known_t, default=None),
    )


def gpu_hang_findings(evidence: Evidence) -> list[Finding]:
    events = [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, GpuHang)]
    drivers = dict.fromkeys(event.driver for event in events)
    return [_hang_finding(driver, [each for each in events if each.driver == driver], evidence) for driver in drivers]


def _hang_finding(driver: str, events: list[GpuHang], evidence: Evidence) -> Finding:
    named = list(dict.fromkeys(f"{event.name} ({event.pid})" for event in events if event.name))
    by = f" while {listed(named)} used it" if named else ""
    known_t = [event.t for event in events if event.t is not None]
    shown: list[str] = [
        quoted(f"kernel log{moment(event.t, evidence.now_t)}", event.detail, f"a hang, or a fault, of {driver}")
        for event in events[:3]
    ]
    if len(events) > 3:
        shown.append(f"kernel log: {times(len(events) - 3)} more")
    if all(_FAULT.search(event.detail) for event in events):
        return _fault_finding(driver, by, shown, known_t)
    why = "The driver waited for work that the card did not finish, and resets it; programs on it lose what they drew."
    blame = f"{listed(named)} gave it that work, which does not mean that it is at fault." if named else ""
    return Finding(
        Cause.GPU_HANG,
        f"The graphics card stopped answering its driver, {driver},{by}.".replace(",.", "."),
        f"{why} {blame}".strip(),
        Confidence.MEDIUM if all(_WAITED.search(event.detail) for event in events) else Confidence.HIGH,
        tuple(shown),
        _MAKERS.get(driver, ("Update the kernel, the board's firmware and Mesa.",)),
        min(known_t, default=None),
        max(known_t, default=None),
        () if named else ("which program used the card: the driver names none here",),
    )
