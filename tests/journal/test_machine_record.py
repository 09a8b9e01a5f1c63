"""The machine's record as it is kept: a ring of segments that outlives crashes, full disks and clocks."""

import gzip
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from memwatch.errors import MemwatchError
from memwatch.journal.machine_record import KEPT_BYTES, MachineLog, pack
from memwatch.journal.record_files import read_machine_events, record_files
from memwatch.model.units import KIB
from tests.helpers import HANG_S
from tests.journal.examples import fill, sample

IMPORTS = "from memwatch.journal.machine_record import MachineLog\nfrom tests.journal.examples import sample\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "memwatch" / "machine"


def opened(**options: Any) -> MachineLog:
    return MachineLog(["memwatch", "record"], {"interval_s": 5.0}, **options)


def fill_segments(log: MachineLog, count: int, first_t: float = 1000.0) -> int:
    """Gives back how many samples that took."""
    turned = number = 0
    while turned < count:
        log.journal.sample(sample(first_t + number))
        number += 1
        turned += log.turn()
    return number


def times() -> list[float]:
    return [float(str(event["t"])) for event in read_machine_events() if event["event"] == "sample"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "lock")


def test_segments_follow_each_other_and_read_as_one(folder: Path) -> None:
    log = opened(file_bytes=4 * KIB)
    count = fill_segments(log, 3)
    assert len(names(folder)) == 4
    log.tidy()
    assert [name.rpartition(".")[2] for name in names(folder)] == ["gz", "gz", "gz", "jsonl"]
    log.close()
    assert times() == [1000.0 + number for number in range(count)]


def test_every_segment_says_who_wrote_it_and_how_often(folder: Path) -> None:
    log = opened(file_bytes=4 * KIB)
    fill_segments(log, 2)
    log.close()
    starts = [event for event in read_machine_events() if event["event"] == "start"]
    assert [start["continued"] for start in starts] == [False, True, True]
    assert all(start["limits"] == {"interval_s": 5.0} for start in starts)
    assert len({start["run"] for start in starts}) == 3


def test_the_record_is_for_its_owner_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        log = opened(file_bytes=4 * KIB)
        fill_segments(log, 1)
        log.tidy()
        log.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_the_oldest_make_room_for_the_newest(folder: Path) -> None:
    log = opened(file_bytes=4 * KIB)
    count = fill_segments(log, 40)
    log.tidy(kept_bytes=12 * KIB)
    log.close()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 12 * KIB
    kept = times()
    assert kept == [1000.0 + number for number in range(count - len(kept), count)]
    assert 0 < len(kept) < count


def test_the_cap_holds_at_any_moment_between_two_tidyings(folder: Path) -> None:
    log = opened(file_bytes=4 * KIB)
    most = 0
    for _ in range(20):
        fill_segments(log, 1)
        log.tidy(kept_bytes=16 * KIB)
        most = max(most, sum(path.stat().st_size for path in folder.iterdir()))
    log.close()
    # A segment may go over its size by one line, and is plain until it is packed.
    assert most <= 16 * KIB
    assert KEPT_BYTES == 200_000_000


def test_what_is_older_than_a_week_goes(folder: Path) -> None:
    log = opened(file_bytes=4 * KIB)
    fill_segments(log, 3)
    log.tidy()
    oldest = folder / names(folder)[0]
    eight_days_ago = time.time() - 8 * 86400
    os.utime(oldest, (eight_days_ago, eight_days_ago))
    log.tidy()
    log.close()
    assert not oldest.exists()
    assert len(names(folder)) == 3


def test_packing_keeps_every_byte_and_the_time(folder: Path) -> None:
    log = opened(file_bytes=64 * KIB)
    fill_segments(log, 1)
    first = record_files(str(folder))[0]
    plain = Path(first.path).read_bytes()
    pack(first)
    (packed,) = folder.glob("*.gz")
    assert gzip.decompress(packed.read_bytes()) == plain
    assert packed.stat().st_mtime == pytest.approx(first.written_t, abs=1e-3)
    assert packed.stat().st_size * 5 < len(plain)
    assert not Path(first.path).exists()
    log.close()


def test_a_crash_while_packing_costs_nothing(folder: Path) -> None:
    log = opened(file_bytes=4 * KIB)
    count = fill_segments(log, 2)
    plain = [Path(segment.path) for segment in record_files(str(folder))]
    # One was half packed, one was packed and not yet removed.
    plain[0].with_name(plain[0].name + ".gz.tmp").write_bytes(b"\x1f\x8b half")
    whole = plain[1].read_bytes()
    plain[1].with_name(plain[1].name + ".gz").write_bytes(gzip.compress(whole))
    expected = [1000.0 + number for number in range(count)]
    assert times() == expected
    log.tidy()
    assert times() == expected
    assert [name.rpartition(".")[2] for name in names(folder)] == ["gz", "gz", "jsonl"]
    log.close()


def test_what_is_not_ours_is_left_alone(folder: Path) -> None:
    log = opened(file_bytes=4 * KIB)
    (folder / "notes.txt").write_text("precious")
    (folder / "holiday.jsonl").write_text("precious")
    (folder / "000000-20200101-000000.jsonl").symlink_to(folder / "notes.txt")
    fill_segments(log, 5)
    log.tidy(kept_bytes=1, kept_s=0)
    log.close()
    assert (folder / "notes.txt").read_text() == (folder / "holiday.jsonl").read_text() == "precious"


def test_one_recorder_for_one_user(folder: Path) -> None:
    log = opened()
    with pytest.raises(MemwatchError, match=f"another memwatch record of yours is running, process {os.getpid()}"):
        opened()
    log.close()
    opened().close()


def test_a_lock_outlives_nobody(folder: Path) -> None:
    """However the recorder dies, the next one may begin, and continues the numbers."""
    script = (
        f"{IMPORTS}log = MachineLog(['memwatch', 'record'], {{}})\n"
        "log.journal.sample(sample(1000.0))\nprint(flush=True)\ninput()"
    )
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            with pytest.raises(MemwatchError, match=str(other.pid)):
                opened()
            other.kill()
    opened().close()
    assert [file.number for file in record_files(str(folder))] == [1, 2, 3]


def test_killed_at_any_moment_at_most_the_last_line_is_torn(folder: Path) -> None:
    script = (
        f"{IMPORTS}log = MachineLog(['memwatch', 'record'], {{}}, file_bytes=16384)\nt = 0.0\n"
        "while True:\n    t += 1\n    log.journal.sample(sample(t))\n    log.turn() and log.tidy()\n"
        "    t == 1 and print(flush=True)\n"
    )
    for kill in range(4):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            time.sleep(0.05 + 0.07 * kill)
            other.kill()
        runs: list[list[float]] = []
        for event in read_machine_events():
            if event["event"] == "start" and not event["continued"]:
                runs.append([])
            elif event["event"] == "sample":
                runs[-1].append(float(str(event["t"])))
        assert len(runs) == kill + 1
        assert all(run == [float(number) for number in range(1, len(run) + 1)] for run in runs)
        assert runs[-1]


def test_a_line_torn_by_a_reset_spoils_no_other(folder: Path) -> None:
    log = opened()
    log.journal.sample(sample(1.0))
    log.close()
    (segment,) = folder.glob("*.jsonl")
    with segment.open("ab") as file:
        file.write(b'{"t":2.0,"event":"sam')
    log = opened()
    log.journal.sample(sample(3.0))
    log.close()
    assert times() == [1.0, 3.0]


def test_a_packed_segment_that_lost_its_end_is_read_as_far_as_it_goes(folder: Path) -> None:
    log = opened(file_bytes=64 * KIB)
    count = fill_segments(log, 1)
    log.tidy()
    log.journal.sample(sample(9e6))
    log.close()
    (packed,) = folder.glob("*.gz")
    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2])
    read = times()
    assert 1 < len(read) < count
    assert read[-1] == 9e6
    packed.write_bytes(b"not gzip at all")
    assert times() == [9e6]


def test_a_clock_set_back_changes_neither_the_order_nor_what_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(file_bytes=4 * KIB)
    monkeypatch.setattr(time, "time", lambda: 1e9)
    monkeypatch.setattr(time, "gmtime", lambda: time.struct_time((1999, 1, 1, 0, 0, 0, 0, 1, 0)))
    first = fill_segments(log, 2, first_t=2000.0)
    second = fill_segments(log, 2, first_t=1000.0)
    log.tidy()
    log.close()
    assert times() == [2000.0 + n for n in range(first)] + [1000.0 + n for n in range(second)]


def test_a_part_of_the_time_can_be_asked_for(folder: Path) -> None:
    log = opened(file_bytes=4 * KIB)
    fill_segments(log, 3)
    log.tidy()
    log.close()
    asked = [event["t"] for event in read_machine_events(1003.0, 1005.0)]
    assert asked == [1003.0, 1004.0, 1005.0]
    assert list(read_machine_events(since_t=time.time() + 2 * 86400)) == []
    assert [event["event"] for event in read_machine_events(until_t=0.0)] == []


def test_where_nothing_was_recorded_there_is_nothing_to_read(folder: Path) -> None:
    assert list(read_machine_events()) == []
    assert not folder.exists()


def test_a_full_disk_is_told_and_tried_again(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(disk))
    log = opened(file_bytes=32 * KIB)
    fill_segments(log, 1)
    ballast = fill(disk)
    number = 0
    while log.journal.problem is None:
        log.journal.sample(sample(5000.0 + number))
        number += 1
    assert "No space left" in log.journal.problem
    log.tidy()  # There is no room to pack either: nothing is lost, nothing is left half.
    assert all(name.endswith(".jsonl") for name in names(disk / "memwatch" / "machine"))
    ballast.unlink()
    log.close()
    again = opened()
    again.tidy()
    again.journal.sample(sample(6000.0))
    again.close()
    assert times()[-1] == 6000.0
    assert any(name.endswith(".gz") for name in names(disk / "memwatch" / "machine"))


def test_a_week_is_read_without_holding_it(folder: Path) -> None:
    log = opened(file_bytes=256 * KIB)
    count = fill_segments(log, 12)
    log.tidy()
    log.close()
    script = (
        "from memwatch.journal.record_files import read_machine_events\n"
        "count = sum(1 for event in read_machine_events() if event['event'] == 'sample')\n"
        "print(count, open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=HANG_S, check=True)
    read, peak_kib = map(int, done.stdout.split())
    assert read == count
    assert peak_kib < 24 * 1024
