"""Local files and buckets behave the same through `Store`."""

import gzip
import io
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.errors import MemwatchError
from memwatch.storage.address import join
from memwatch.storage.bucket_store import BucketStore
from memwatch.storage.retrying import Patience, upload_pieces
from memwatch.storage.store import Store, store_of
from tests.storage.conftest import bucket_of
from tests.storage.s3_server import BUCKET, Faults, environment, free_port, running_proxy

QUICK = Patience(attempts=30, first_wait_s=0.001, longest_wait_s=0.01, request_retries=8)
IMPATIENT = Patience(attempts=2, first_wait_s=0.001, longest_wait_s=0.01, request_retries=1)


@pytest.fixture(params=["local", "s3", "gs", "az"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "local":
        return str(tmp_path)
    return f"{bucket_of(request.param, request, monkeypatch)}/{tmp_path.name}"


@pytest.fixture
def store(folder: str) -> Store:
    return store_of(folder)


def test_what_is_written_is_read_back(store: Store, folder: str) -> None:
    address = join(folder, "a.bin")
    upload = store.upload(address)
    upload.write(b"hello ")
    upload.write(memoryview(b"world"))
    with pytest.raises(FileNotFoundError):
        store.info(address)
    upload.publish()
    upload.discard()
    assert store.info(address).size_bytes == 11
    assert store.read(address) == b"hello world"
    assert store.read(address, 6, 9) == b"wor"
    assert store.read(address, 6, 99) == b"world"


def test_a_discarded_upload_leaves_nothing(store: Store, folder: str) -> None:
    upload = store.upload(join(folder, "a.bin"))
    upload.write(b"x" * 20_000_000)
    upload.discard()
    del upload
    assert list(store.list_folder(folder)) == []


def test_the_first_put_if_absent_wins(store: Store, folder: str) -> None:
    address = join(folder, "plan.json")
    assert store.put_if_absent(address, b"first")
    assert not store.put_if_absent(address, b"second")
    assert store.read(address) == b"first"
    store.put(address, b"third")
    assert store.read(address) == b"third"


def test_remove_and_list(store: Store, folder: str) -> None:
    for name in ("a.txt", "b.txt", "c.bin"):
        store.put(join(folder, name), b"x")
    assert [info.address for info in store.glob(join(folder, "*.txt"))] == [
        join(folder, "a.txt"),
        join(folder, "b.txt"),
    ]
    store.remove(join(folder, "a.txt"))
    store.remove(join(folder, "a.txt"))
    assert sorted(info.address for info in store.list_folder(folder)) == [
        join(folder, "b.txt"),
        join(folder, "c.bin"),
    ]
    assert list(store.list_folder(join(folder, "nothing"))) == []


@pytest.mark.parametrize("sequential", [True, False])
def test_an_object_is_a_seekable_file(store: Store, folder: str, sequential: bool) -> None:
    data = bytes(range(256)) * 2000
    store.put(join(folder, "a.bin"), data)
    with store.open(store.info(join(folder, "a.bin")), sequential) as file:
        assert file.seek(-10, io.SEEK_END) == len(data) - 10
        assert file.read(100) == data[-10:]
        file.seek(1000)
        assert file.read(200_000) == data[1000:201_000]
        file.seek(1000)
        with io.BufferedReader(file, 5000) as buffered:
            assert buffered.read(100_000) == data[1000:101_000]


def test_a_packed_object_is_read_as_a_stream(store: Store, folder: str) -> None:
    store.put(join(folder, "a.gz"), gzip.compress(b"text " * 100_000))
    opened = store.open(store.info(join(folder, "a.gz")), sequential=True)
    with opened as file, gzip.open(io.BufferedReader(file)) as unpacked:
        assert unpacked.read() == b"text " * 100_000


@pytest.fixture
def faults(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """The server behind a proxy; a test sets what goes wrong."""
    faults = Faults()
    with running_proxy(s3_port, faults) as port:
        for name, value in environment(port).items():
            monkeypatch.setenv(name, value)
        yield faults


def test_a_failing_store_gives_the_same_bytes(faults: Faults, tmp_path: Path) -> None:
    store = BucketStore(f"s3://{BUCKET}", QUICK)
    address = f"s3://{BUCKET}/{tmp_path.name}/a.bin"
    data = bytes(range(256)) * 40_000
    faults.error_share, faults.cut_share, faults.slow_share = 0.2, 0.2, 0.2
    upload_pieces(
        store, address, lambda: [data[i : i + 1_000_000] for i in range(0, len(data), 1_000_000)], None, QUICK
    )
    for _ in range(5):
        assert store.read(address, 100, len(data) - 7) == data[100:-7]
    assert [info.size_bytes for info in store.list_folder(f"s3://{BUCKET}/{tmp_path.name}")] == [len(data)]
    assert faults.harmed > 3


def test_a_read_that_breaks_off_continues_where_it_broke_off(faults: Faults, tmp_path: Path) -> None:
    """Every answer breaks off half-way, so a read that starts over would never end."""
    store = BucketStore(f"s3://{BUCKET}", QUICK)
    address = f"s3://{BUCKET}/{tmp_path.name}/a.bin"
    data = bytes(range(256)) * 40_000
    store.put(address, data)
    faults.cut_share = 1.0
    faults.served_bytes = 0
    start, received = 0, b""
    for piece in store.pieces(address, 0, len(data), None):
        received += piece
        start += len(piece)
        if start > 0.99 * len(data):
            faults.cut_share = 0.0
    assert received == data
    # Twice would be a fresh start somewhere; what is in flight when a connection breaks may be sent again.
    assert faults.served_bytes < 1.5 * len(data)


def test_a_store_without_conditional_puts_is_used_all_the_same(faults: Faults, tmp_path: Path) -> None:
    faults.no_conditional_put = True
    store = BucketStore(f"s3://{BUCKET}", QUICK)
    address = f"s3://{BUCKET}/{tmp_path.name}/plan.json"
    assert store.put_if_absent(address, b"first")
    assert not store.put_if_absent(address, b"second")
    assert store.read(address) == b"first"
    assert faults.harmed == 2, "a refusal for good was repeated"


def test_an_object_that_changes_is_not_mixed(s3_environment: int, tmp_path: Path) -> None:
    store = BucketStore(f"s3://{BUCKET}", QUICK)
    address = f"s3://{BUCKET}/{tmp_path.name}/a.bin"
    store.put(address, b"a" * 5_000_000)
    file = store.open(store.info(address), sequential=False)
    assert file.read(10) == b"a" * 10
    store.put(address, b"b" * 5_000_000)
    file.seek(4_000_000)
    with pytest.raises(MemwatchError, match="changed while it was read"):
        file.read(10)


def test_a_store_that_is_not_there_is_one_sentence_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(free_port()).items():
        monkeypatch.setenv(name, value)
    store = BucketStore(f"s3://{BUCKET}", IMPATIENT)
    for attempt in (
        lambda: store.read(f"s3://{BUCKET}/x", 0, 10),
        lambda: store.put(f"s3://{BUCKET}/x", b""),
        lambda: store.glob(f"s3://{BUCKET}/*"),
    ):
        with pytest.raises(MemwatchError) as caught:
            attempt()
        message = str(caught.value)
        assert message.startswith("cannot ")
        assert f"s3://{BUCKET}/" in message
        assert "secret" not in message
        assert "AKIA" not in message
        assert "127.0.0.1" not in message
        assert "\n" not in message


def test_without_the_extra_the_sentence_names_it() -> None:
    code = (
        "import sys; sys.modules['obstore'] = None\n"
        "from memwatch.storage.store import store_of\n"
        "try: store_of('s3://b/x')\n"
        "except Exception as e: print(e)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'memwatch[cloud]'" in out


def test_local_files_do_not_import_obstore(tmp_path: Path) -> None:
    code = (
        "import sys; from memwatch.storage.store import store_of\n"
        f"store_of({str(tmp_path)!r}).put({str(tmp_path / 'x')!r}, b'x')\n"
        "print('obstore' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_two_writers_of_one_file_leave_one_complete_file(tmp_path: Path) -> None:
    store, address = store_of(str(tmp_path)), str(tmp_path / "a.bin")
    uploads = [store.upload(address, str(tmp_path / "scratch")) for _ in range(4)]
    for upload in uploads:
        upload.write(b"same bytes")
    threads = [threading.Thread(target=upload.publish) for upload in uploads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Path(address).read_bytes() == b"same bytes"
    assert list((tmp_path / "scratch").iterdir()) == []
