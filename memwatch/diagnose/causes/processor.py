"""Cores that are stuck (soft and hard lockups, RCU stalls), too hot, or that report hardware errors."""

from memwatch.diagnose.causes.phrases import listed, moment, sentence, times
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import GRAPHICS, Cause, Confidence, Finding, quoted
from memwatch.diagnose.logs.fault_values import (
    HardwareError,
    Lockup,
    Overheating,
    Part,
    Stuck,
)


def lockup_findings(evidence: Evidence) -> list[Finding]:
    lockups = [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, Lockup)]
    if not lockups:
        return []
    kinds = [kind for kind in Stuck if any(event.stuck == kind for event in lockups)]
    names = listed(list(dict.fromkeys(event.name for event in lockups if event.name)) or ["no program is named"])
    known_t = [event.t for event in lockups if event.t is not None]
    longest_s = max((event.seconds for event in lockups if event.seconds is not None), default=None)
    cores = sorted({event.cpu for event in lockups if event.cpu is not None})
    place = next((event.place for event in lockups if event.place), None)
    if longest_s is not None:
        what = f"A core was stuck in the kernel for up to {longest_s} s: {names}."
    elif Stuck.HARD not in kinds and kinds != [Stuck.RCU]:
        what = f"A core was stuck in the kernel: {names}."
    elif Stuck.HARD in kinds:
        what = f"A core was stuck with interrupts off: {names}."
    else:
        what = "A core did not reach the scheduler in time (RCU stall)."
    shown = [f"kernel log{moment(event.t, evidence.now_t)}: {_line(event)}" for event in lockups[:3]]
    if len(lockups) > 3:
        shown.append(f"kernel log: {times(len(lockups) - 3)} more")
    return [
        Finding(
            Cause.CPU_LOCKUP,
            what,
            sentence(
                [
                    f"the kernel reports {listed([kind.value for kind in kinds])}"
                    + (f" on {len(cores)} cores" if len(cores) > 1 else ""),
                    None if place is None else f"it was in {place}",
                    "that is a driver, faulty hardware, or a virtual machine whose host gave it no time",
                    "the program named only happened to run there" if any(event.name for event in lockups) else None,
                ]
            ),
            # Several kinds, or several cores, are no accident of one slow moment.
            Confidence.HIGH if len(kinds) > 1 or Stuck.HARD in kinds else Confidence.MEDIUM,
            tuple(shown),
            (
                "journalctl -k -b | grep -A30 -E 'soft lockup|hard LOCKUP|rcu.*stall': the stack names the driver.",
                "In a virtual machine: `vmstat 1` shows the time that the host takes (st). Elsewhere: undo"
                " overclocking, run memtest86+.",
            ),
            min(known_t, default=None),
            max(known_t, default=None),
        )
    ]


def _line(event: Lockup) -> str:
    core = "" if event.cpu is None else f" of core {event.cpu}"
    longest = "" if event.seconds is None else f", {event.seconds} s"
    return f"{event.stuck.value}{core}{longest}" + ("" if event.name is None else f", {event.name}")


def hardware_findings(evidence: Evidence) -> list[Finding]:
    events = (
        [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, HardwareError)]
    )
    if not events:
        return []
    known_t = [event.t for event in events if event.t is not None]
    parts = {event.part for event in events}
    is_memory, is_power = Part.MEMORY in parts, Part.POWER in parts
    what = "errors of a memory module" if is_memory else "too low a voltage" if is_power else "a machine check"
    if parts == {Part.PCIE}:
        what = "an error of a PCIe link that was not corrected"
    advice: tuple[str, ...] = (
        "ras-mc-ctl --error-count; ras-mc-ctl --errors (rasdaemon): show which module, and how often.",
        "Undo overclocking (XMP too), run memtest86+ over night, and replace the module that it names.",
    )
    if is_power and not is_memory:
        advice = ("Use a stronger power supply and a shorter cable; unplug USB devices that it feeds.",)
    return [
        Finding(
            Cause.HARDWARE_ERROR,
            f"The hardware reported {what}{'' if len(events) == 1 else f', in {len(events)} lines'}.",
            "Too little voltage stops disks, cards and cores at random."
            if is_power and not is_memory
            else "A corrected error (CE) does no harm yet; one that is not corrected ends programs, or the machine.",
            Confidence.MEDIUM if all("events logged" in event.detail for event in events) else Confidence.HIGH,
            tuple(
                quoted(f"kernel log{moment(event.t, evidence.now_t)}", event.detail, f"an error ({event.part.value})")
                for event in events[:3]
            ),
            advice,
            min(known_t, default=None),
            max(known_t, default=None),
        )
    ]


def overheating_findings(evidence: Evidence) -> list[Finding]:
    events = [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, Overheating)]
    if not events:
        return []
    known_t = [event.t for event in events if event.t is not None]
    if any(event.is_shutdown for event in events):
        return [
            Finding(
                Cause.OVERHEATING,
                "The machine shut itself down because it was too hot (critical temperature).",
                "The kernel powers off at once to protect the hardware; programs are ended without a warning.",
                Confidence.HIGH,
                tuple(
                    f"kernel log{moment(event.t, evidence.now_t)}: critical temperature"
                    for event in events
                    if event.is_shutdown
                )[:2],
                (
                    "sensors: shows the temperatures. Clean the cooler, and limit the clock: cpupower frequency-set -u"
                    " 2GHz.",
                ),
                min(known_t, default=None),
                max(known_t, default=None),
            )
        ]
    if all(event.is_card for event in events):
        return [_hot_card_finding(known_t)]
    return [
        Finding(
            Cause.OVERHEATING,
            f"The processor was too hot and slowed down, {times(max(event.times for event in events))} since boot.",
            "That makes everything slow for moments; alone it neither freezes a machine nor kills a program.",
            Confidence.MEDIUM,
            tuple(f"kernel log{moment(event.t, evidence.now_t)}: above the threshold" for event in events[:2]),
            ("sensors; turbostat --quiet --show Core,CoreTmp,Bzy_MHz: show temperature and clock. Clean the cooler.",),
            min(known_t, default=None),
            max(known_t, default=None),
        )
    ]


def _hot_card_finding(known_t: list[float]) -> Finding:
    return Finding(
        Cause.OVERHEATING,
        "The graphics card was too hot: over its temperature range.",
        "The driver stops the card, and may power the machine off, to protect it.",
        Confidence.HIGH,
        ("kernel log: GPU over temperature range",),
        ("sensors; nvidia-smi -q -d TEMPERATURE: show its temperature. Clean its cooler, or lower its power limit.",),
        min(known_t, default=None),
        max(known_t, default=None),
        blamed=GRAPHICS,
    )
