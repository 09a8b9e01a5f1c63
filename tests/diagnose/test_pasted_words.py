"""What is said of a pasted log: whose limit, why, and commands with the real names in them."""

import pytest

from memwatch.diagnose.conclude import diagnose
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence
from memwatch.diagnose.logs.log_events import read_log
from memwatch.diagnose.logs.log_lines import LogLine


@pytest.mark.parametrize(
    ("path", "limit_kib", "command"),
    [
        ("/system.slice/train.service", 1 << 20, "systemctl set-property train.service MemoryMax=2G"),
        ("/docker/4f3aa2bb91cc77de", 512 << 10, "docker update --memory 1024M --memory-swap 1024M 4f3aa2bb91cc"),
        ("/slurm/uid_1000/job_8841/step_0", 3 << 20, "`sacct -j 8841 --format=JobID,ReqMem,MaxRSS`"),
        ("/kubepods/burstable/pod1b2c3d4e-55/77aa", 1 << 20, "`kubectl get pods -A -o wide | grep -i 1b2c3d4e`"),
    ],
)
def test_the_advice_after_a_limit_names_the_unit_and_a_size(path: str, limit_kib: int, command: str) -> None:
    lines = [
        f"Task in {path} killed as a result of limit of {path}",
        f"memory: usage {limit_kib}kB, limit {limit_kib}kB, failcnt 9",
        "Memory cgroup out of memory: Kill process 77 (python3) score 900 or sacrifice child",
        f"Killed process 77 (python3) total-vm:9kB, anon-rss:{limit_kib}kB, file-rss:0kB",
    ]
    log = read_log([LogLine(1.0, "kernel", line) for line in lines])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert command in " ".join(finding.advice)


def test_a_report_with_the_machines_memory_and_no_last_line_is_of_the_machine() -> None:
    lines = [
        "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
        "Mem-Info:",
        "active_anon:10 inactive_anon:3900000 isolated_anon:0",
        " free:33000 free_pcp:0 free_cma:0",
        "Node 0 Normal free:44000kB min:45000kB low:61000kB high:77000kB",
    ]
    log = read_log([LogLine(1.0, "kernel", line) for line in lines])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert (finding.cause, finding.confidence) == (Cause.OOM_KILL, Confidence.MEDIUM)


def test_what_earlyoom_says_of_memory_is_the_reason() -> None:
    lines = [
        "mem avail:  2430 of 31808 MiB ( 7.64%), swap free: 1419 of 15903 MiB ( 8.93%)",
        "low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%",
        'sending SIGTERM to process 29410 uid 1000 "cluster": badness 1264, VmRSS 23964 MiB',
    ]
    log = read_log([LogLine(1.0, "earlyoom", line) for line in lines])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert finding.why.startswith("2.4 GiB of 31.1 GiB of memory was available and 1.4 GiB of 15.5 GiB of swap")
    assert "earlyoom acts at 10 % of memory and 10 % of swap" in finding.why


@pytest.mark.parametrize(
    ("line", "ended"),
    [
        ("/var/spool/job: line 28:  8156 Killed                  python3 main.py", "a process"),
        ("zsh: killed     python3 prepare.py", "a process"),
        ("c++: fatal error: Killed signal terminated program cc1plus", "cc1plus"),
        ("RuntimeError: DataLoader worker (pid 4123) is killed by signal: Killed.", "a process"),
    ],
)
def test_a_kill_that_only_the_output_tells_of_may_be_the_oom_killer(line: str, ended: str) -> None:
    (finding,) = diagnose(Evidence(now_t=2.0, log=read_log([LogLine(None, "kernel", line)]), is_pasted=True)).findings
    assert (finding.cause, finding.confidence) == (Cause.OOM_UNKNOWN_LIMIT, Confidence.LOW)
    assert f"SIGKILL ended {ended}" in finding.what


def test_the_largest_slab_cache_is_named() -> None:
    lines = [
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "slab_reclaimable:9000 slab_unreclaimable:3200000",
        "free:33000 free_pcp:0 free_cma:0",
        "4089446 pages RAM",
        "Unreclaimable slab info:",
        "Name                      Used          Total",
        "nf_conntrack           9000000KB    9100000KB",
        "kmalloc-64               60000KB      61000KB",
        "Out of memory: Killed process 77 (python3) total-vm:9kB, anon-rss:360000kB, file-rss:0kB, shmem-rss:0kB",
    ]
    log = read_log([LogLine(1.0, "kernel", line) for line in lines])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert "12.2 GiB was in slab caches of the kernel, the largest of them nf_conntrack with 8.7 GiB" in finding.what


def test_a_slurm_job_without_a_number_is_not_called_a_container() -> None:
    log = read_log([LogLine(1.0, "slurmstepd", "error: Exceeded job memory limit at some point.")])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert finding.what.startswith("The memory limit of a Slurm job was reached")


def test_the_oom_controller_of_talos_is_a_kill_also_without_its_victim() -> None:
    line = '[talos] OOM controller triggered {"component": "controller-runtime"}'
    killed = '[talos] Sending SIGKILL to cgroup {"cgroup": "/sys/fs/cgroup/kubepods/burstable/pod77f0"}'
    log = read_log([LogLine(1.0, "kernel", line)])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert (finding.cause, finding.confidence) == (Cause.DAEMON_KILL, Confidence.MEDIUM)
    log = read_log([LogLine(1.0, "kernel", line), LogLine(1.1, "kernel", killed)])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert "pod77f0" in finding.what


def test_xid_45_alone_is_not_blamed_on_the_card() -> None:
    """Every program that is killed on a card leaves one: there is nothing that compute-sanitizer could find."""
    log = read_log([LogLine(1.0, "kernel", "NVRM: Xid (PCI:0000:01:00): 45, pid=7, name=python3, Ch 00000008")])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert finding.confidence == Confidence.LOW
    assert "no fault of the card" in finding.advice[0]


def test_only_what_was_critical_is_shown_as_critical() -> None:
    lines = [
        "mce: CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)",
        "thermal thermal_zone0: critical temperature reached (105 C), shutting down",
    ]
    log = read_log([LogLine(float(t), "kernel", line) for t, line in enumerate(lines, 1)])
    (finding,) = diagnose(Evidence(now_t=2.0, log=log, is_pasted=True)).findings
    assert len(finding.evidence) == 1
