"""From evidence to findings: each kind of trouble with what is expected of it, and what must not be claimed."""

from dataclasses import replace

import pytest

from memwatch.diagnose.conclude import diagnose
from memwatch.diagnose.evidence import Disk, Evidence, Run, Settings, State
from memwatch.diagnose.findings import Cause, Confidence, Finding
from memwatch.diagnose.logs.log_events import LogEvents
from memwatch.diagnose.timeline.model import Timeline
from memwatch.model.sample import Gpu, Limit, Memory, Paging, Pressure, Sample
from memwatch.model.units import GIB, MIB
from tests.diagnose.logs.examples import NOW_T, read, recorded
from tests.diagnose.timeline.records import CARD, START_T, Record, freeze

pytestmark = pytest.mark.usefixtures("in_utc")


def well(**changes: object) -> State:
    """A machine on which nothing is wrong now."""
    sample = Sample(
        t=NOW_T,
        clock_s=9000.0,
        memory=Memory(64 * GIB, 41 * GIB, 8 * GIB, 8 * GIB, 0),
        pressure=Pressure(9_000_000, 3_000_000, 0, 0),
        paging=Paging(0, 0, 0, 0),
        gpus=(CARD,),
    )
    state = State(
        sample, uptime_s=90_000.0, cores=8, cpu_some_avg300=1.0, disks=(Disk("/", 212 * GIB, 900 * GIB),),
        settings=Settings(swappiness=60, dirty_ratio=20, dirty_bytes=0, min_ttl_ms=0),
    )  # fmt: skip
    return replace(state, **changes)  # type: ignore[arg-type]


def of(
    *timelines: Timeline, log: str | LogEvents | None = None, state: State | None = None, runs: tuple[Run, ...] = ()
) -> Evidence:
    events = recorded(log) if isinstance(log, str) else log
    return Evidence(NOW_T, state or well(), events, timelines, runs)


def causes(evidence: Evidence) -> list[Cause]:
    return [finding.cause for finding in diagnose(evidence).findings]


def only(evidence: Evidence) -> Finding:
    (finding,) = diagnose(evidence).findings
    return finding


def test_nothing_found_says_what_is_ruled_out_and_what_would_show_it() -> None:
    found = diagnose(of(Record().run(600).timeline(), log=LogEvents(lines=900)))
    assert found.findings == ()
    assert "GPU (0 %, 1.1 of 12.0 GiB)" in found.ruled_out
    assert "disk full (212.0 GiB free on /)" in found.ruled_out
    assert "OOM kill (none in the kernel log)" in found.ruled_out
    assert any("memwatch record" in text for text in found.not_known)


def test_no_evidence_at_all_claims_nothing_and_rules_nothing_out() -> None:
    found = diagnose(Evidence(NOW_T))
    assert (found.findings, found.ruled_out) == ((), ())
    assert len(found.not_known) >= 2


class TestTheStory:
    def test_the_freeze_is_explained(self) -> None:
        found = diagnose(of(freeze().timeline()))
        (finding,) = found.findings
        assert (finding.cause, finding.confidence) == (Cause.SWAP_THRASHING, Confidence.HIGH)
        assert finding.what == "Swap thrashing: python prepare.py (41031) grew 2.7 -> 56.7 GiB in 9 min 00 s."
        assert "down to" in finding.why
        assert "swap full at 13:10:" in finding.why
        assert "stalled 70 % of the time" in finding.why
        assert "swap in and out at once: 37.7 MiB/s in, 60.6 MiB/s out" in finding.evidence
        assert "GPU (0 %, 1.1 of 12.0 GiB)" in found.ruled_out
        assert "which line allocated: `memray run prepare.py` shows it" in found.not_known
        assert finding.advice[0].startswith("memwatch run -- python prepare.py")
        assert any("min_ttl_ms" in text for text in finding.advice)

    def test_the_kill_that_ended_it_is_its_evidence_and_its_end(self) -> None:
        kill = "Out of memory: Killed process 41031 (python) total-vm:9kB, anon-rss:60084412kB, file-rss:0kB"
        killed_t = START_T + 900
        finding = only(of(freeze().timeline(), log=read(f"{killed_t}00 desk kernel: {kill}")))
        assert finding.cause == Cause.SWAP_THRASHING
        assert finding.end_t == killed_t
        assert "kernel log: oom-kill of python (41031) at 13:15:00" in finding.evidence

    def test_a_victim_that_did_not_grow_is_innocent(self) -> None:
        kill = "Out of memory: Killed process 2210 (firefox) total-vm:9kB, anon-rss:6084412kB, file-rss:0kB"
        found = diagnose(of(freeze().timeline(), log=read(f"{START_T + 700}00 desk kernel: {kill}"))).findings
        assert [finding.cause for finding in found] == [Cause.SWAP_THRASHING, Cause.OOM_KILL]
        assert "python prepare.py (41031) held 56.7 GiB: firefox was killed in its place." in found[1].what

    def test_the_share_of_what_no_process_held_is_not_said_of_a_process_that_is_named(self) -> None:
        lines = (
            "firefox invoked oom-killer: gfp_mask=0x1, order=0, oom_score_adj=0",
            "Mem-Info:",
            " slab_reclaimable:100 slab_unreclaimable:9000000",
            "16777216 pages RAM",
            "Out of memory: Killed process 2210 (firefox) total-vm:9kB, anon-rss:6084412kB, file-rss:0kB",
        )
        log = read(*(f"{START_T + 700}00 desk kernel: {line}" for line in lines))
        killed = diagnose(of(freeze().timeline(), log=log)).findings[1]
        assert "held 56.7 GiB: firefox was killed in its place." in killed.what
        assert killed.why.startswith("34.3 GiB was in ")

    @pytest.mark.parametrize(
        "state",
        [
            pytest.param("rsync           D ffff8800b5a0dcc0     0  5604      1 0x00000000", id="Linux 3.10"),
            pytest.param("rsync           D    0  5604      1 0x00000000", id="Linux 4.15"),
            pytest.param("task:rsync           state:D stack:    0 pid: 5604 ppid:     1 flags:0x0", id="Linux 5.15"),
            pytest.param("task:rsync           state:D stack:0     pid:5604  tgid:5604  ppid:1", id="Linux 6.8"),
        ],
    )
    def test_a_hung_task_of_which_the_first_line_is_missing_has_no_duration(self, state: str) -> None:
        lines = (
            '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
            state,
            "Call Trace:",
            " __schedule+0x2e3/0x740",
            " __alloc_pages_slowpath+0x3f6/0xe00",
        )
        finding = only(of(freeze().timeline(), log=read(*(f"{START_T + 700}00 desk kernel: {line}" for line in lines))))
        assert "kernel log: rsync (5604) blocked" in finding.evidence

    def test_two_records_of_the_same_time_make_one_finding(self) -> None:
        record = freeze()
        assert causes(of(record.timeline(), record.timeline("run 1"))) == [Cause.SWAP_THRASHING]

    def test_where_nobody_was_seen_to_grow_the_biggest_are_told(self) -> None:
        record = Record(job_bytes=58 * GIB, available_bytes=0.3 * GIB).run(10).thrash(60).run(60)
        finding = only(of(record.timeline()))
        assert "no process that was recorded grew enough to be named" in finding.what
        assert "the biggest then: python prepare.py (41031) 58.0 GiB and firefox (2210) 6.0 GiB" in finding.evidence

    def test_nothing_of_a_command_line_but_the_program_is_told(self) -> None:
        assert "SECRET" not in repr(diagnose(of(freeze().timeline())))

    def test_a_reset_in_the_middle_is_told(self) -> None:
        record = Record().run(60).thrash(60)
        record.clock_s = 5.0
        record.t += 200
        found = diagnose(of(record.run(60).timeline()))
        assert any("the record ends here" in text for text in found.findings[0].evidence)
        assert any("why the machine went down at 13:02:00" in text for text in found.not_known)


def test_thrashing_inside_a_limit_is_not_the_machines() -> None:
    record = Record(limits=(Limit("/jobs", 2 * GIB, 2 * GIB),)).run(30).thrash(60)
    finding = only(of(record.timeline()))
    assert finding.cause == Cause.SWAP_THRASHING
    assert "inside the memory limit of /jobs" in finding.what
    assert "the machine had plenty" in finding.why


def test_without_swap_pages_of_programs_go_to_and_fro() -> None:
    record = Record(swap_total_bytes=0, swap_free_bytes=0).run(30)
    record.available_bytes = 200 * MIB
    finding = only(of(record.run(60, stalled=0.5, refaults_s=9000).run(60).timeline()))
    assert (finding.cause, finding.confidence) == (Cause.PAGE_CACHE_CHURN, Confidence.HIGH)
    assert "there is no swap" in finding.why
    assert any("swap or zram" in text for text in finding.advice)


def test_stalls_alone_are_believed_less() -> None:
    finding = only(of(Record().run(30).run(60, stalled=0.5).run(60).timeline()))
    assert (finding.cause, finding.confidence) == (Cause.MEMORY_STALLS, Confidence.MEDIUM)


class TestKills:
    def test_the_one_that_filled_memory(self) -> None:
        found = diagnose(of(log="global-4.15.syslog"))
        (finding,) = found.findings
        assert (finding.cause, finding.confidence) == (Cause.OOM_KILL, Confidence.HIGH)
        assert finding.what == "Memory ran out and the kernel killed python (41031, 65.1 GiB)."
        assert "of 8.0 GiB of swap 0 B was free" in finding.why
        assert "what memory did before: `memwatch record`, kept running, would have shown it" in found.not_known

    def test_the_innocent(self) -> None:
        finding = only(of(log="innocent-5.4.journal"))
        assert "python3 (7712) held 27.5 GiB: chrome was killed in its place." in finding.what
        assert "There was no swap" not in finding.what
        assert "there was no swap" in finding.why
        assert any("oom_score_adj 300" in text for text in finding.evidence)
        assert finding.advice[0].startswith("memwatch run -- python3")

    def test_kills_in_a_row_are_one_story(self) -> None:
        finding = only(of(log="global-6.8.syslog"))
        assert "python3 train.p (5001" in finding.what
        assert "(sd-pam) (5002" in finding.what

    @pytest.mark.parametrize(
        ("log", "where", "limit"),
        [("memcg-6.18.dmesg", "/limited", "100.0 MiB"), ("memcg-4.15.dmesg", "/docker/3f2a9c", "1.0 GiB")],
    )
    def test_a_cgroups_limit(self, log: str, where: str, limit: str) -> None:
        finding = only(of(log=log))
        assert finding.cause == Cause.CGROUP_LIMIT
        assert f"The memory limit of {where} was reached" in finding.what
        assert limit in finding.why

    def test_oomd_takes_a_session_or_a_terminal(self) -> None:
        session = only(of(log="oomd-session.journal"))
        assert session.cause == Cause.OOMD_KILL
        assert session.what == "systemd-oomd killed user@1000.service: the whole session, with everything in it."
        assert "71.07% > 50.00%" in session.why
        assert "a terminal" in only(of(log="oomd-terminal.journal")).what

    def test_earlyoom_and_nohang(self) -> None:
        early = only(of(log="earlyoom.journal"))
        assert early.cause == Cause.DAEMON_KILL
        assert "earlyoom stopped cluster (29410, 23.4 GiB) and electron (11567, 17.0 MiB)" in early.what
        assert "nohang stopped mysqld (903309" in only(of(log="nohang.journal")).what

    def test_memwatch_itself(self) -> None:
        run = Run(
            "r", "python prepare.py", by="guard", stopped_t=NOW_T - 50, ended_t=NOW_T - 48, peak_job_bytes=9 * GIB,
            stop_reason="RAM is full in about 2 s", actions=(("pause", NOW_T - 110), ("stop", NOW_T - 50)),
        )  # fmt: skip
        finding = only(of(runs=(run,)))
        assert finding.cause == Cause.STOPPED_BY_MEMWATCH
        assert finding.what == "memwatch stopped python prepare.py at 9.0 GiB, before memory ran out."
        assert finding.why == "RAM is full in about 2 s."
        assert finding.advice[1].startswith("memwatch diagnose --script prepare.py: ")
        other = only(of(runs=(replace(run, name="java -jar x.jar"),)))
        assert not any("--script" in each for each in other.advice)

    def test_a_stop_after_a_pause_says_why_it_was_paused_at_all(self) -> None:
        run = Run(
            "r", "python prepare.py", by="guard", stopped_t=NOW_T - 50, ended_t=NOW_T - 48,
            first_reason="full in 6 s: the job's 2.0 GiB limit, growing 71 MiB/s",
            stop_reason="Paused for 40 s, and there is still no room.",
        )  # fmt: skip
        why = only(of(runs=(run,))).why
        assert why.startswith("Full in 6 s: the job's 2.0 GiB limit, growing 71 MiB/s; then paused for 40 s")

    def test_a_signal_that_no_log_explains_is_not_known(self) -> None:
        run = Run("r", "python prepare.py", signal=9, pids=frozenset({7}))
        found = diagnose(of(runs=(run,), log=LogEvents(lines=5)))
        assert found.findings == ()
        assert "who sent signal 9 to python prepare.py: no log says so" in found.not_known


def test_a_mixed_log_is_told_apart() -> None:
    """A sandbox died in its container hours before; the machine's memory was python's."""
    found = diagnose(of(log="mixed.journal")).findings
    assert [finding.cause for finding in found] == [Cause.OOM_KILL, Cause.CGROUP_LIMIT]
    assert "python3 (41031" in found[0].what
    assert "sandbox (333" in found[1].what


def test_of_a_run_only_its_own_kills_count() -> None:
    run = Run("r", "python3 prepare.py", pids=frozenset({41031}))
    evidence = replace(of(log="mixed.journal", runs=(run,)), is_of_run=True)
    assert causes(evidence) == [Cause.OOM_KILL]


class TestFreezes:
    def test_a_gap_that_nothing_explains_is_said_to_be_that(self) -> None:
        finding = only(of(Record().run(60).run(90, interval_s=90).run(60).timeline()))
        assert (finding.cause, finding.confidence) == (Cause.UNEXPLAINED_FREEZE, Confidence.LOW)
        assert finding.what == "Nothing could be recorded for 1 min 30 s."
        assert "stalled for memory 0 % of that time" in finding.why

    def test_suspend_is_no_freeze(self) -> None:
        record = Record().run(60)
        record.t += 3600
        found = diagnose(of(record.run(60).timeline()))
        assert found.findings == ()
        assert "a freeze 13:01:00 - 14:01:01 (the machine was suspended, or its clock was set)" in found.ruled_out

    def test_the_disk_and_hung_writers_are_a_dirty_stall(self) -> None:
        record = Record(t=1794837900.0).run(60).run(150, interval_s=150, disk=0.95).run(60)
        finding = only(of(record.timeline(), log="hung-writing-5.15.journal"))
        assert (finding.cause, finding.confidence) == (Cause.DIRTY_STALL, Confidence.HIGH)
        assert any("fsync-heavy (8123) waited to write" in text for text in finding.evidence)
        assert any("vm.dirty_bytes" in text for text in finding.advice)

    def test_the_disk_alone_is_believed_less(self) -> None:
        finding = only(of(Record().run(60).run(150, interval_s=150, disk=0.95).run(60).timeline()))
        assert (finding.cause, finding.confidence) == (Cause.DIRTY_STALL, Confidence.LOW)
        assert "not recorded" in finding.why

    def test_a_job_that_only_reads_a_lot_is_no_freeze(self) -> None:
        assert causes(of(Record().run(60).run(600, disk=0.95).timeline())) == []

    def test_a_processor_without_time(self) -> None:
        finding = only(of(Record().run(60).run(90, interval_s=90, busy_cores=7.9).run(60).timeline()))
        assert (finding.cause, finding.confidence) == (Cause.CPU_SATURATION, Confidence.LOW)

    def test_all_cores_at_work_is_no_freeze(self) -> None:
        assert causes(of(Record().run(600, busy_cores=8.0).timeline())) == []

    def test_hung_tasks_alone(self) -> None:
        assert causes(of(log="hung-writing-5.15.journal")) == [Cause.DIRTY_STALL]
        assert causes(of(log="hung-memory-6.1.journal")) == [Cause.MEMORY_STALLS]
        other = only(of(log=read("[5.0] INFO: task cc1:77 blocked for more than 120 seconds.")))
        assert (other.cause, other.confidence) == (Cause.HUNG_TASKS, Confidence.LOW)

    def test_hung_tasks_of_a_freeze_that_is_explained_are_not_told_twice(self) -> None:
        record = Record(t=1794837880.0).run(60).thrash(120).run(60)
        finding = only(of(record.timeline(), log="hung-memory-6.1.journal"))
        assert finding.cause == Cause.SWAP_THRASHING
        assert any("gnome-shell (1907) blocked" in text for text in finding.evidence)

    def test_a_core_that_is_stuck(self) -> None:
        assert causes(of(log="lockup.journal")) == [Cause.CPU_LOCKUP]

    def test_cores_that_are_short_now(self) -> None:
        assert causes(of(state=well(cpu_some_avg300=88.0))) == [Cause.CPU_SATURATION]
        assert causes(of(log="global-4.15.syslog", state=well(cpu_some_avg300=88.0))) == [Cause.OOM_KILL]


class TestSinceBoot:
    def _state(self, stalled_s: float, uptime_s: float = 9000.0) -> State:
        sample = replace(well().sample, pressure=Pressure(int(stalled_s * 1e6), int(stalled_s * 1e6)))
        return well(sample=replace(sample, paging=Paging(900_000, 900_000, 0, 0)), uptime_s=uptime_s)

    def test_stalls_without_a_record_are_told_without_a_time(self) -> None:
        finding = only(of(state=self._state(252)))
        assert (finding.cause, finding.confidence) == (Cause.MEMORY_STALLS, Confidence.LOW)
        assert (finding.start_t, finding.end_t) == (None, None)
        assert "4 min 12 s in all" in finding.what
        assert any("memwatch record" in text for text in finding.advice)

    def test_a_little_over_months_is_nothing(self) -> None:
        assert causes(of(state=self._state(252, uptime_s=60 * 86400.0))) == []
        assert causes(of(state=self._state(5))) == []

    def test_what_a_record_explains_is_not_told_again(self) -> None:
        assert causes(of(freeze().timeline(), state=self._state(252))) == [Cause.SWAP_THRASHING]


class TestCards:
    def test_a_card_that_fell_off(self) -> None:
        found = diagnose(of(log="xid-79.journal"))
        assert found.findings[0].cause == Cause.GPU_XID
        assert "fallen off the bus: power, heat" in found.findings[0].why
        assert not any("GPU" in text for text in found.ruled_out)

    def test_a_program_at_fault(self) -> None:
        finding = only(of(log="xid-31.journal"))
        assert "while python ran on it" in finding.what
        assert "Xid 31" in finding.why
        assert "Xid 45" not in finding.why  # It only says that another came before.
        assert "compute-sanitizer" in finding.advice[0]

    def test_memory_of_the_card(self) -> None:
        assert causes(of(log="gpu-full.journal")) == [Cause.GPU_MEMORY]
        run = Run(
            "r", "python train.py", ended_t=NOW_T - 9, gpu_full_words="torch.OutOfMemoryError: CUDA out of memory."
        )
        finding = only(of(runs=(run,)))
        assert (finding.cause, finding.confidence) == (Cause.GPU_MEMORY, Confidence.HIGH)
        assert "does not freeze the machine" in finding.why

    def test_a_full_card_at_which_nobody_fails_is_no_finding_and_not_ruled_out(self) -> None:
        full = Gpu(0, "card", used_fraction=0.99, memory_used_bytes=int(11.9 * GIB), memory_total_bytes=12 * GIB)
        found = diagnose(of(Record(gpus=(full,)).run(60).timeline()))
        assert found.findings == ()
        assert not any("GPU" in text for text in found.ruled_out)

    def test_a_card_nobody_looked_at_is_not_ruled_out(self) -> None:
        assert not any("GPU" in text for text in diagnose(of(log="global-4.15.syslog")).ruled_out)

    def test_no_card_is_ruled_out(self) -> None:
        state = well(sample=replace(well().sample, gpus=()))
        assert "GPU (there is none)" in diagnose(of(state=state)).ruled_out


class TestDisks:
    def test_a_disk_that_is_full_now(self) -> None:
        finding = only(of(state=well(disks=(Disk("/home", 9 * MIB, 900 * GIB), Disk("/", 212 * GIB, 900 * GIB)))))
        assert finding.cause == Cause.DISK_FULL
        assert "/home (9.0 MiB free)" in finding.what

    def test_a_disk_that_was_full_then(self) -> None:
        assert causes(of(Record(disk_free_bytes=4096).run(60).timeline())) == [Cause.DISK_FULL]

    def test_a_program_that_said_so(self) -> None:
        run = Run("r", "python x.py", disk_full_words="OSError: [Errno 28] No space left on device")
        assert causes(of(runs=(run,))) == [Cause.DISK_FULL]
        assert causes(of(log=read("[5.0] loop: write error: No space left on device"))) == [Cause.DISK_FULL]


def test_what_is_older_than_asked_for_is_left_out() -> None:
    evidence = of(log="mixed.journal")
    assert causes(replace(evidence, start_t=1794839000.0)) == [Cause.OOM_KILL]
    assert causes(replace(evidence, end_t=1794839000.0)) == [Cause.CGROUP_LIMIT]


def test_the_surest_comes_first() -> None:
    record = Record().run(60).run(90, interval_s=90).run(60)
    found = diagnose(of(record.timeline(), log="global-4.15.syslog")).findings
    assert [finding.confidence for finding in found] == [Confidence.HIGH, Confidence.LOW]
