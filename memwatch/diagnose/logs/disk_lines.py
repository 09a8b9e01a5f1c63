"""Lines of the kernel that report a fault of a disk, its controller, its file system, or a file server."""

import re

from memwatch.diagnose.logs.fault_values import MOST_DETAIL_CHARACTERS, DiskFault, DiskTrouble, UsbDisconnect

_NVME_ADVICE = re.compile(r"(?:nvme )?(?P<device>nvme\d+): Try \"(?P<parameters>[^\"]+)\"")
_EMPTY_DRIVE = re.compile(r"(?:sr|fd)\d+")  # without a disc, an optical drive or a floppy reports errors at every look
_USB_GONE = re.compile(r"usb (?P<port>[\d.-]+): USB disconnect")
_NVME, _ATA, _BLOCK = r"(?:nvme )?(?P<device>nvme\d+): ", r"(?P<device>ata\d+)(?:\.\d+)?: ", r"(?P<device>[\w-]+)"
_SD = rf"sd \S+ (?:\[{_BLOCK}\]|(?P<address>$))"
# What the kernel prints, with the trouble it means; the first that matches counts.
_DISKS = tuple(
    (trouble, re.compile(pattern))
    for trouble, pattern in (
        (
            DiskTrouble.GONE,
            rf"{_NVME}(?:controller is down|Device not ready|Removing after|Disabling device after|Identify Controller"
            r" failed|Device shutdown incomplete|frozen state error|reset controller failed|failed to mark controller)",
        ),
        (DiskTrouble.TIMEOUT, rf"{_NVME}(?:I/O (?:tag )?\d.*timeout|.*\btimeout, (?:abort|reset|disable|completion))"),
        (DiskTrouble.ERROR, r"(?P<device>nvme\d+n\d+): .*@ LBA \d+, \d+ blocks, (?!Invalid)"),
        (DiskTrouble.READ_ONLY, rf"\S+ \({_BLOCK}\): [Rr]emounting filesystem read-only"),
        (DiskTrouble.READ_ONLY, rf"BTRFS.*\(device {_BLOCK}.*forced readonly"),
        (DiskTrouble.READ_ONLY, rf"XFS \({_BLOCK}\): .*(?:shut ?down|Shutting down)"),
        (DiskTrouble.READ_ONLY, rf"F2FS-fs \({_BLOCK}\): Stopped filesystem"),
        (DiskTrouble.GONE, r"WARNING: Pool '(?P<device>[^']+)' has encountered an uncorrectable I/O failure"),
        (DiskTrouble.JOURNAL, r"Aborting journal on device (?P<device>[\w-]+?)(?:-\d+)?\.?$"),
        (DiskTrouble.JOURNAL, rf"EXT[34]-fs.*\(device {_BLOCK}\).*(?:aborted journal|Journal has aborted)"),
        (DiskTrouble.JOURNAL, r"JBD2: Error -\d+ detected when updating journal superblock for (?P<device>\w+)"),
        (
            DiskTrouble.ERROR,
            r"(?:\w+: )?(?:I/O|device offline|timeout|protection|(?:critical )?(?:medium|target|nexus)) error,"
            rf" (?:dev )?{_BLOCK}, sector",
        ),
        (DiskTrouble.ERROR, rf"XFS \({_BLOCK}\): .*(?:I/O error|error -?5\b|Metadata (?:CRC error|corruption))"),
        (DiskTrouble.ERROR, rf"sd \S+ \[{_BLOCK}\].*FAILED Result: hostbyte=(?!DID_OK|0x00)"),
        (DiskTrouble.TIMEOUT, r"sd (?P<device>[\d:]+): (?:\[\w+\] )?(?:tag#\d+ )?(?:attempting task abort|task abort|"
                              r"abort scheduled)"),
        (DiskTrouble.ERROR, rf"Buffer I/O error on dev(?:ice)? {_BLOCK}"),
        (DiskTrouble.ERROR, rf"EXT[234]-fs (?:error|warning) \(device {_BLOCK}\).*(?:I/O error|Error -5)"),
        (DiskTrouble.ERROR, rf"EXT[234]-fs error \(device {_BLOCK}\)"),
        (DiskTrouble.ERROR, r"BTRFS error.* bdev (?:/dev/)?(?P<device>\S+) errs: (?!wr 0, rd 0, flush 0, corrupt 0)"),
        (DiskTrouble.ERROR, rf"BTRFS (?:warning|error|critical).*\(device {_BLOCK}.*(?:csum failed|corrupt leaf)"),
        (DiskTrouble.ERROR, rf"BTRFS:? (?:error|critical) \(device {_BLOCK}(?!.* errs: wr 0, rd 0, flush 0,)"),
        (DiskTrouble.ERROR, rf"sd \S+ \[{_BLOCK}\].*Sense Key : (?:Medium|Hardware) Error"),
        (DiskTrouble.ERROR, rf"{_ATA}error: \{{.*\bUNC\b"),
        (DiskTrouble.TIMEOUT, rf"{_ATA}(?:exception Emask|failed command: (?:READ|WRITE|FLUSH))"),
        (DiskTrouble.GONE, rf"{_ATA}(?:disabled$|disable device|reset failed, giving up|COMRESET failed|"
                           r"revalidation failed)"),
        (DiskTrouble.GONE, r"sd (?P<device>[\d:]+): (?:rejecting I/O to (?:offline|dead) device|Device offlined)"),
        (DiskTrouble.GONE, rf"sd \S+ \[{_BLOCK}\].*(?:offline|DID_NO_CONNECT|DID_BAD_TARGET)"),
        (DiskTrouble.GONE, rf"md/raid\d*:\w+: Disk failure on {_BLOCK}"),
        (DiskTrouble.ERROR, r"md/raid\d*:(?P<device>\w+): .*read error"),
        (DiskTrouble.ERROR, rf"BTRFS.*\(device {_BLOCK}.*errno=-5 IO failure"),
        (DiskTrouble.TIMEOUT, rf"sd \S+ \[{_BLOCK}\].*(?:uas_eh_abort_handler|timing out command|DID_TIME_OUT)"),
        (DiskTrouble.TIMEOUT, r"(?P<device>mmc(?:blk)?\d+): (?:Timeout waiting for hardware|.*error -110|Card stuck)"),
        (DiskTrouble.ERROR, r"(?P<device>mmcblk\d+): (?:error -\d+|recovery failed|unable to set)"),
        (DiskTrouble.GONE, r"xhci_hcd (?P<device>\S+): (?:HC died|xHCI host controller not responding)"),
        (DiskTrouble.TIMEOUT, r"(?:nfs|NFS): server (?P<device>\S+) not responding"),
        (DiskTrouble.TIMEOUT, r"(?:CIFS: )?(?:CIFS )?VFS: (?:Server )?(?P<device>\S+) has not responded"),
    )
)  # fmt: skip

HINT = (
    r"nvme|ata\d|journal|read-?only|error, dev|I/O error|Sense Key|error: \{|USB disconnect|XFS|BTRFS|F2FS|EXT[234]-fs|"
    r"offline|DID_|task abort|abort scheduled|uas_eh|mmc\w*\d|not responding|has not responded|IO failure|I/O failure|"
    r"md/raid|HC died|medium error|target error"
)


def read_disk_line(t: float | None, text: str) -> DiskFault | UsbDisconnect | None:
    detail = text[:MOST_DETAIL_CHARACTERS]
    if (match := _NVME_ADVICE.match(text)) is not None:
        return DiskFault(t, match["device"], DiskTrouble.GONE, detail, match["parameters"])
    if (match := _USB_GONE.match(text)) is not None:
        return UsbDisconnect(t, match["port"])
    for trouble, pattern in _DISKS:
        if (match := pattern.match(text)) is not None and _EMPTY_DRIVE.fullmatch(match["device"]) is None:
            return DiskFault(t, match["device"], trouble, detail)
    return None
