"""The job's own cgroup: its counters are the job's alone."""

from pathlib import Path

from memwatch.model.sample import JobCounters
from memwatch.probe.machine import Machine
from tests.probe import trees
from tests.probe.trees import MIB, SELF_PID, Tree, add_process


def scope(tmp_path: Path) -> Tree:
    tree = trees.desktop_v2(tmp_path)
    add_process(tree, 901, SELF_PID)
    tree.write("proc/901/cgroup", "0::/job.scope\n")
    trees.cgroup2(tree, "fs/cgroup/job.scope", str(400 * MIB), current=100 * MIB, shmem=30 * MIB)
    stat = Path(tree.sys, "fs/cgroup/job.scope/memory.stat")
    stat.write_text(stat.read_text() + "workingset_refault_anon 3\nworkingset_refault_file 40\npgmajfault 21\n")
    tree.write("sys/fs/cgroup/job.scope/memory.events", "low 0\nhigh 0\nmax 8\noom 3\noom_kill 2\n")
    averages = "avg10=0.00 avg60=0.00 avg300=0.00"
    tree.write("sys/fs/cgroup/job.scope/memory.pressure", f"some {averages} total=77\nfull {averages} total=55\n")
    return tree


def test_a_job_in_a_cgroup_of_its_own_has_its_counters(tmp_path: Path) -> None:
    tree = scope(tmp_path)
    machine = Machine(tree.proc, tree.sys, self_pid=SELF_PID, job_cgroup_folder=f"{tree.sys}/fs/cgroup/job.scope")
    sample = machine.sample(0.0, 0.0, {901})
    machine.close()
    assert sample.job_counters == JobCounters(21, 43, 77, 55, 2)
    assert sample.job_files_bytes == 30 * MIB


def test_without_one_the_processes_faults_are_all_that_is_known(tmp_path: Path) -> None:
    tree = scope(tmp_path)
    machine = Machine(tree.proc, tree.sys, self_pid=SELF_PID)
    sample = machine.sample(0.0, 0.0, {901})
    machine.close()
    assert sample.job_counters == JobCounters(major_faults=1)


def test_a_cgroup_that_has_gone_leaves_the_processes(tmp_path: Path) -> None:
    tree = scope(tmp_path)
    machine = Machine(tree.proc, tree.sys, self_pid=SELF_PID, job_cgroup_folder=f"{tree.sys}/fs/cgroup/gone.scope")
    assert machine.sample(0.0, 0.0, {901}).job_counters == JobCounters(major_faults=1)
    machine.close()
