"""Lines of the kernel about cores that are stuck, and about the kernel itself: an oops, a BUG, a panic."""

import re

from memwatch.diagnose.logs.fault_values import MOST_DETAIL_CHARACTERS, KernelBug, Lockup, Stuck

_PANIC = r"Kernel panic(?: -|:) not syncing: "
_WATCHDOG = r"(?:NMI )?(?:watchdog: )?"
# What the kernel prints, with the way in which a core is stuck; the first that matches counts.
_LOCKUPS = tuple(
    (stuck, re.compile(pattern))
    for stuck, pattern in (
        (
            Stuck.SOFT,
            rf"{_WATCHDOG}BUG: soft lockup\.? - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s!"
            r"(?: -?\[(?P<name>.*):\d+\])?",
        ),
        (Stuck.SOFT, r"BUG: soft lockup detected on CPU#(?P<cpu>\d+)"),
        (Stuck.SOFT, rf"{_PANIC}softlockup: hung tasks"),
        (Stuck.WORKQUEUE, r"BUG: workqueue lockup - pool(?: cpus=(?P<cpu>\d+))?.* stuck for (?P<seconds>\d+)s!"),
        (Stuck.SPINLOCK, r"BUG: spinlock lockup(?: suspected)? on CPU#(?P<cpu>\d+), (?P<name>[^,]+)/\d+"),
        (
            Stuck.HARD,
            rf"(?:{_PANIC})?(?:BUG: )?(?:NMI )?(?:[Ww]atchdog:? )?(?:BUG: )?(?:CPU ?\d+:? )?(?:Watchdog )?(?:self-)?"
            r"(?:detected (?:[Hh]ard )?|[Hh]ard )LOCKUP(?: on (?:cpu|CPU|other CPUs) ?(?P<cpu>\d+))?",
        ),
        (
            Stuck.RCU,
            r"(?:rcu: )?INFO: \w+ ?(?:self-)?detected (?:expedited )?stalls? on (?:tasks|CPU)(?:s/tasks|"
            r" (?P<cpu>\d+))?",
        ),
        (Stuck.RCU, r"(?:rcu: )?(?:INFO: )?rcu_\w+ kthread (?:starved for|timer wakeup didn't happen for)"),
    )
)
# "traps: python3[3456] general protection fault" is a program's own: the kernel's stands at the beginning.
_BUG = re.compile(
    rf"(?P<panic>{_PANIC})|BUG: (?:unable to handle|[Kk]ernel NULL pointer|Bad page|Bad rss-counter|scheduling while|"
    r"sleeping function|KASAN|KFENCE|stack guard page|Dentry)|Unable to handle kernel |"
    r"Internal error: |(?:Oops: )?(?:general protection fault|invalid opcode|divide error|stack segment|double fault)"
    r"(?:, |: |:? \d)|Oops: |PANIC: double fault|kernel BUG at |list_(?:add|del) corruption|"
    r"kernel tried to execute NX-protected page"
)
# What other readers report in more detail, and what a hung task ends in.
_OF_OTHERS = re.compile(rf"{_PANIC}(?:[Oo]ut of memory|System is deadlocked|Fatal .*machine check|hung_task: )")

HINT = (
    r"lockup|LOCKUP|stall|kthread (?:starved|timer)|BUG: |Kernel panic|nable to handle kernel|Oops|"
    r"general protection fault|invalid opcode|divide error|stack segment|double fault|kernel BUG|corruption"
)


def read_core_line(t: float | None, text: str) -> Lockup | KernelBug | None:
    for stuck, pattern in _LOCKUPS:
        if (match := pattern.match(text)) is not None:
            found = match.groupdict()
            return Lockup(t, _number(found.get("cpu")), _number(found.get("seconds")), found.get("name"), stuck)
    if (bug := _BUG.match(text)) is None or _OF_OTHERS.match(text) is not None:
        return None
    return KernelBug(t, text[:MOST_DETAIL_CHARACTERS], is_panic=bug["panic"] is not None)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
