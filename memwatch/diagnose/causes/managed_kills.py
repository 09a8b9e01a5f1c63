"""OOM kills in the words of who runs the job: systemd, Slurm, Kubernetes, Docker, Talos."""

from memwatch.diagnose.causes.oom import WHICH_LIMIT, WHICH_VICTIM, WHO_HELD
from memwatch.diagnose.causes.oom_holder import ONE_INCIDENT_S
from memwatch.diagnose.causes.phrases import listed, times
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding, chosen
from memwatch.diagnose.logs.daemon_lines import DaemonKill
from memwatch.diagnose.logs.fault_values import ManagedKill, Manager
from memwatch.diagnose.logs.oom_kill import OomKill

_OF_CONTAINERS = {Manager.KUBERNETES, Manager.DOCKER, Manager.CONTAINERD}
_ASK_FOR_MORE = {
    Manager.FLUX: "flux run -o memory.max=SIZE ... (or more nodes)",
    Manager.PBS: "qsub -l select=1:mem=SIZE ...",
    Manager.LSF: "bsub -M SIZE -R 'rusage[mem=SIZE]' ...",
    Manager.CONDOR: "request_memory = SIZE in the submit file",
    Manager.YARN: "spark-submit --conf spark.executor.memoryOverhead=SIZE ... (or mapreduce.map.memory.mb)",
    Manager.ECS: "a larger `memory` of the container in the task definition",
}


def managed_kill_findings(evidence: Evidence) -> list[Finding]:
    """OOM kills that only systemd, Slurm or Kubernetes report. Beside the kernel's own lines they add nothing."""
    events = () if evidence.log is None else evidence.log.events
    kills = [event for event in events if isinstance(event, OomKill | DaemonKill)]
    told = [
        event
        for event in events
        if isinstance(event, ManagedKill) and not any(_is_same_moment(event.t, kill.t) for kill in kills)
    ]
    if any(event.manager != Manager.SHELL for event in told):
        told = [event for event in told if event.manager != Manager.SHELL]  # Its own words add nothing then.
    return [
        _managed_finding(manager, [kill for kill in told if kill.manager == manager], evidence)
        for manager in Manager
        if any(kill.manager == manager for kill in told)
    ]


def _is_same_moment(t: float | None, kill_t: float | None) -> bool:
    return t is None or kill_t is None or abs(t - kill_t) <= ONE_INCIDENT_S


def _managed_finding(manager: Manager, kills: list[ManagedKill], evidence: Evidence) -> Finding:
    if all(kill.is_eviction for kill in kills):
        return _eviction_finding(kills)
    if manager == Manager.SHELL:
        return _sigkill_finding(kills)
    if manager == Manager.TALOS:
        return _talos_finding(kills)
    named = [chosen(name) for name in dict.fromkeys(kill.what for kill in kills if kill.what)]
    names = listed(named or ["a container"])
    known_t = [kill.t for kill in kills if kill.t is not None]
    shown = (f"{manager.value}'s own words, {times(len(kills))}",)
    start_t, end_t = min(known_t, default=None), max(known_t, default=None)
    victim = next((kill.victim for kill in kills if kill.victim), None)
    if victim is not None:
        what = f"Memory ran out on the node, and the kernel killed {victim} (Kubernetes: SystemOOM)."
        advice = ("kubectl describe node NODE: compare what its pods take with their requests.",)
        return Finding(
            Cause.OOM_KILL, what, "The kubelet reports it; the kernel's report is not in this log.", Confidence.MEDIUM,
            shown, advice, start_t, end_t, (WHO_HELD,),
        )  # fmt: skip
    if manager in (Manager.SYSTEMD, Manager.KUBELET):
        return Finding(
            Cause.OOM_UNKNOWN_LIMIT,
            f"A process of {names} was killed by the OOM killer.",
            f"{manager.value} reports it without the process and the limit: the unit's own limit, the machine's memory,"
            " or systemd-oomd.",
            Confidence.LOW,
            shown,
            ("journalctl -b -k; journalctl -b -u systemd-oomd: have the process and the limit at that time.",),
            start_t,
            end_t,
            (WHICH_VICTIM, WHICH_LIMIT, WHO_HELD),
        )
    if manager == Manager.SLURM:
        job = chosen(kills[0].what.partition(".")[0] or "JOB")
        step = f"the Slurm job step {names}" if named else "a Slurm job"
        return Finding(
            Cause.CGROUP_LIMIT,
            f"The memory limit of {step} was reached and the kernel killed a process of it.",
            f"The job took more than its --mem; Slurm counted {times(len(kills))}.",
            Confidence.HIGH,
            shown,
            (
                f"sacct -j {job} --format=JobID,ReqMem,MaxRSS: shows the memory it requested and the memory it used.",
                "sbatch --mem=SIZE ...: ask for more; `memwatch run -- COMMAND` in the job shows how fast it grows.",
            ),
            start_t,
            end_t,
            (WHICH_VICTIM, WHO_HELD),
        )
    limit = None if evidence.log is None else evidence.log.pod_limit
    said = "" if limit is None else f" ({limit})"
    if manager not in _OF_CONTAINERS:
        return _batch_finding(manager, kills, shown, start_t, end_t)
    return Finding(
        Cause.CGROUP_LIMIT,
        f"The memory limit of {names}{said} was reached and the kernel killed its main process (OOMKilled).",
        f"{manager.value} reports OOMKilled; that is the container's own limit, or rarely the whole node's memory.",
        Confidence.MEDIUM,
        shown,
        (
            f"{_described(kills)}kubectl set resources deployment NAME --limits=memory=SIZE: raises"
            " resources.limits.memory."
            if manager == Manager.KUBERNETES
            else "docker update --memory SIZE --memory-swap SIZE CONTAINER: raises the limit.",
            "dmesg -T | grep -i -A30 oom-killer (on the node): names the process and who held the memory.",
        ),
        start_t,
        end_t,
        (WHO_HELD,),
    )


def _described(kills: list[ManagedKill]) -> str:
    pod = next((kill.what for kill in kills if kill.what), None)
    return "" if pod is None else f"kubectl describe pod {chosen(pod)}: shows its limit and what owns it; then "


def _batch_finding(
    manager: Manager, kills: list[ManagedKill], shown: tuple[str, ...], start_t: float | None, end_t: float | None
) -> Finding:
    """Batch systems that give each job a memory limit, in their own words."""
    size = next((kill.size for kill in kills if kill.size), None)
    return Finding(
        Cause.CGROUP_LIMIT,
        f"The memory limit of a {manager.value} job was reached and a process of it was killed.",
        f"The job took {size}." if size else f"{manager.value} reports it without the size.",
        Confidence.MEDIUM,
        shown,
        (f"{_ASK_FOR_MORE[manager]}: asks for more memory; `memwatch run -- COMMAND` shows how fast the job grows.",),
        start_t,
        end_t,
        (WHICH_VICTIM, WHO_HELD),
    )


def _sigkill_finding(kills: list[ManagedKill]) -> Finding:
    """Only the job's own output is there. The OOM killer is the usual sender of SIGKILL, and not the only one."""
    victim = next((kill.victim for kill in kills if kill.victim), "a process")
    return Finding(
        Cause.OOM_UNKNOWN_LIMIT,
        f"SIGKILL ended {victim}: most often that is the OOM killer.",
        "The output says that it was killed, and not by whom: the machine's memory or a cgroup's limit was used up, or"
        " somebody sent the signal.",
        Confidence.LOW,
        (f"{Manager.SHELL.value}, {times(len(kills))}",),
        ("journalctl -k -b | grep -i -E -A3 'oom|killed process': shows whether the kernel did it.",),
        missing=(WHICH_LIMIT, WHO_HELD),
    )


def _eviction_finding(kills: list[ManagedKill]) -> Finding:
    known_t = [kill.t for kill in kills if kill.t is not None]
    return Finding(
        Cause.DAEMON_KILL,
        "Kubernetes evicted a pod because the node was short of memory.",
        "The kubelet ends pods that take more than they requested, before the kernel has to kill.",
        Confidence.HIGH,
        (f"the kubelet's own words, {times(len(kills))}",),
        ("kubectl describe node NODE: compare requests with use; raise resources.requests.memory of the pod.",),
        min(known_t, default=None),
        max(known_t, default=None),
    )


def _talos_finding(kills: list[ManagedKill]) -> Finding:
    """It acted, and the line that names the cgroup is cut off."""
    known_t = [kill.t for kill in kills if kill.t is not None]
    return Finding(
        Cause.DAEMON_KILL,
        f"The OOM controller of Talos was triggered {times(len(kills))}: it kills a cgroup when memory is short.",
        "It acts on memory pressure, before the kernel has to kill; what it killed is not in this log.",
        Confidence.MEDIUM,
        (f"Talos' own words, {times(len(kills))}",),
        ("talosctl -n NODE dmesg | grep -A2 'OOM controller triggered': names the cgroup and its processes.",),
        min(known_t, default=None),
        max(known_t, default=None),
        (WHICH_VICTIM, WHO_HELD),
    )
