"""Whatever is wrong with what a user gives: one sentence, the right exit code, and nothing half-made."""

import gzip
import json
import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memwatch.command_line import invoke
from memwatch.tokenize.command import tokenize as tokenize_command
from tests.helpers import Finished, error_of, memwatch

Run = Callable[..., Finished]


def _missing(folder: Path) -> Path:
    return folder / "none.txt"


def _folder(folder: Path) -> Path:
    (folder / "texts").mkdir()
    return folder / "texts"


def _empty(folder: Path) -> Path:
    (folder / "empty.txt").touch()
    return folder / "empty.txt"


def _empty_gzip(folder: Path) -> Path:
    (folder / "empty.gz").write_bytes(gzip.compress(b""))
    return folder / "empty.gz"


def _rubbish(folder: Path) -> Path:
    (folder / "photo.jpg").write_bytes(bytes(range(256)) * 40)
    return folder / "photo.jpg"


def _utf16(folder: Path) -> Path:
    (folder / "windows.txt").write_text("some text", encoding="utf-16")
    return folder / "windows.txt"


def _cut_gzip(folder: Path) -> Path:
    packed = gzip.compress(os.urandom(30_000).hex().encode())
    (folder / "cut.txt.gz").write_bytes(packed[: len(packed) // 2])
    return folder / "cut.txt.gz"


def _broken_gzip(folder: Path) -> Path:
    packed = bytearray(gzip.compress(b"some words " * 50_000))
    packed[len(packed) // 2] ^= 0xFF
    (folder / "broken.gz").write_bytes(packed)
    return folder / "broken.gz"


def _cut_zstd(folder: Path) -> Path:
    from backports import zstd

    packed = zstd.compress(os.urandom(30_000).hex().encode())
    (folder / "cut.zst").write_bytes(packed[: len(packed) // 2])
    return folder / "cut.zst"


def _broken_parquet(folder: Path) -> Path:
    path = folder / "broken.parquet"
    pq.write_table(pa.table({"text": ["some text"] * 1000}), path)
    path.write_bytes(path.read_bytes()[:-20])
    return path


def _not_parquet(folder: Path) -> Path:
    (folder / "not.parquet").write_text("just text")
    return folder / "not.parquet"


def _no_column(folder: Path) -> Path:
    pq.write_table(pa.table({"body": ["some text"]}), folder / "other.parquet")
    return folder / "other.parquet"


def _numbers(folder: Path) -> Path:
    pq.write_table(pa.table({"text": [1, 2, 3]}), folder / "numbers.parquet")
    return folder / "numbers.parquet"


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _lines(*lines: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "a.jsonl").write_text("".join(line + "\n" for line in lines))
        return folder / "a.jsonl"

    return write


GOOD = '{"text": "fine"}'


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(_missing, "No such file", id="missing file"),
        pytest.param(_folder, "is a folder", id="folder"),
        pytest.param(_pipe, "is not a regular file", id="pipe that nobody writes to"),
        pytest.param(_empty, "is empty", id="empty file"),
        pytest.param(_empty_gzip, "is empty", id="empty gzip"),
        pytest.param(_rubbish, "does not look like text", id="binary rubbish"),
        pytest.param(_utf16, "is UTF-16", id="utf-16"),
        pytest.param(_cut_gzip, "is the download complete?", id="truncated gzip"),
        pytest.param(_broken_gzip, "is damaged: cannot unpack it before byte", id="broken gzip"),
        pytest.param(_cut_zstd, "is the download complete?", id="truncated zstd"),
        pytest.param(_broken_parquet, "broken or not a parquet file", id="broken parquet"),
        pytest.param(_not_parquet, "named like a parquet file", id="no parquet at all"),
        pytest.param(_no_column, "name one of body with --text-column", id="no such column"),
        pytest.param(_numbers, "holds int64, not text", id="column of numbers"),
        pytest.param(_lines(GOOD, '{"body": "x"}'), "line 2 of", id="record without the field"),
        pytest.param(_lines(GOOD, GOOD, '{"text": '), "line 3 of", id="record that is not JSON"),
        pytest.param(_lines(GOOD, '{"text": 5}'), "that is not text", id="field that is not text"),
        pytest.param(_lines(GOOD, "[1, 2]"), "is not a JSON object", id="record that is a list"),
    ],
)
def test_bad_input_ends_in_one_sentence(
    make: Callable[[Path], Path], words: str, tokenize: Run, tmp_path: Path
) -> None:
    path = make(tmp_path)
    done = tokenize(path, "--out", tmp_path / "out")
    assert done.code == 1, done.err
    assert words in error_of(done)
    assert path.name in error_of(done)
    finished = [p for p in (tmp_path / "out").glob("*") if ".memwatch-partial" not in p.name]
    assert finished == []


def test_a_line_is_named_by_its_number_far_into_the_file(tokenize: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text((GOOD + "\n") * 100_000 + "oops\n" + GOOD + "\n")
    done = tokenize(path, "--block-size", "64k")
    assert f"line 100001 of {path} is not JSON" in error_of(done)


def test_bytes_that_are_not_utf8_are_named_by_their_offset_under_strict(tokenize: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"some words " * 100_000 + b"\xff" + b" and more" * 1000)
    done = tokenize(path, "--errors", "strict", "--block-size", "64k")
    assert done.code == 1
    assert "at byte 1100000 has bytes that are not UTF-8 (ff)" in error_of(done)


def test_rubbish_is_taken_when_asked_for(tokenize: Run, tmp_path: Path) -> None:
    assert tokenize(_rubbish(tmp_path), "--errors", "ignore").code == 0


def test_a_record_that_is_too_long_is_refused(tokenize: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + "\n" + json.dumps({"text": "x" * (17 << 20)}) + "\n")
    done = tokenize(path)
    assert done.code == 1
    assert "a record larger than 16.0 MiB" in error_of(done)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--encoding", "gpt5"), "unknown encoding 'gpt5'"),
        (("--val-ratio", "2"), "at least 0 and less than 1"),
        (("--val-ratio", "some"), "is not a ratio"),
        (("--max-memory", "lots"), "is not a size"),
        (("--max-memory", "10M"), "give at least 204.0 MiB"),
        (("--workers", "9", "--max-memory", "512M"), "is too small for 9 workers"),
        (("--workers", "0"), "not a number of workers"),
        (("--shard-tokens", "0"), "too small"),
        (("--documents", ""), "cannot be empty"),
        (("--mode", "fast"), "is not one of"),
        (("--nonsense",), "No such option"),
    ],
)
def test_wrong_usage_ends_in_one_sentence(options: tuple[str, ...], words: str, tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    done = tokenize(tmp_path / "a.txt", *options)
    assert done.code == 2, done.err
    assert words in error_of(done)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_no_input_is_wrong_usage(tokenize: Run) -> None:
    done = tokenize()
    assert done.code == 2
    assert "INPUT" in error_of(done)


def test_a_pattern_that_matches_nothing_is_named(tokenize: Run, tmp_path: Path) -> None:
    done = tokenize(tmp_path / "*.txt")
    assert done.code == 1
    assert f"no file matches {tmp_path}/*.txt" in error_of(done)


def test_an_output_folder_that_is_a_file_is_wrong_usage(tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    done = tokenize(tmp_path / "a.txt", "--out", tmp_path / "a.txt")
    assert done.code == 2
    assert "is a file, not a folder" in error_of(done)


def test_a_missing_vocabulary_says_how_to_get_it(tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "TIKTOKEN_CACHE_DIR": str(tmp_path / "t")}
    done = tokenize(tmp_path / "a.txt", "--encoding", "o200k_base", env=environment)
    assert done.code == 1
    assert "run once while online" in error_of(done)
    left = {path.name for path in tmp_path.iterdir()} - {"cache", "t"}
    assert left == {"a.txt"}, "no partial run stays behind"


def test_a_shard_size_without_shards_is_not_silently_ignored(tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    done = tokenize(tmp_path / "a.txt", "--out", tmp_path / "stream", "--shard-tokens", "1M")
    assert done.code == 0
    assert "--shard-tokens has no effect unless the run switches to shards; --mode shard starts with them" in done.err
    done = tokenize(tmp_path / "a.txt", "--out", tmp_path / "shard", "--shard-tokens", "1M", "--mode", "shard")
    assert done.code == 0
    assert "no effect" not in done.err


def test_a_hostile_file_name_is_not_printed_raw(tokenize: Run, tmp_path: Path) -> None:
    done = tokenize(tmp_path / "a\x1b[31m\nb.txt")
    assert "\x1b" not in done.err
    assert "a\\x1b[31m\\nb.txt" in error_of(done)


def test_a_file_named_like_an_option_can_be_given(tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "--force").write_text("one two")
    assert tokenize("--val-ratio", "0", "--", "--force", cwd=tmp_path).code == 0
    assert (tmp_path / "train.bin").stat().st_size == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_no_permission_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import memwatch.tokenize.session  # noqa: F401  Before the fork: nobody may not read this very Python's modules.

    nobody = pwd.getpwnam("nobody")
    secret = tmp_path / "secret.txt"
    secret.write_text("one two")
    secret.chmod(0o600)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder.stat().st_mode & 0o005 != 0o005 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    readable = tmp_path / "readable.txt"
    readable.write_text("one two")
    readable.chmod(0o644)
    for path, words in ((secret, f"cannot read {secret}"), (readable, f"cannot write to {tmp_path}")):
        # Forked, not run anew: nobody may not be allowed to run this very Python.
        pid = os.fork()
        if pid == 0:
            os.setuid(nobody.pw_uid)
            os._exit(invoke(tokenize_command, "tokenize", [str(path)]))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
        assert f"memwatch: {words}: Permission denied" in capfd.readouterr().err


def test_help_shows_every_option_of_the_contract() -> None:
    done = memwatch("run", "tokenize", "--help")
    assert done.code == 0
    for option in (
        "--out",
        "--mode",
        "--shard-tokens",
        "--format",
        "--encoding",
        "--val-ratio",
        "--documents",
        "--engine",
        "--workers",
        "--max-memory",
        "--errors",
        "--text-column",
        "--fresh",
        "--force",
    ):
        assert option in done.out


def test_a_note_says_that_a_text_has_nul_bytes(tokenize: Run, tmp_path: Path) -> None:
    """As a small binary file has; large collections of real text have some too, so it is tokenized."""
    path = tmp_path / "small.dat"
    path.write_bytes(b"a few words\0 and some more\0")
    done = tokenize(path, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "small.dat: 2 NUL bytes in its first 64 KiB" in done.err
