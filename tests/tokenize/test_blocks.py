"""From files to tokens by way of blocks, in one process: whatever the block size, the tokens are those of the whole."""

import gzip
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memwatch.tokenize import cuts, split
from memwatch.tokenize.blocks import Block, ReadPosition
from memwatch.tokenize.engines import Engine, Gigatoken, Tiktoken
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding, rank_file
from tests.nasty import nasty_bytes, nasty_text
from tests.tokenize.block_reading import read_in_blocks

END_OF_TEXT = 50256
EXACT = TokenizeSettings(val_ratio="0", documents="none")

many = hypothesis_settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
limits = st.integers(1, 200)

Reference = Callable[[str], list[int]]


@pytest.fixture(scope="module", params=[Gigatoken, Tiktoken])
def engine(request: pytest.FixtureRequest, gpt2: Encoding) -> Engine:
    engine: Engine = request.param(gpt2, rank_file(gpt2))
    return engine


@pytest.fixture(scope="module")
def fast(gpt2: Encoding) -> Engine:
    return Gigatoken(gpt2, rank_file(gpt2))


@given(text=nasty_text, limit=limits)
@many
def test_tokens_are_those_of_the_whole_text(
    text: str, limit: int, engine: Engine, gpt2: Encoding, gpt2_reference: Reference, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    assert read_in_blocks(path, EXACT, gpt2, engine, limit).train == gpt2_reference(text)


@given(data=nasty_bytes, limit=limits, errors=st.sampled_from(["replace", "ignore"]))
@many
def test_bad_bytes_are_repaired_as_python_does_and_counted(
    data: bytes, limit: int, errors: str, fast: Engine, gpt2: Encoding, gpt2_reference: Reference, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    read = read_in_blocks(path, TokenizeSettings(val_ratio="0", errors=errors), gpt2, fast, limit)  # type: ignore[arg-type]
    text = data.decode("utf-8", errors)
    assert read.train == gpt2_reference(text)
    lost = len(data) - len(data.decode("utf-8", "ignore").encode())
    assert read.counts.replaced_bytes == lost


def test_a_character_split_by_a_block_is_not_invalid(
    fast: Engine, gpt2: Encoding, gpt2_reference: Reference, tmp_path: Path
) -> None:
    text = "日本語😀" * 50
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    for limit in range(1, 40):
        read = read_in_blocks(path, EXACT, gpt2, fast, limit)
        assert read.counts.replaced_bytes == 0
        assert read.train == gpt2_reference(text)


@given(text=nasty_text, limit=limits, other=limits)
@many
def test_text_without_cuts_gives_the_same_tokens_for_every_block_size(
    text: str, limit: int, other: int, fast: Engine, gpt2: Encoding, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts, "CELL_BYTES", 32)
        first = read_in_blocks(path, EXACT, gpt2, fast, limit)
        second = read_in_blocks(path, EXACT, gpt2, fast, other)
    assert first.train == second.train
    assert sum(b.inexact for b in first.blocks) == sum(b.inexact for b in second.blocks)


def _documents(text: str, documents: str) -> list[str]:
    if documents == "line":
        *closed, last = text.split("\n")
        return [*(line.removesuffix("\r") for line in closed), last]
    return text.split(documents)


@given(text=nasty_text, limit=limits, documents=st.sampled_from(["line", "<|endoftext|>", "\n\n", " 12 ", "aa", "''s"]))
@many
def test_documents_are_encoded_alone_and_marked(
    text: str, limit: int, documents: str, fast: Engine, gpt2: Encoding, gpt2_reference: Reference, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    found = [document for document in _documents(text, documents) if document]
    ended = read_in_blocks(path, TokenizeSettings(val_ratio="0", documents=documents), gpt2, fast, limit)
    assert ended.train == [t for d in found for t in (*gpt2_reference(d), END_OF_TEXT)]
    assert ended.counts.documents == len(found)
    begun = read_in_blocks(path, TokenizeSettings(val_ratio="0", documents=documents, format="llmc"), gpt2, fast, limit)
    assert begun.train == [t for d in found for t in (END_OF_TEXT, *gpt2_reference(d))]


def _essence(blocks: list[Block]) -> list[object]:
    """A block but for how far the file was read by then, which depends on buffers."""
    return [(bytes(block.data), block.layout, block.split, block.after) for block in blocks]


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that short texts have a validation split too."""
    monkeypatch.setattr(split, "SMALLEST_UNIT_BYTES", 16)


@given(text=nasty_text, limit=limits, other=limits, documents=st.sampled_from(["none", "line", "blank"]))
@many
@pytest.mark.usefixtures("small_units")
def test_the_split_does_not_depend_on_block_sizes(
    text: str, limit: int, other: int, documents: str, fast: Engine, gpt2: Encoding, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    settings = TokenizeSettings(val_ratio="0.3", documents=documents)
    first = read_in_blocks(path, settings, gpt2, fast, limit)
    second = read_in_blocks(path, settings, gpt2, fast, other)
    assert (first.train, first.val) == (second.train, second.val)


@given(text=nasty_text, limit=limits, documents=st.sampled_from(["none", "line", "blank"]), data=st.data())
@many
@pytest.mark.usefixtures("small_units")
def test_reading_can_go_on_after_any_block(
    text: str, limit: int, documents: str, data: st.DataObject, fast: Engine, gpt2: Encoding, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    settings = TokenizeSettings(val_ratio="0.3", documents=documents)
    whole = read_in_blocks(path, settings, gpt2, fast, limit)
    if not whole.blocks:
        return
    block = data.draw(st.sampled_from(whole.blocks))
    rest = read_in_blocks(path, settings, gpt2, fast, limit, start=block.after)
    assert whole.train[len(whole.train) - len(rest.train) :] == rest.train
    assert whole.val[len(whole.val) - len(rest.val) :] == rest.val
    assert _essence(rest.blocks) == _essence([b for b in whole.blocks if b.start.offset >= block.after.offset])


@pytest.mark.usefixtures("small_units")
def test_no_text_is_on_both_sides_of_the_split(
    real_text: Path, fast: Engine, gpt2: Encoding, gpt2_reference: Reference
) -> None:
    read = read_in_blocks(real_text, TokenizeSettings(val_ratio="0.1"), gpt2, fast, 50_000)
    assert read.blocks[0].split == "train"
    assert all(b.start.offset == a.after.offset for a, b in pairwise(read.blocks))
    whole = gpt2_reference(real_text.read_bytes().decode())
    assert sorted(read.train + read.val) == sorted(whole)


TEXTS = ["one", "", "two\nlines", "日本語" * 200, "<|endoftext|> as text", "x" * 5000, "it's"]


def _write_jsonl(path: Path) -> None:
    path.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(TEXTS)))


def _write_parquet(path: Path) -> None:
    pq.write_table(pa.table({"text": TEXTS, "id": range(len(TEXTS))}), path, row_group_size=3)


@pytest.mark.parametrize(("name", "write"), [("a.jsonl", _write_jsonl), ("a.parquet", _write_parquet)])
@pytest.mark.parametrize("limit", [1, 100, 100_000])
def test_every_record_is_a_document(
    name: str,
    write: Callable[[Path], None],
    limit: int,
    fast: Engine,
    gpt2: Encoding,
    gpt2_reference: Reference,
    tmp_path: Path,
) -> None:
    write(tmp_path / name)
    read = read_in_blocks(tmp_path / name, TokenizeSettings(val_ratio="0"), gpt2, fast, limit)
    assert read.train == [t for text in TEXTS for t in (*gpt2_reference(text), END_OF_TEXT)]
    assert read.counts.documents == len(TEXTS)
    unmarked = read_in_blocks(tmp_path / name, EXACT, gpt2, fast, limit)
    assert unmarked.train == [t for text in TEXTS for t in gpt2_reference(text)]


@pytest.mark.parametrize(("name", "write"), [("a.jsonl", _write_jsonl), ("a.parquet", _write_parquet)])
@pytest.mark.usefixtures("small_units")
def test_records_can_be_read_on_after_any_block(
    name: str, write: Callable[[Path], None], fast: Engine, gpt2: Encoding, tmp_path: Path
) -> None:
    write(tmp_path / name)
    settings = TokenizeSettings(val_ratio="0.3")
    whole = read_in_blocks(tmp_path / name, settings, gpt2, fast, 200)
    assert whole.val
    for i, block in enumerate(whole.blocks):
        rest = read_in_blocks(tmp_path / name, settings, gpt2, fast, 200, start=block.after)
        assert _essence(rest.blocks) == _essence(whole.blocks[i + 1 :])


def test_packed_text_is_read_as_the_plain_text(real_text: Path, fast: Engine, gpt2: Encoding, tmp_path: Path) -> None:
    from backports import zstd

    data = real_text.read_bytes()[:300_000]
    plain, gz, zst = tmp_path / "a.txt", tmp_path / "b.bin", tmp_path / "c.txt"
    plain.write_bytes(data)
    # Packed in several members, and named without a hint.
    gz.write_bytes(gzip.compress(data[:100_000]) + gzip.compress(data[100_000:]))
    zst.write_bytes(zstd.compress(data[:100_000]) + zstd.compress(data[100_000:]))
    settings = TokenizeSettings(val_ratio="0.01")
    expected = read_in_blocks(plain, settings, gpt2, fast, 10_000)
    for packed in (gz, zst):
        read = read_in_blocks(packed, settings, gpt2, fast, 10_000)
        assert (read.train, read.val) == (expected.train, expected.val)
        later = read_in_blocks(packed, settings, gpt2, fast, 10_000, start=expected.blocks[5].after)
        assert later.train == expected.train[len(expected.train) - len(later.train) :]


def test_a_position_survives_json() -> None:
    position = ReadPosition(1, 2, True, 4, 5, 6, "digest", 7, 8, 9, 10)
    assert ReadPosition.from_json(json.loads(json.dumps(position.as_json()))) == position


@pytest.mark.parametrize("documents", ["blank", "\n\n", "line"])
def test_a_megabyte_of_line_ends_is_read_in_a_moment(
    documents: str, fast: Engine, gpt2: Encoding, gpt2_reference: Reference, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"x" + b"\n" * 3_000_000 + b"y z")
    read = read_in_blocks(path, TokenizeSettings(val_ratio="0", documents=documents), gpt2, fast, 1 << 20)
    # Where such a run is cut is inexact; but there are two documents, and two marks.
    assert read.counts.documents == 2 or documents == "\n\n"
    assert read.train.count(END_OF_TEXT) == read.counts.documents
    assert read.train[:2] == [*gpt2_reference("x"), END_OF_TEXT]


def test_rows_without_text_do_not_make_an_endless_block(fast: Engine, gpt2: Encoding, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array([None] * 60_000 + [""] * 60_000 + ["x"], pa.string())}), path)
    read = read_in_blocks(path, TokenizeSettings(val_ratio="0"), gpt2, fast, 1 << 20)
    assert len(read.blocks) > 3
    assert (read.counts.missing_texts, read.counts.documents) == (60_000, 60_001)
