"""OOM kills in the words of who runs the job: systemd, Kubernetes, Docker, and batch systems such as Slurm."""

import re

from memwatch.diagnose.logs.fault_values import ManagedKill, Manager

# Searched for anywhere in a line: people quote these in a sentence.
_KILLS = tuple(
    (manager, re.compile(pattern))
    for manager, pattern in (
        (
            Manager.SYSTEMD,
            r"(?P<what>[\w.@:\\-]+\.(?:service|scope|slice|mount)): (?:A process of this unit has been killed by"
            r" the OOM killer|The kernel OOM killer killed some processes|Failed with result 'oom-kill')",
        ),
        (Manager.SLURM, r"Detected \d+ oom[-_]kill events?(?:\(s\))? in (?:StepId=|step )(?P<what>[\w.+]+?)\.?(?: |$)"),
        (Manager.SLURM, r"slurm\w*: error: .*?(?:(?P<what>\d[\d.]*\w*) )?exceeded (?:job |step )?memory limit"),
        (Manager.SLURM, r"Exceeded (?:job|step) memory limit"),
        (Manager.SLURM, r"\bState: OUT_OF_MEMORY\b|^\s*(?P<what>\d[\w.+]*) .*\bOUT_OF_ME(?:M\w*|\+)"),
        (Manager.KUBERNETES, r"System ?OOM encountered, victim process: (?P<victim>[^,]+), pid: \d+"),
        (Manager.KUBERNETES, r"Cgroup ?OOM encountered, victim process: (?P<what>[^,]+), pid: \d+"),
        (Manager.KUBERNETES, r"^\s*\"?[Rr]eason\"?:\s+\"?OOM ?Killed\"?,?$"),
        (Manager.KUBERNETES, r"^(?:\S+ +)?(?P<what>[a-z\d][\w.-]+) +\d+/\d+ +OOMKilled +\d"),
        (Manager.DOCKER, r"^\s*\"?OOMKilled\"?: ?true"),
        (Manager.CONTAINERD, r"TaskOOM event"),
        (Manager.KUBELET, r"Created an OOM event in container"),
        (Manager.FLUX, r"flux-shell\[\d+\]: .*Memory cgroup out of memory: killed \d+ task"),
        (Manager.PBS, r"=>> PBS: job killed: (?:v?mem|pmem) (?P<size>\d+[kmgt]?b) exceeded limit"),
        (Manager.LSF, r"TERM_MEMLIMIT: job killed"),
        (Manager.SHELL, r"^(?:\S+: )?line \d+: +\d+ Killed\b|^zsh: killed\b|^\[\d+\] *[+-]? +\d+ killed\b|^Killed$"),
        (Manager.SHELL, r"Killed signal terminated program (?P<victim>\S+)|\(signal: 9, SIGKILL: kill\)"),
        (Manager.SHELL, r"DataLoader worker \(pid(?:\(s\))? \d+\) is killed by signal: Killed|exitcode *: -9 \(pid"),
        (Manager.SHELL, r"was sent SIGKILL! Perhaps out of memory|Command terminated by signal 9\b"),
        (
            Manager.YARN,
            r"Container killed by YARN for exceeding (?:physical |virtual )?memory limits\. (?P<size>[\d.]+ ?[KMGT]B)?",
        ),
        (Manager.YARN, r"is running (?:\d+B )?beyond the '?(?:PHYSICAL|VIRTUAL|physical|virtual)'? memory limits?"),
        (Manager.ECS, r"OutOfMemoryError: Container killed due to memory usage"),
        (Manager.CONDOR, r"Job has gone over (?:cgroup )?memory limit of (?P<size>\d+ \w+)"),
    )
)
_EVICTED = re.compile(r"The node was low on resource: memory")
_PEAK = re.compile(r"oom: memory\.peak = (?P<size>\S+)")  # of Flux, after the line of the kill

HINT = (
    r"OOM|oom|memory limit|OUT_OF_ME|job killed|low on resource|memory\.peak|Killed|killed|SIGKILL|signal 9|"
    r"exitcode|memory usage"
)


def read_managed_line(t: float | None, text: str) -> ManagedKill | None:
    for manager, pattern in _KILLS:
        if (match := pattern.search(text)) is not None:
            found = match.groupdict()
            return ManagedKill(t, manager, found.get("what") or "", found.get("victim"), found.get("size"))
    if _EVICTED.search(text) is not None:
        return ManagedKill(t, Manager.KUBERNETES, "", is_eviction=True)
    if (peak := _PEAK.search(text)) is not None:
        return ManagedKill(t, Manager.FLUX, "", size=peak["size"])
    return None
