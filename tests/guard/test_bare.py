"""Every case is run twice, bare and under `memwatch run`, and must come out the same (docs/DIFFERENCES.md)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.guard.processes import children, command_of, send, state_of, wait_until
from tests.helpers import HANG_S

BARE: tuple[str, ...] = ()
NONE = (sys.executable, "-m", "memwatch", "run", "--ui", "none", "--no-record", "--")
PLAIN = (sys.executable, "-m", "memwatch", "run", "--ui", "plain", "--no-record", "--")
ways = pytest.mark.parametrize("way", [NONE, PLAIN], ids=["none", "plain"])


@contextmanager
def started(way: tuple[str, ...], *command: object, **options: object) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen([*way, *map(str, command)], **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        job = job_of(process.pid, way)
        for pid in [*([] if job is None else [job]), process.pid]:
            send(pid, signal.SIGKILL)
            send(pid, signal.SIGCONT)
        process.wait(HANG_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def job_of(pid: int, way: tuple[str, ...]) -> int | None:
    """The job's own pid, if it runs already."""
    if not way:
        return pid
    for guard in children(pid):
        for child in children(guard)[1:]:
            return child
    return None


def found(way: tuple[str, ...], launch: str) -> dict[str, object]:
    """What a job was started with when `launch` runs it, as the kernel knows it."""
    job = ("sleep", "1000")
    with started((), "bash", "-c", launch, "bash", *way, *job, stdin=subprocess.DEVNULL) as process:
        wait_until(lambda: command_of(job_of(process.pid, way) or 0) == [*job], "the job runs")
        wait_until(lambda: state_of(job_of(process.pid, way) or 0) == "S", "it has loaded its libraries, and sleeps")
        proc = Path(f"/proc/{job_of(process.pid, way)}")
        variables = (proc / "environ").read_bytes().split(b"\0")
        session_and_terminal = (proc / "stat").read_text().rpartition(")")[2].split()[3:5]
        facts: dict[str, object] = {
            "descriptors": {fd.name: os.readlink(fd) for fd in (proc / "fd").iterdir()},
            "status": [line for line in (proc / "status").read_text().splitlines() if line.startswith(STATUS)],
            "limits": (proc / "limits").read_text(),
            # The shell writes the name of the program that it starts into _.
            "environment": sorted(v for v in variables if not v.startswith((b"_=", b"MEMWATCH_CHANNEL="))),
            "folder": os.readlink(proc / "cwd"),
            "session and terminal": session_and_terminal,
        }
        send(job_of(process.pid, way) or 0, signal.SIGKILL)
    return facts


STATUS = ("Umask", "Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "CapInh", "CapEff", "CapBnd", "SigIgn", "SigBlk",
          "SigCgt", "SigPnd", "ShdPnd", "Cpus_allowed", "CoreDumping", "THP_enabled")  # fmt: skip


@ways
@pytest.mark.parametrize(
    "launch",
    [
        pytest.param('exec "$@"', id="as it is"),
        pytest.param('exec "$@" <&-', id="stdin closed"),
        pytest.param('exec "$@" >&-', id="stdout closed"),
        pytest.param('exec "$@" 2>&-', id="stderr closed"),
        pytest.param('exec "$@" <&- >&- 2>&-', id="all closed"),
        pytest.param('exec "$@" </dev/zero >/dev/full', id="files"),
        pytest.param('exec "$@" 7</dev/zero 23>/dev/full', id="more descriptors"),
        pytest.param("""trap '' HUP INT QUIT USR1 ALRM CHLD TSTP RTMIN WINCH; exec "$@" """, id="ignored signals"),
        pytest.param('exec env --block-signal=USR1,TERM,CHLD,TSTP,RTMIN "$@"', id="blocked signals"),
        pytest.param('umask 077; cd /; exec "$@"', id="umask and folder"),
        pytest.param('ulimit -n 99; ulimit -c 0; ulimit -t 1000; exec "$@"', id="limits"),
        pytest.param('ulimit -S -n 99; exec "$@"', id="soft-limit-of-open-files"),
        pytest.param('exec env -i PATH="$PATH" "$@"', id="empty environment"),
        pytest.param('exec env A= "B=a b\nc" LC_ALL=C "$@"', id="odd environment"),
    ],
)
def test_a_job_finds_what_it_would_find(launch: str, way: tuple[str, ...]) -> None:
    assert found(way, launch) == found(BARE, launch)


def test_a_file_in_the_current_folder_is_not_loaded_by_the_guard(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("open('loaded', 'w')")
    command = [str(Path(sys.executable).with_name("memwatch")), *NONE[3:], "true"]
    assert subprocess.run(command, cwd=tmp_path, timeout=HANG_S).returncode == 0
    assert not (tmp_path / "loaded").exists()


# --- streams -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [BARE, NONE, PLAIN], ids=["bare", "none", "plain"])
def test_the_reader_sees_the_end_of_file_while_the_job_lives_on(way: tuple[str, ...], tmp_path: Path) -> None:
    script = f"echo out; exec >&-; while ! [ -e {tmp_path}/seen ]; do sleep 0.02; done; exit 7"
    with started(way, "sh", "-c", script, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"out\n"  # Which ends only with the end of file.
        (tmp_path / "seen").touch()
        assert process.wait(HANG_S) == 7


@pytest.mark.parametrize("way", [BARE, NONE], ids=["bare", "none"])
def test_with_both_streams_in_one_pipe_too(way: tuple[str, ...], tmp_path: Path) -> None:
    """Not with plain lines: they are written to standard error until the job's end."""
    script = f"echo out; exec >&- 2>&-; while ! [ -e {tmp_path}/seen ]; do sleep 0.02; done; exit 7"
    with started(way, "sh", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"out\n"
        (tmp_path / "seen").touch()
        assert process.wait(HANG_S) == 7


@pytest.mark.parametrize("way", [BARE, NONE, PLAIN], ids=["bare", "none", "plain"])
def test_the_writer_gets_sigpipe_while_the_job_lives_on(way: tuple[str, ...], tmp_path: Path) -> None:
    script = f"exec <&-; touch {tmp_path}/closed; while ! [ -e {tmp_path}/seen ]; do sleep 0.02; done; exit 7"
    with started(way, "sh", "-c", script, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        wait_until((tmp_path / "closed").exists)

        def is_broken() -> bool:
            try:
                os.write(process.stdin.fileno(), b"x")  # type: ignore[union-attr]
            except BrokenPipeError:
                return True
            return False

        wait_until(is_broken, "the pipe breaks")
        (tmp_path / "seen").touch()
        assert process.wait(HANG_S) == 7


@pytest.mark.parametrize("way", [BARE, NONE, PLAIN], ids=["bare", "none", "plain"])
def test_other_descriptors_are_the_jobs_alone(way: tuple[str, ...], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    script = f"exec {writer}>&-; while ! [ -e {tmp_path}/seen ]; do sleep 0.02; done; exit 7"
    with started(way, "bash", "-c", script, pass_fds=[writer]) as process:
        os.close(writer)
        assert os.read(reader, 1) == b""
        (tmp_path / "seen").touch()
        assert process.wait(HANG_S) == 7
    os.close(reader)


@ways
@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param("yes | {} head -1", id="reads one line"),
        pytest.param("{} yes | head -1", id="writes one line"),
        pytest.param("{} sh -c 'yes; echo $? >&2' 2>/dev/null | head -1", id="its child dies of SIGPIPE"),
        pytest.param("{} cat < /dev/null", id="reads nothing"),
        pytest.param("echo one | {} cat - <(echo two)", id="a substitution"),
        pytest.param("{} cat <&-", id="reads a closed stream"),
        pytest.param("{} env echo x > /dev/full", id="writes to a full device"),
        pytest.param("{} sh -c 'echo one; echo two >&2; exit 3' 2>&1", id="both streams"),
    ],
)
def test_a_pipeline_gives_the_same(pipeline: str, way: tuple[str, ...]) -> None:
    def outcome(prefix: tuple[str, ...]) -> tuple[bytes, str]:
        script = pipeline.format(" ".join(prefix)) + '; echo "${PIPESTATUS[@]}"'
        done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=HANG_S)
        return done.stdout, done.stderr.decode()

    assert outcome(way) == outcome(BARE)


# --- signals -------------------------------------------------------------------------------------------------------

CATCH_ALL = """
import signal, sys
everything = signal.valid_signals()
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
open(sys.argv[1], "w").close()
while True:
    number = signal.sigwait(everything)
    print(int(number), flush=True)
    if number == signal.SIGTERM:
        break
"""
CANNOT_BE_CAUGHT = {signal.SIGKILL, signal.SIGSTOP}


@pytest.mark.parametrize("way", [BARE, NONE, PLAIN], ids=["bare", "none", "plain"])
def test_every_signal_reaches_the_job(way: tuple[str, ...], tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    with started(way, sys.executable, "-c", CATCH_ALL, ready, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        wait_until(ready.exists)
        for number in sorted(signal.valid_signals() - CANNOT_BE_CAUGHT - {signal.SIGTERM}):
            send(process.pid, number)
            assert int(process.stdout.readline()) == number
        send(process.pid, signal.SIGTERM)
        assert process.stdout.read().split() == [b"15"]
        assert process.wait(HANG_S) == 0


DEADLY = [
    *("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM"),
    *("STKFLT", "XCPU", "XFSZ", "VTALRM", "PROF", "IO", "PWR", "SYS", "RTMIN", "RTMAX"),
]


@pytest.mark.parametrize("names", [DEADLY[:8], DEADLY[8:16], DEADLY[16:]], ids=" ".join)
def test_a_job_dies_of_every_deadly_signal(names: list[str], tmp_path: Path) -> None:
    """Bare, the parent sees the signal; memwatch returns 128 + its number, as a shell shows both."""
    script = f"ulimit -c 0; touch {tmp_path}/$0; exec sleep 1000"
    codes = {}
    running = {name: subprocess.Popen([*NONE, "sh", "-c", script, name]) for name in names}
    for name, process in running.items():
        wait_until((tmp_path / name).exists)
        job = job_of(process.pid, NONE)
        assert job is not None
        wait_until(lambda: b"sleep" in Path(f"/proc/{job}/cmdline").read_bytes())  # noqa: B023
        send(process.pid, getattr(signal, f"SIG{name}"))
        codes[name] = process.wait(HANG_S)
    assert codes == {name: 128 + getattr(signal, f"SIG{name}") for name in names}


@pytest.mark.parametrize("way", [BARE, NONE, PLAIN], ids=["bare", "none", "plain"])
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP], ids=lambda number: number.name)
def test_a_stopped_memwatch_is_a_stopped_job(number: signal.Signals, way: tuple[str, ...], tmp_path: Path) -> None:
    """Bare and guarded, stopped and continued by the only pid that the caller knows."""
    script = f"trap 'exit 5' USR1; touch {tmp_path}/ready; while :; do sleep 0.02; done"
    # In a group of its own that is not orphaned: the kernel ignores SIGTSTP in others.
    with started(way, "sh", "-c", script, process_group=0) as process:
        wait_until((tmp_path / "ready").exists)
        job = job_of(process.pid, way)
        assert job is not None
        for _ in range(3):
            send(process.pid, number)
            wait_until(lambda: state_of(process.pid) == "T" and state_of(job) == "T", "both are stopped")
            send(process.pid, signal.SIGCONT)
            wait_until(lambda: "T" not in (state_of(process.pid), state_of(job)), "both go on")
        send(process.pid, signal.SIGUSR1)
        assert process.wait(HANG_S) == 5


def stopped_by(pid: int) -> int:
    """Wait for a child to stop; the signal that stopped it."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    return os.WSTOPSIG(status)


@pytest.mark.parametrize("way", [BARE, NONE, PLAIN, (*NONE, *NONE)], ids=["bare", "none", "plain", "nested"])
@pytest.mark.parametrize("name", ["STOP", "TSTP"])
def test_a_job_that_stops_itself_is_seen_stopped_and_goes_on(name: str, way: tuple[str, ...]) -> None:
    script = f"kill -{name} $$; exit 6"
    with started(way, "sh", "-c", script, process_group=0) as process:
        assert stopped_by(process.pid) == getattr(signal, f"SIG{name}")
        send(process.pid, signal.SIGCONT)
        assert process.wait(HANG_S) == 6


@pytest.mark.parametrize("way", [NONE, (*NONE, *NONE)], ids=["none", "nested"])
@pytest.mark.parametrize("number", [signal.SIGCONT, signal.SIGKILL], ids=lambda number: number.name)
def test_memwatch_goes_on_when_its_stopped_job_is_continued_or_killed_by_another(
    number: signal.Signals, way: tuple[str, ...], tmp_path: Path
) -> None:
    script = f"echo $$ > {tmp_path}/pid; kill -STOP $$; exit 6"
    with started(way, "sh", "-c", script, process_group=0) as process:
        stopped_by(process.pid)
        send(int((tmp_path / "pid").read_text()), number)
        assert process.wait(HANG_S) == (6 if number == signal.SIGCONT else 137)


@pytest.mark.parametrize("way", [BARE, NONE], ids=["bare", "none"])
def test_ctrl_z_is_ignored_where_no_shell_looks_after_it(way: tuple[str, ...]) -> None:
    """In an orphaned process group the kernel does not stop on SIGTSTP, because nobody would continue it."""
    with started(way, "sh", "-c", "sleep 0.3; kill -TSTP $$; exit 6", start_new_session=True) as process:
        assert process.wait(HANG_S) == 6


# --- death of the front --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [BARE, NONE, PLAIN, (*NONE, *PLAIN)], ids=["bare", "none", "plain", "nested"])
def test_a_timeout_of_subprocess_ends_the_job(way: tuple[str, ...], tmp_path: Path) -> None:
    with started(
        way, "sh", "-c", f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 1000"
    ) as job:
        wait_until((tmp_path / "pid").exists)
        pid = int((tmp_path / "pid").read_text())
        job.kill()  # As subprocess.run does at its timeout.
        assert job.wait(HANG_S) == -signal.SIGKILL
        wait_until(lambda: state_of(pid) is None, "the job ends")


@ways
def test_the_children_of_a_job_whose_front_is_killed_end_too_but_not_a_daemon(
    way: tuple[str, ...], tmp_path: Path
) -> None:
    """Bare, a child would live on; under memwatch it would live on without its guard."""
    script = (
        f"sleep 1000 & echo $! > {tmp_path}/child\nsetsid sh -c 'echo $$ > {tmp_path}/daemon; exec sleep 1000' & wait"
    )
    with started(way, "sh", "-c", script) as process:
        names = ("child", "daemon")
        wait_until(lambda: all((tmp_path / n).exists() and (tmp_path / n).read_text().strip() for n in names))
        child, daemon = (int((tmp_path / name).read_text()) for name in names)
        guard = children(process.pid)[0]
        process.kill()
        try:
            wait_until(lambda: state_of(child) is None, "the child ends")
            wait_until(lambda: state_of(guard) is None, "the guard ends")
            assert state_of(daemon) is not None
        finally:
            send(daemon, signal.SIGKILL)


# --- without the guard ---------------------------------------------------------------------------------------------


def test_without_its_guard_the_front_still_passes_signals_on_and_stops_with_the_job(tmp_path: Path) -> None:
    script = f"trap 'kill -STOP $$' USR1; trap 'exit 9' ALRM; touch {tmp_path}/ready; while :; do sleep 0.02; done"
    with started(NONE, "sh", "-c", script, process_group=0) as process:
        wait_until((tmp_path / "ready").exists)
        guard, job = children(process.pid)[0], job_of(process.pid, NONE)
        assert job is not None
        send(guard, signal.SIGKILL)
        wait_until(lambda: job in children(process.pid), "the front inherits the job")
        wait_until(lambda: state_of(guard) is None)
        time.sleep(0.1)
        send(process.pid, signal.SIGUSR1)
        assert stopped_by(process.pid) == signal.SIGSTOP
        assert state_of(job) == "T"
        send(process.pid, signal.SIGCONT)
        wait_until(lambda: state_of(job) != "T", "the job goes on")
        send(process.pid, signal.SIGALRM)
        assert process.wait(HANG_S) == 9


# --- what a job leaves behind ---------------------------------------------------------------------------------------


def test_what_a_job_leaves_behind_gets_its_rank_back(tmp_path: Path) -> None:
    script = (
        f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 1000' >/dev/null 2>&1 </dev/null &"
        f"while ! [ -s {tmp_path}/pid ]; do sleep 0.02; done"
    )

    def rank(pid: int) -> tuple[str, int, str]:
        io = subprocess.run(["ionice", "-p", str(pid)], capture_output=True, text=True).stdout
        return Path(f"/proc/{pid}/oom_score_adj").read_text(), os.getpriority(os.PRIO_PROCESS, pid), io

    assert subprocess.run([*NONE, "sh", "-c", script], timeout=HANG_S).returncode == 0
    pid = int((tmp_path / "pid").read_text())
    try:
        assert rank(pid) == rank(os.getpid())
        assert [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()] == ["/dev/null"] * 3
    finally:
        send(pid, signal.SIGKILL)
