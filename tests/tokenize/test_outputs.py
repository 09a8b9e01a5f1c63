import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memwatch.errors import MemwatchError
from memwatch.tokenize.formats import Names, header
from memwatch.tokenize.outputs import Outputs, OutputState, publish, sha256_of
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding, encoding_named


def _outputs(folder: Path, settings: TokenizeSettings, state: OutputState | None = None) -> Outputs:
    partial = folder / ".memwatch-partial"
    partial.mkdir(exist_ok=True)
    state = state or OutputState(settings.mode == "shard")
    return Outputs(partial, settings, encoding_named("gpt2"), Names(settings.format, "name"), state)


def _publish(outputs: Outputs, folder: Path) -> None:
    publish(outputs.state.complete, folder / ".memwatch-partial", folder)


def _tokens(start: int, count: int) -> memoryview:
    return memoryview(np.arange(start, start + count, dtype="<u2").tobytes())


@given(
    pieces=st.lists(st.integers(0, 50), max_size=30),
    shard_tokens=st.integers(1, 40),
    mode=st.sampled_from(["stream", "shard", "memory"]),
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
    outputs = _outputs(folder, settings)
    written = 0
    for i, count in enumerate(pieces):
        # WHEN they are switched to shards, and stopped and resumed, at any moment
        if i == switch_at:
            outputs.switch_to_shards()
        if i == stop_at and not outputs.holds_tokens:
            outputs.sync()
            state = outputs.state
            outputs.append("train", _tokens(9999, 7))  # written after the checkpoint, and to be forgotten
            outputs.close()
            publish(state.complete, folder / ".memwatch-partial", folder)
            outputs = _outputs(folder, settings, state)
        outputs.append("train", _tokens(written, count))
        written += count
    outputs.finish()
    _publish(outputs, folder)
    # THEN the train files hold every token once and in order
    names = [record.name for record in outputs.state.complete if record.split == "train"]
    assert names == sorted(names)
    data = b"".join((folder / name).read_bytes() for name in names)
    assert data == bytes(_tokens(0, written))
    assert all((folder / r.name).stat().st_size == 2 * r.tokens for r in outputs.state.complete)
    assert all(sha256_of(folder / r.name) == r.sha256 for r in outputs.state.complete)
    # AND only the shard before a switch and the last one have a size of their own
    sizes = [r.tokens for r in outputs.state.complete if r.split == "train"]
    if mode == "shard":
        assert all(size == shard_tokens for size in sizes[:-1])


def test_a_file_has_its_final_name_only_when_complete(tmp_path: Path) -> None:
    outputs = _outputs(tmp_path, TokenizeSettings(mode="shard", shard_tokens=10))
    outputs.append("train", _tokens(0, 25))
    _publish(outputs, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".memwatch-partial",
        "train_shard_0000.bin",
        "train_shard_0001.bin",
    ]
    outputs.close()


def test_publishing_twice_does_no_harm(tmp_path: Path) -> None:
    outputs = _outputs(tmp_path, TokenizeSettings())
    outputs.append("train", _tokens(0, 5))
    outputs.finish()
    _publish(outputs, tmp_path)
    _publish(outputs, tmp_path)
    (tmp_path / "train.bin").unlink()
    with pytest.raises(MemwatchError, match="is missing"):
        _publish(outputs, tmp_path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "shorter"),
        (lambda path: path.write_bytes(b"\0" * 200), "differs from the checkpoint"),
    ],
    ids=["cut short", "zeros after a power cut"],
)
def test_a_damaged_partial_file_is_not_built_upon(tmp_path: Path, damage: object, message: str) -> None:
    outputs = _outputs(tmp_path, TokenizeSettings())
    outputs.append("train", _tokens(0, 100))
    state = outputs.state
    outputs.close()
    damage(tmp_path / ".memwatch-partial" / "train_0000.part")  # type: ignore[operator]
    with pytest.raises(MemwatchError, match=message):
        _outputs(tmp_path, TokenizeSettings(), state)


def test_a_symbolic_link_in_place_of_a_partial_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".memwatch-partial").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".memwatch-partial" / "train_0000.part").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic"):
        _outputs(tmp_path, TokenizeSettings())
    assert (tmp_path / "precious").read_text() == "mine"


def test_npy_files_are_what_numpy_saves(tmp_path: Path) -> None:
    for encoding in (encoding_named("gpt2"), encoding_named("cl100k_base")):
        for count in (0, 1, 12345, 10**9):
            array = np.zeros(min(count, 5), dtype=f"<u{encoding.token_bytes}")
            np.save(tmp_path / "numpy.npy", array)
            if count == len(array):
                expected = (tmp_path / "numpy.npy").read_bytes()
                assert header("npy", count, encoding) + array.tobytes() == expected
            assert len(header("npy", count, encoding)) == 128


def test_llmc_header_is_what_llm_c_reads(gpt2: Encoding) -> None:
    fields = np.frombuffer(header("llmc", 1234, gpt2), dtype="<i4")
    assert len(fields) == 256
    assert fields[:3].tolist() == [20240520, 1, 1234]
    assert not fields[3:].any()


@pytest.mark.parametrize("kind", ["llmc", "npy"])
def test_the_hash_of_a_file_with_a_header_is_that_of_the_whole_file(tmp_path: Path, kind: str) -> None:
    outputs = _outputs(tmp_path, TokenizeSettings(format=kind, mode="shard", shard_tokens=10))  # type: ignore[arg-type]
    outputs.append("train", _tokens(0, 25))
    outputs.append("val", _tokens(0, 3))
    outputs.finish()
    _publish(outputs, tmp_path)
    suffix = "bin" if kind == "llmc" else "npy"
    names = [f"name_train_{i:06d}.{suffix}" for i in (1, 2, 3)] + [f"name_val_000000.{suffix}"]
    assert [record.name for record in outputs.state.complete] == names
    for record in outputs.state.complete:
        assert hashlib.sha256((tmp_path / record.name).read_bytes()).hexdigest() == record.sha256
