"""What to do after an OOM kill: raise the limit where it was set, guard the program that grows, or add memory."""

import re

from memwatch.diagnose.causes.oom_holder import Holder
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import chosen
from memwatch.diagnose.logs.log_events import Platform
from memwatch.diagnose.logs.oom_kill import NoVictim, OomKill, ProgramSum
from memwatch.model.units import GIB, MIB, format_size

MAIN_SHARE = 0.5  # of RAM, or of the limit: whoever holds so much is the reason

_PYTHON = re.compile(r"python|pt_main_thread|jupyter|ray::|uwsgi|gunicorn|celery")
# Names in the path of a cgroup: of a container, a pod, a job of Slurm.
_CONTAINER = re.compile(r"(?P<tool>docker|libpod)[/-](?P<id>[0-9a-f]{8,64})")
_POD = re.compile(r"pod(?P<id>[0-9a-f]{8})")
_JOB = re.compile(r"job_(?P<number>\d+)")
_SERVICE = re.compile(r"(?:mysqld|mariadbd|postgres|redis-server|mongod|nginx|httpd|apache2|systemd|kubelet|dockerd)\b")


def oom_advice(
    kill: OomKill, holder: Holder | None, guilty: tuple[str, int, int | None] | None, evidence: Evidence
) -> list[str]:
    name = guilty[0] if guilty is not None else _worth_guarding(kill, holder, evidence)
    advice = _raise_limit(kill) if kill.in_cgroup else []
    if name is not None and _SERVICE.match(name):
        advice.append(f"Lower what {name} is configured to take (buffer pool, heap, workers), or add memory.")
    elif name is not None:
        advice.append(f"memwatch run -- {name} ...: it is paused or stopped before memory runs out, and only it.")
        advice += script_advice(name)
        advice += _needs(name, kill, holder)
    elif holder is not None and holder.advice is not None:
        advice.append(holder.advice)
    if not kill.in_cgroup:
        advice += _more_memory(kill, evidence)
    if kill.no_victim == NoVictim.NONE_LEFT:
        advice.append("grep -l -x -- -1000 /proc/[0-9]*/oom_score_adj: shows what the kernel may not kill.")
    if holder is None and (kill.no_victim == NoVictim.CUT or (kill.no_victim is None and kill.is_small_victim)):
        advice.append("journalctl -k -b | grep -A200 'invoked oom-killer': the whole report names who held the memory.")
    return advice


def script_advice(name: str) -> list[str]:
    """`name` is that of a program, or its command as memwatch shows it."""
    script = next((word for word in name.split() if word.endswith(".py")), None)
    if script is None and not _PYTHON.match(name):
        return []
    known = "FILE.py" if script is None else chosen(script)
    return [f"memwatch diagnose --script {known}: points at the lines that hold everything in memory."]


def _needs(name: str, kill: OomKill, holder: Holder | None) -> list[str]:
    """The sentence about the program's need: more than it had; no log says how much more."""
    whole = kill.cgroup_limit_bytes if kill.in_cgroup else kill.ram_bytes
    if holder is None or whole is None or holder.taken_bytes < MAIN_SHARE * whole:
        return []
    swap = f" + {format_size(kill.swap_total_bytes)}" if kill.swap_total_bytes and not kill.in_cgroup else ""
    return [
        f"{name} needs more than {format_size(holder.taken_bytes)}, and there are {format_size(whole)}{swap}: use more"
        " memory, a sample of the input (`head -c 1G INPUT`), or smaller batches; `memwatch estimate INPUT` measures"
        " what tokenizing takes."
    ]


def _worth_guarding(kill: OomKill, holder: Holder | None, evidence: Evidence) -> str | None:
    """The program to run under memwatch: never a victim that is too small to be the reason."""
    if holder is not None:
        return None if holder.program is None else evidence.name_of(_pid_of(kill, holder.program), holder.program.name)
    if kill.pid is None or kill.is_small_victim:
        return None
    return evidence.name_of(kill.pid, kill.name)


def _pid_of(kill: OomKill, program: ProgramSum) -> int | None:
    return next((row.pid for row in kill.biggest if row.name == program.name), None)


def _raise_limit(kill: OomKill) -> list[str]:
    """How to raise the limit. Who has set it shows in the cgroup's path."""
    path = kill.cgroup or kill.task_cgroup or ""
    more = "" if kill.cgroup_limit_bytes is None else f", now {format_size(kill.cgroup_limit_bytes)}"
    size = _twice(kill.cgroup_limit_bytes)
    unit = path.rpartition("/")[2]
    if "kubepods" in path:
        pod = _POD.search(path)
        find = "" if pod is None else f" `kubectl get pods -A -o wide | grep -i {chosen(pod['id'][:8])}` finds the pod;"
        return [f"Raise resources.limits.memory of the container{more};{find} `kubectl top pod` shows what it takes."]
    if "slurm" in path:
        job = _JOB.search(path)
        number = "JOB" if job is None else chosen(job["number"])
        return [
            f"sbatch --mem={size} ...: asks for more memory{more}; `sacct -j {number} --format=JobID,ReqMem,MaxRSS`"
            " shows what it took."
        ]
    if (container := _CONTAINER.search(path)) is not None:
        tool, name = container["tool"].replace("libpod", "podman"), chosen(container["id"][:12])
        return [
            f"{tool} update --memory {size} --memory-swap {size} {name}; {tool} run --memory {size} ... for a new one:"
            f" raise the container's limit{more}."
        ]
    if "lxc" in path:
        return [f"lxc config set NAME limits.memory {size} (Proxmox: pct set ID -memory MIB): raises the limit{more}."]
    if unit.endswith((".service", ".scope", ".slice")):
        return [f"systemctl set-property {chosen(unit)} MemoryMax={size}: raises the unit's limit{more}."]
    return [
        f"Raise the limit{more}, if the job is meant to take more: docker run --memory {size}, MemoryMax={size} of a"
        f" unit, sbatch --mem={size}, resources.limits.memory."
    ]


def _twice(limit_bytes: int | None) -> str:
    """As systemd, Docker and Slurm take it: 2G; SIZE where the limit is not known."""
    if not limit_bytes:
        return "SIZE"
    return f"{-(-2 * limit_bytes // GIB)}G" if limit_bytes >= GIB else f"{-(-2 * limit_bytes // MIB)}M"


def _more_memory(kill: OomKill, evidence: Evidence) -> list[str]:
    platforms = frozenset() if evidence.log is None else evidence.log.platforms
    if Platform.WSL in platforms:
        return [
            r"In %UserProfile%\.wslconfig under [wsl2] set memory=SIZE and swap=SIZE, then `wsl --shutdown`: by default"
            " WSL 2 gets half of the machine's RAM."
        ]
    if Platform.ZRAM in platforms:
        return ["The swap is zram, which is RAM itself: a swap file beside it adds real room."]
    if kill.swap_total_bytes == 0 and (kill.ram_bytes or GIB) >= GIB:
        return [
            "fallocate -l 8G /swapfile; chmod 600 /swapfile; mkswap /swapfile; swapon /swapfile: adds swap, so that"
            " idle memory can leave RAM."
        ]
    return []
