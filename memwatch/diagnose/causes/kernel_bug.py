"""The kernel's own failures: an oops, a BUG, a panic. Memory did not run out, though it may be faulty."""

import re

from memwatch.diagnose.causes.phrases import listed, moment, sentence, times
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding, quoted
from memwatch.diagnose.logs.fault_values import KernelBug

_MODULE = re.compile(r"\[(?P<module>\w+)\]$")
_DAMAGED = re.compile(r"Bad page|Bad rss|corruption|non-canonical|KFENCE|KASAN")
# What is no bug: the words say all.
_NO_BUG = re.compile(r"Unable to mount root|No working init|Requested init|kill init|sysrq triggered crash")
# What the words of the kernel mean; the first that matches counts.
_MEANINGS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"Unable to mount root", "it found no root file system: the boot loader, the initramfs or a driver is at"
                                  " fault"),
        (r"No working init|Requested init", "it found no program to start as the first one"),
        (r"kill init", "the first process (init, systemd) ended"),
        (r"sysrq triggered crash", "somebody requested a crash by hand (SysRq-c)"),
        (r"broadcast exception|SError|NMI: Not continuing", "the hardware reported an error that it cannot go on"
                                                            " after"),
        (r"stack-protector|stack guard", "the kernel's stack was overwritten"),
        (r"NULL pointer", "it followed a pointer that is not set (NULL)"),
        (r"paging request|page fault|general protection|non-canonical|NX-protected", "it used an address that is not"
                                                                                     " valid"),
        (r"Bad page|Bad rss", "its account of memory pages is damaged"),
        (r"list_\w+ corruption", "a list in its memory is damaged"),
        (r"kernel BUG at|invalid opcode", "a check in its own code failed"),
        (r"scheduling while atomic|sleeping function", "it waited where it must not wait"),
        (r"KASAN|KFENCE", "a memory checker caught it using memory that is not its own"),
        (r"divide error", "it divided by zero"),
    )
)  # fmt: skip
_NO_PLACE = "where it failed: the line that begins with RIP (or 'pc :') is not in this log"
_NOT_IN_TREE = {"nvidia": "NVIDIA's driver", "zfs": "OpenZFS", "vboxdrv": "VirtualBox", "wl": "Broadcom's driver"}


def kernel_bug_findings(evidence: Evidence) -> list[Finding]:
    bugs = [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, KernelBug)]
    if not bugs:
        return []
    first = next((bug for bug in bugs if bug.place), bugs[0])
    known_t = [bug.t for bug in bugs if bug.t is not None]
    is_panic = any(bug.is_panic for bug in bugs)
    meaning = next((words for pattern, words in _MEANINGS if pattern.search(first.detail)), None)
    again = f", {times(len(bugs))}" if len(bugs) > 1 else ""
    at = "" if first.place is None else f" in {first.place}"
    by = "" if first.name is None else f", while {first.name} ran"
    return [
        Finding(
            Cause.KERNEL_BUG,
            f"The kernel itself failed{at}{by}{again}{', and stopped the machine (panic)' if is_panic else ''}.",
            sentence(
                [
                    meaning,
                    None if _NO_BUG.search(first.detail) else _blame(first),
                    "memory did not run out, as far as this log shows",
                ]
            ),
            Confidence.HIGH,
            tuple(
                quoted(f"kernel log{moment(bug.t, evidence.now_t)}", bug.detail, bug.place or "a failure of the kernel")
                for bug in bugs[:3]
            ),
            tuple(_advice(bugs)),
            min(known_t, default=None),
            max(known_t, default=None),
            () if first.place or _NO_BUG.search(first.detail) else (_NO_PLACE,),
        )
    ]


def _module(bug: KernelBug) -> str | None:
    match = _MODULE.search(bug.place or "")
    return None if match is None else match["module"]


def _blame(bug: KernelBug) -> str:
    module = _module(bug)
    if module in _NOT_IN_TREE:
        return f"the code is of {_NOT_IN_TREE[module]} (module {module}), which is no part of Linux"
    where = "the kernel" if module is None else f"its module {module}"
    return f"that is a bug of {where}, or faulty RAM; the program that ran is not the reason"


def _advice(bugs: list[KernelBug]) -> list[str]:
    modules = list(dict.fromkeys(module for module in map(_module, bugs) if module))
    advice = [
        "journalctl -k -b -1 | grep -B5 -A60 -E 'BUG:|Oops|Unable to handle|Kernel panic': the whole report, for the"
        " bug tracker of your distribution."
    ]
    if modules:
        advice.append(f"modinfo {modules[0]}: shows its version; update {listed(modules)}, or start an older kernel.")
    else:
        advice.append("Start an older kernel from the boot menu; if it goes well, the newer one has the bug.")
    if len(bugs) > 1 or any(_DAMAGED.search(bug.detail) for bug in bugs):
        advice.append("memtest86+, over night, without overclocking (XMP too): faulty RAM fails in changing places.")
    return advice
