"""Disks that fail: timeouts, errors, aborted journals, file systems that turn read-only, controllers that are gone."""

import re

from memwatch.diagnose.causes.hung import hung_on_disk
from memwatch.diagnose.causes.phrases import listed, moment, sentence, times
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding, chosen, quoted
from memwatch.diagnose.logs.fault_values import DiskFault, DiskTrouble, UsbDisconnect

ONE_FAULT_S = 2.0  # lines of one fault follow one another at once

_WHAT = {
    DiskTrouble.GONE: "stopped answering",
    DiskTrouble.READ_ONLY: "failed, and its file system is read-only since",
    DiskTrouble.JOURNAL: "failed, and its file system's journal was aborted",
    DiskTrouble.ERROR: "reported errors",
    DiskTrouble.TIMEOUT: "did not answer in time",
}
_WORST_FIRST = list(DiskTrouble)
_MEDIA = re.compile(r"medium error|Medium Error|UNC\b|media error")
_DISK_NAME = re.compile(r"(?:sd|vd|hd|nvme|mmcblk)[a-z\d]")
# Names that the kernel gives; a pool of ZFS and a file server have names that people chose.
_OF_KERNEL = re.compile(
    r"(?:sd|vd|xvd|hd|nvme|mmc|mmcblk|dm-|md|ata|loop|nbd|sr|zram|bcache)[a-z\d-]*|[\da-f]{4}:[\da-f:.]+|[\d:]+|ioc\d+|"
    r"swap-device.*|XFS|SQUASHFS|Transaction"
)
_PARTITION = re.compile(
    r"^(?P<disk>(?:nvme\d+n\d+|mmcblk\d+)(?=p\d+$)|sd[a-z]+(?=\d+$)|vd[a-z]+(?=\d+$)|nvme\d+(?=n\d+))"
)


def disk_fault_findings(evidence: Evidence) -> list[Finding]:
    """One finding for all disks: a port and the disk on it (ata2, sda) have names that no log connects."""
    events = () if evidence.log is None else evidence.log.events
    faults = [event for event in events if isinstance(event, DiskFault)]
    if not faults:
        return []
    worst = min((fault.trouble for fault in faults), key=_WORST_FIRST.index)
    devices = list(dict.fromkeys(fault.device for fault in faults))
    named = listed(list(dict.fromkeys(_said(fault.device) for fault in faults if fault.trouble == worst)))
    others = [_said(device) for device in devices if device not in named]
    known_t = [fault.t for fault in faults if fault.t is not None]
    start_t, end_t = min(known_t, default=None), max(known_t, default=None)
    hung = hung_on_disk(start_t, end_t, evidence)
    unplugged = any(isinstance(event, UsbDisconnect) for event in events)
    is_media = any(_MEDIA.search(fault.detail) for fault in faults)
    is_server = all("server" in fault.detail for fault in faults)
    often = _how_often([fault for fault in faults if fault.trouble == worst and fault.parameters is None])
    return [
        Finding(
            Cause.DISK_FAULT,
            f"The {'file server' if is_server else 'disk'} {named} {_WHAT[worst]}{often}.",
            sentence(
                [
                    "a sector cannot be read or written (media error)" if is_media else None,
                    "the USB device was disconnected just before" if unplugged else None,
                    f"the same fault shows as {listed(others)}" if others else None,
                    "programs that read or write there wait for minutes, or fail; memory is not the reason",
                    f"{listed([f'{task.name} ({task.pid})' for task in hung])} hung for it" if hung else None,
                ]
            ),
            Confidence.HIGH,
            tuple(
                quoted(
                    f"kernel log{moment(fault.t, evidence.now_t)}",
                    fault.detail,
                    f"{_said(fault.device)} {fault.trouble}",
                )
                for fault in _telling(faults)
            ),
            tuple(_advice(faults, worst, unplugged)),
            start_t,
            end_t,
        )
    ]


def _how_often(faults: list[DiskFault]) -> str:
    """How many faults, not how many lines: one fault prints several."""
    moments = sorted(fault.t for fault in faults if fault.t is not None)
    starts = [t for number, t in enumerate(moments) if not number or t - moments[number - 1] > ONE_FAULT_S]
    return f", {times(len(starts))}" if len(starts) > 1 else ""


def _telling(faults: list[DiskFault]) -> list[DiskFault]:
    """The first of each kind of trouble, the worst first."""
    first = {fault.trouble: fault for fault in reversed(faults) if fault.parameters is None}
    return sorted(first.values(), key=lambda fault: _WORST_FIRST.index(fault.trouble))[:3]


def _advice(faults: list[DiskFault], worst: DiskTrouble, unplugged: bool) -> list[str]:
    advice = []
    parameters = next((fault.parameters for fault in faults if fault.parameters), None)
    if parameters is not None:
        advice.append(
            f"Boot with {parameters} (GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub): the kernel itself"
            " advises it."
        )
    elif any(fault.device.startswith("nvme") and fault.trouble == DiskTrouble.GONE for fault in faults):
        advice.append("Boot with nvme_core.default_ps_max_latency_us=0 pcie_aspm=off: it keeps the disk from sleeping.")
    if unplugged:
        advice.append(
            "Use another cable, port or hub with its own power: a USB disk that is lost loses what was not written."
        )
    servers = [fault.device for fault in faults if "server" in fault.detail]
    if servers:
        advice.append(
            f"ping {chosen(servers[0])}; nfsstat -m: a server that does not answer stops all programs that use it."
        )
        if all("server" in fault.detail for fault in faults):
            return advice
    disks = [_disk(fault.device) for fault in faults if _DISK_NAME.match(fault.device)]
    if disks:
        disk = f"/dev/{disks[0]}"
        advice.append(f"smartctl -a {disk}: shows what the disk has counted; `smartctl -t long {disk}` tests it.")
    else:
        advice.append(
            f"lsblk -o NAME,MAJ:MIN,HCTL,MODEL; ls -l /sys/class/block: show which disk {_said(faults[0].device)} is;"
            " then smartctl -a /dev/NAME: shows what it has counted."
        )
    if worst in (DiskTrouble.READ_ONLY, DiskTrouble.JOURNAL):
        advice.append(
            "Copy what you need now; then check it unmounted with `fsck`, after the disk itself is known to be well."
        )
    elif any(fault.device.startswith("ata") for fault in faults):
        advice.append("Replace the SATA cable and its power: timeouts of one port are most often those.")
    return advice


def _said(device: str) -> str:
    return device if _OF_KERNEL.fullmatch(device) else chosen(device)


def _disk(device: str) -> str:
    match = _PARTITION.match(device)
    return device if match is None else match["disk"]
