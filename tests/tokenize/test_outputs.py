import hashlib
import os
from multiprocessing.connection import Pipe
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memwatch.errors import MemwatchError
from memwatch.tokenize.formats.file_names import Names
from memwatch.tokenize.formats.format_registry import FORMATS
from memwatch.tokenize.growing_files import Places
from memwatch.tokenize.hasher import Hasher, sha256_of
from memwatch.tokenize.messages import Finished, Hashed, HashFailed, Synced, receive
from memwatch.tokenize.output_folder import publish
from memwatch.tokenize.output_state import OutputState
from memwatch.tokenize.outputs import Outputs
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding, encoding_named


class Writer:
    """Outputs, with the hasher and the one worker that writes in the same process."""

    def __init__(self, folder: Path, settings: TokenizeSettings, state: OutputState | None = None) -> None:
        partial = folder / ".memwatch-partial"
        partial.mkdir(exist_ok=True)
        ours, theirs = Pipe()
        self._hasher, self._answers = Hasher(theirs), ours
        state = state or OutputState(settings.mode == "shard")
        names = Names(settings.format, "name")
        self.outputs = Outputs(partial, settings, encoding_named("gpt2"), names, state, self._hasher._take)
        self._digests: tuple[str, ...] = ()
        self._take_answers()

    def write(self, train: bytes, val: bytes = b"", counts: bool = True) -> None:
        for data, places in zip((train, val), self.outputs.place(len(train) // 2, len(val) // 2)[:2], strict=True):
            _write(data, places)
        if counts:
            self.outputs.wrote()
            self._take_answers()

    def switch_to_shards(self) -> None:
        self.outputs.switch_to_shards()
        self._take_answers()

    def state(self) -> OutputState:
        self.outputs.request_state()
        self._take_answers()
        return self.outputs.state_of(self._digests)

    def finish(self) -> OutputState:
        self.outputs.finish()
        self._take_answers()
        return self.outputs.final_state

    def _take_answers(self) -> None:
        while self._answers.poll():
            match receive(self._answers):
                case Hashed() | Finished() as message:
                    self.outputs.take(message)
                case Synced(sha256):
                    self._digests = sha256
                case HashFailed(problem):
                    raise MemwatchError(problem)


def _write(data: bytes, places: Places) -> None:
    for path, offset, start, end in places:
        with open(path, "r+b") as file:
            os.pwrite(file.fileno(), data[start:end], offset)


def _publish(state: OutputState, folder: Path) -> None:
    publish(state.complete, folder / ".memwatch-partial", folder)


def _tokens(start: int, count: int) -> bytes:
    return np.arange(start, start + count, dtype="<u2").tobytes()


@given(
    pieces=st.lists(st.integers(0, 50), max_size=30),
    shard_tokens=st.integers(1, 40),
    mode=st.sampled_from(["stream", "shard"]),
    switch_at=st.one_of(st.none(), st.integers(0, 30)),
    stop_at=st.one_of(st.none(), st.integers(0, 30)),
)
@hypothesis_settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shards_put_together_are_the_stream(
    pieces: list[int],
    shard_tokens: int,
    mode: str,
    switch_at: int | None,
    stop_at: int | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # GIVEN outputs in some mode
    folder = tmp_path_factory.mktemp("out")
    settings = TokenizeSettings(mode=mode, shard_tokens=shard_tokens)  # type: ignore[arg-type]
    writer = Writer(folder, settings)
    written = 0
    for i, count in enumerate(pieces):
        # WHEN they are switched to shards, and stopped and resumed, at any moment
        if i == switch_at:
            writer.switch_to_shards()
        if i == stop_at:
            state = writer.state()
            writer.write(_tokens(9999, 7))  # written after the checkpoint, and to be forgotten
            writer.write(_tokens(9999, 7), counts=False)
            _publish(state, folder)
            writer = Writer(folder, settings, state)
        writer.write(_tokens(written, count))
        written += count
    state = writer.finish()
    _publish(state, folder)
    # THEN the train files hold every token once and in order
    names = [record.name for record in state.complete if record.split == "train"]
    assert names == sorted(names)
    data = b"".join((folder / name).read_bytes() for name in names)
    assert data == _tokens(0, written)
    assert all((folder / r.name).stat().st_size == 2 * r.tokens for r in state.complete)
    assert all(sha256_of(str(folder / r.name)) == r.sha256 for r in state.complete)
    # AND only the shard before a switch and the last one have a size of their own
    sizes = [r.tokens for r in state.complete if r.split == "train"]
    if mode == "shard":
        assert all(size == shard_tokens for size in sizes[:-1])


def test_blocks_may_be_written_in_any_order(tmp_path: Path) -> None:
    # GIVEN places that were given out in order, of blocks that lie across shards
    writer = Writer(tmp_path, TokenizeSettings(mode="shard", shard_tokens=10))
    blocks = [_tokens(start, 7) for start in range(0, 70, 7)]
    places = [writer.outputs.place(7, 0)[0] for _ in blocks]
    # WHEN the blocks are written last first, and count from the first on
    for block, at in reversed(list(zip(blocks, places, strict=True))):
        _write(block, at)
    for _ in blocks:
        writer.outputs.wrote()
    writer._take_answers()
    # THEN nothing is missing
    state = writer.finish()
    _publish(state, tmp_path)
    train = [record for record in state.complete if record.split == "train"]
    assert [record.tokens for record in train] == [10] * 7
    assert b"".join((tmp_path / record.name).read_bytes() for record in train) == b"".join(blocks)


def test_a_file_has_its_final_name_only_when_complete(tmp_path: Path) -> None:
    writer = Writer(tmp_path, TokenizeSettings(mode="shard", shard_tokens=10))
    writer.write(_tokens(0, 25))
    _publish(writer.outputs.final_state, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".memwatch-partial",
        "train_shard_0000.bin",
        "train_shard_0001.bin",
    ]


def test_publishing_twice_does_no_harm(tmp_path: Path) -> None:
    writer = Writer(tmp_path, TokenizeSettings())
    writer.write(_tokens(0, 5))
    state = writer.finish()
    _publish(state, tmp_path)
    _publish(state, tmp_path)
    (tmp_path / "train.bin").unlink()
    with pytest.raises(MemwatchError, match="is missing"):
        _publish(state, tmp_path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "shorter"),
        (lambda path: path.write_bytes(b"\0" * 200), "differs from the checkpoint"),
    ],
    ids=["cut short", "zeros after a power cut"],
)
def test_a_damaged_partial_file_is_not_built_upon(tmp_path: Path, damage: object, message: str) -> None:
    writer = Writer(tmp_path, TokenizeSettings())
    writer.write(_tokens(0, 100))
    state = writer.state()
    damage(tmp_path / ".memwatch-partial" / "train_0000.part")  # type: ignore[operator]
    with pytest.raises(MemwatchError, match=message):
        Writer(tmp_path, TokenizeSettings(), state)


def test_a_symbolic_link_in_place_of_a_partial_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".memwatch-partial").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".memwatch-partial" / "train_0000.part").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic"):
        Writer(tmp_path, TokenizeSettings())
    assert (tmp_path / "precious").read_text() == "mine"


def test_npy_files_are_what_numpy_saves(tmp_path: Path) -> None:
    for encoding in (encoding_named("gpt2"), encoding_named("cl100k_base")):
        for count in (0, 1, 12345, 10**9):
            array = np.zeros(min(count, 5), dtype=f"<u{encoding.token_bytes}")
            np.save(tmp_path / "numpy.npy", array)
            if count == len(array):
                expected = (tmp_path / "numpy.npy").read_bytes()
                assert FORMATS["npy"].header(count, encoding.token_bytes) + array.tobytes() == expected
            assert len(FORMATS["npy"].header(count, encoding.token_bytes)) == 128


def test_llmc_header_is_what_llm_c_reads(gpt2: Encoding) -> None:
    fields = np.frombuffer(FORMATS["llmc"].header(1234, gpt2.token_bytes), dtype="<i4")
    assert len(fields) == 256
    assert fields[:3].tolist() == [20240520, 1, 1234]
    assert not fields[3:].any()


@pytest.mark.parametrize("kind", ["llmc", "npy"])
def test_the_hash_of_a_file_with_a_header_is_that_of_the_whole_file(tmp_path: Path, kind: str) -> None:
    writer = Writer(tmp_path, TokenizeSettings(format=kind, mode="shard", shard_tokens=10))
    writer.write(_tokens(0, 25), _tokens(0, 3))
    state = writer.finish()
    _publish(state, tmp_path)
    suffix = "bin" if kind == "llmc" else "npy"
    names = [f"name_train_{i:06d}.{suffix}" for i in (1, 2, 3)] + [f"name_val_000000.{suffix}"]
    assert [record.name for record in state.complete] == names
    for record in state.complete:
        assert hashlib.sha256((tmp_path / record.name).read_bytes()).hexdigest() == record.sha256


@pytest.mark.parametrize(
    ("input_name", "stem"),
    [
        ("fineweb.jsonl", "fineweb"),
        ("train_fineweb.jsonl", "fineweb"),
        ("my-notes.txt", "my-notes"),
        ("medieval.txt", "tokens"),
        ("validation_set.parquet", "set"),
        ("Train.txt", "tokens"),
        ("stdin", "stdin"),
    ],
)
def test_a_name_contains_no_split_but_its_own(input_name: str, stem: str) -> None:
    names = Names.of_run(TokenizeSettings(format="npy"), input_name)
    assert names.stem == stem
    assert "val" not in names.file("train", 0, sharded=True)
    assert "train" not in names.file("val", 0, sharded=True)


def test_llmc_files_of_both_splits_stay_below_the_limit_of_its_loader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a limit of 100 tokens a file
    monkeypatch.setattr("memwatch.tokenize.formats.flat_formats.LARGEST_LLMC_FILE_BYTES", 1024 + 200)
    writer = Writer(tmp_path, TokenizeSettings(format="llmc", mode="shard", val_ratio="0.5"))
    # WHEN 250 tokens go to each split
    writer.write(b"tr" * 250, b"va" * 250)
    state = writer.finish()
    # THEN no file has more, and nothing is lost
    _publish(state, tmp_path)
    for split, first in (("train", 1), ("val", 0)):
        names = [record.name for record in state.complete if record.split == split]
        assert names == [f"name_{split}_{first + i:06d}.bin" for i in range(3)]
        assert [record.tokens for record in state.complete if record.split == split] == [100, 100, 50]
        data = b"".join((tmp_path / name).read_bytes()[1024:] for name in names)
        assert data == (b"tr" if split == "train" else b"va") * 250


def test_without_a_share_for_validation_there_is_no_val_file(tmp_path: Path) -> None:
    writer = Writer(tmp_path, TokenizeSettings(val_ratio="0"))
    writer.write(b"tr" * 10)
    assert [record.name for record in writer.finish().complete] == ["train.bin"]
