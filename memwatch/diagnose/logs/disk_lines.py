"""Lines of the kernel that report a fault of a disk, its controller, its file system, or a file server."""

import re

from memwatch.diagnose.logs.fault_values import MOST_DETAIL_CHARACTERS, DiskFault, DiskTrouble, UsbDisconnect

_NVME_ADVICE = re.compile(r"(?:nvme )?(?P<device>nvme\d+): Try \"(?P<parameters>[^\"]+)\"")
_EMPTY_DRIVE = re.compile(r"(?:sr|fd)\d+")  # without a disc, an optical drive or a floppy reports errors at every look
_USB_GONE = re.compile(r"usb (?P<port>[\d.-]+): USB disconnect")
# Old kernels name the controller by its address: "nvme 0000:02:00.0: ".
_NVME = r"(?:nvme )?(?P<device>nvme\d+|(?<=nvme )[\da-f]{4}:[\da-f:.]+): "
_ATA, _BLOCK = r"(?P<device>ata\d+)(?:\.\d+)?: ", r"(?P<device>[\w-]+)"
# What the kernel prints, with the trouble it means; the first that matches counts.
_DISKS = tuple(
    (trouble, re.compile(pattern))
    for trouble, pattern in (
        (
            DiskTrouble.GONE,
            rf"{_NVME}(?:controller is down|Failed status: |Device not ready|Removing after|Disabling device after|"
            r"Identify Controller"
            r" failed|Device shutdown incomplete|frozen state error|reset controller failed|failed to mark controller)",
        ),
        (DiskTrouble.TIMEOUT, rf"{_NVME}(?:I/O (?:tag )?\d.*timeout|Timeout I/O \d|.*\btimeout, (?:abort|reset|"
                              r"disable|completion))"),
        (DiskTrouble.ERROR, r"(?P<device>nvme\d+n\d+): .*@ LBA \d+, \d+ blocks, (?!Invalid)"),
        (DiskTrouble.READ_ONLY, rf"\S+ \({_BLOCK}\): (?:error: )?[Rr]emounting filesystem read-only"),
        (DiskTrouble.READ_ONLY, rf"\S+ \({_BLOCK}\): Filesystem has been set read-only"),
        (DiskTrouble.READ_ONLY, rf"EXT4-fs \({_BLOCK}\): shut down requested"),
        (DiskTrouble.READ_ONLY, rf"BTRFS.*\(device {_BLOCK}.*forced readonly"),
        (DiskTrouble.READ_ONLY, rf"XFS \({_BLOCK}\): .*(?:shut ?down|Shutting down)"),
        # Linux 2.6 names the device in another place, or not at all.
        (DiskTrouble.READ_ONLY, r"xfs_force_shutdown\((?P<device>[\w-]+),"),
        (DiskTrouble.ERROR, r"(?P<device>XFS): (?:Internal|internal) error"),
        (DiskTrouble.ERROR, r"Filesystem \"(?P<device>[\w-]+)\": (?:XFS internal error|.*I/O [Ee]rror|corruption)"),
        (DiskTrouble.READ_ONLY, rf"F2FS-fs \({_BLOCK}\): Stopped filesystem"),
        (DiskTrouble.GONE, r"WARNING: Pool '(?P<device>[^']+)' has encountered an uncorrectable I/O failure"),
        (DiskTrouble.JOURNAL, r"Aborting journal on device (?P<device>[\w-]+?)(?:-\d+)?\.?$"),
        (DiskTrouble.JOURNAL, rf"EXT[34]-fs.*\(device {_BLOCK}\).*(?:aborted journal|Journal has aborted)"),
        (DiskTrouble.JOURNAL, r"JBD2?: (?:Error -\d+ detected|I/O error) when updating journal superblock for"
                              r" (?P<device>\w+)"),
        (DiskTrouble.ERROR, r"JBD2?: Detected IO errors while flushing file data on (?P<device>\w+)"),
        (
            DiskTrouble.ERROR,
            r"(?:\w+: )?(?:I/O|device offline|timeout|protection|recoverable transport|(?:critical )?(?:medium|target|"
            r"nexus)) error,"
            rf" (?:dev )?{_BLOCK}, sector",
        ),
        (DiskTrouble.ERROR, rf"XFS \({_BLOCK}\): .*(?:I/O error|error -?5\b|Metadata (?:CRC error|corruption)|"
                            r"writeback error|"
                            r"Internal error)"),
        (DiskTrouble.ERROR, rf"sd \S+ \[{_BLOCK}\].*FAILED Result: hostbyte=(?!DID_OK|0x00)"),
        (DiskTrouble.TIMEOUT, rf"sd \S+ \[{_BLOCK}\].*(?:driverbyte=DRIVER_TIMEOUT|timing out)"),
        (DiskTrouble.TIMEOUT, r"(?:sd |mptscsih: )(?P<device>[\d:]+|ioc\d+): (?:\[\w+\] )?(?:tag#\d+ )?(?:attempting"
                              r" task"
                              r" abort|task abort|abort scheduled|timing out command)"),
        (DiskTrouble.ERROR, rf"(?:Buffer I/O error on dev(?:ice)?|lost page write due to I/O error on) {_BLOCK}"),
        (DiskTrouble.ERROR, r"(?:Read|Write)-error on swap-device \((?P<device>\d+:\d+)"),
        (DiskTrouble.ERROR, rf"EXT4-fs \({_BLOCK}\): (?:.*I/O error |Delayed block allocation failed|This should not"
                            r" happen|failed to convert unwritten|error count(?: since last"
                            r" fsck)?: [1-9]|warning: mounting fs with errors)"),
        (DiskTrouble.ERROR, rf"EXT[234]-fs (?:error|warning) \(device {_BLOCK}\).*(?:I/O error|Error -5)"),
        (DiskTrouble.ERROR, rf"EXT[234]-fs error \(device {_BLOCK}\)"),
        (DiskTrouble.ERROR, r"BTRFS: (?P<device>Transaction) aborted \(error -(?!28|12)"),
        (DiskTrouble.ERROR, r"(?:BTRFS error.*|btrfs:) bdev (?:/dev/)?(?P<device>\S+) errs: (?!wr 0, rd 0, flush 0,"
                            r" corrupt 0)"),
        (DiskTrouble.ERROR, rf"BTRFS (?:warning|error|critical).*\(device {_BLOCK}.*(?:csum failed|corrupt leaf)"),
        (DiskTrouble.ERROR, rf"BTRFS:? (?:error|critical) \(device {_BLOCK}(?!.* errs: wr 0, rd 0, flush 0,)"),
        (DiskTrouble.ERROR, rf"sd \S+ \[{_BLOCK}\].*Sense Key : (?:Medium|Hardware) Error"),
        (DiskTrouble.ERROR, rf"{_ATA}error: \{{.*\bUNC\b"),
        (DiskTrouble.TIMEOUT, rf"{_ATA}(?:exception Emask|failed command: (?:READ|WRITE|FLUSH)|qc timeout|failed to"
                              r" IDENTIFY|link is slow to respond|S?RST failed|softreset failed|lost interrupt|hard"
                              r" resetting link)"),
        (DiskTrouble.GONE, rf"{_ATA}(?:disabled$|disable device|reset failed, giving up|COMRESET failed|"
                           r"revalidation failed)"),
        (DiskTrouble.GONE, r"(?:sd|scsi) (?P<device>[\d:]+): (?:scsi: )?(?:rejecting I/O to (?:offline|dead) device|"
                           r"Device offlined)"),
        (DiskTrouble.GONE, rf"sd \S+ \[{_BLOCK}\].*(?:offline|DID_NO_CONNECT|DID_BAD_TARGET)"),
        (DiskTrouble.GONE, r"device-mapper: multipath: (?:[\d:]+: )?Failing path (?P<device>[\d:]+)"),
        (DiskTrouble.ERROR, r"FAT-fs \((?P<device>\w+)\): (?:error|FAT read failed|Directory bread)"),
        (DiskTrouble.ERROR, r"(?P<device>SQUASHFS) error: "),
        (DiskTrouble.GONE, rf"md/raid\d*:\w+: Disk failure on {_BLOCK}"),
        (DiskTrouble.ERROR, r"md/raid\d*:(?P<device>\w+): .*read error"),
        (DiskTrouble.ERROR, rf"BTRFS.*\(device {_BLOCK}.*errno=-5 IO failure"),
        (DiskTrouble.TIMEOUT, rf"sd \S+ \[{_BLOCK}\].*(?:uas_eh_abort_handler|timing out command|DID_TIME_OUT)"),
        (DiskTrouble.TIMEOUT, r"(?P<device>mmc(?:blk)?\d+): (?:Timeout waiting for hardware|.*error -110|Card stuck|"
                              r"timed out"
                              r" sending)"),
        (DiskTrouble.ERROR, r"(?P<device>mmcblk\d+): (?:error -\d+|recovery failed|unable to set)"),
        (DiskTrouble.GONE, r"xhci_hcd (?P<device>\S+): (?:HC died|xHCI host controller not responding)"),
        # smartd asks the disk itself.
        (DiskTrouble.ERROR, r"Device: /dev/(?P<device>\w+).*(?:FAILED SMART self-check|Currently unreadable|Offline"
                            r" uncorrectable|Failed SMART usage|Critical Warning|FAILURE PREDICTION|ATA error count"
                            r" increased)"),
        (DiskTrouble.TIMEOUT, r"(?:nfs|NFS): server (?P<device>\S+) not responding"),
        (DiskTrouble.TIMEOUT, r"(?:CIFS: )?(?:CIFS )?VFS: (?:Server )?(?P<device>\S+) has not responded"),
    )
)  # fmt: skip

HINT = (
    r"nvme|ata\d|journal|read-?only|error, dev|I/O error|Sense Key|error: \{|USB disconnect|XFS|BTRFS|F2FS|EXT[234]-fs|"
    r"offline|DID_|task abort|abort scheduled|uas_eh|mmc\w*\d|not responding|has not responded|IO failure|I/O failure|"
    r"md/raid|HC died|medium error|target error|transport error|swap-device|JBD|Device: /dev/|xfs_force|internal error|"
    r"btrfs: bdev|FAT-fs|SQUASHFS|Failing path|lost page write|timing out|rejecting I/O"
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
