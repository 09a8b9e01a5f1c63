"""Segments: whoever encodes one knows nothing of what lies before it, and all together are the whole."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memwatch.tokenize import cuts, split
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import Engine, Gigatoken
from memwatch.tokenize.inputs.finding import look_at
from memwatch.tokenize.messages import ReadTask
from memwatch.tokenize.segment_encoder import OpenFiles, encode_segment
from memwatch.tokenize.segments import LARGEST_OWN_GROUP_BYTES, segments_of
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding, rank_file
from tests.nasty import nasty_bytes
from tests.tokenize.block_reading import read_in_blocks

many = hypothesis_settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def fast(gpt2: Encoding) -> Engine:
    return Gigatoken(gpt2, rank_file(gpt2))


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that short texts have a validation split and inexact cuts too."""
    monkeypatch.setattr(split, "SMALLEST_UNIT_BYTES", 16)
    monkeypatch.setattr(cuts, "CELL_BYTES", 64)


def _in_segments(
    path: Path, settings: TokenizeSettings, encoding: Encoding, engine: Engine, size: int, limit: int
) -> tuple[list[int], list[int], int, int]:
    """Every segment by itself, the last one first."""
    source = look_at(str(path), any_bytes=True)
    opener = BlockOpener([source], settings, encoding)
    encoder = BlockEncoder(engine, encoding, settings)
    groups = None
    if source.kind == "parquet":
        metadata = pq.read_metadata(path)
        groups = [
            (metadata.row_group(i).column(0).total_uncompressed_size, metadata.row_group(i).num_rows)
            for i in range(metadata.num_row_groups)
        ]
    found = []
    files = OpenFiles()
    for number, segment in reversed(list(enumerate(segments_of(0, source, groups, size, ReadPosition())))):
        assert segment.end is not None
        task = ReadTask(number, 0, segment.begin, segment.end)
        pieces = list(encode_segment(opener, encoder, task, files, limit))
        found.append(pieces)
    files.close()
    pieces = [piece for each in reversed(found) for piece in each]
    tokens: dict[str, list[int]] = {"train": [], "val": []}
    for piece in pieces:
        tokens[piece.block.split] += piece.tokens.tolist()
    documents = sum(piece.counts.documents for piece in pieces)
    return tokens["train"], tokens["val"], documents, sum(piece.block.inexact for piece in pieces)


@given(
    data=nasty_bytes,
    size=st.integers(1, 300),
    limit=st.integers(1, 200),
    documents=st.sampled_from(["none", "line", "blank", "\n\n", "<|endoftext|>", "aa", " 12 "]),
)
@many
def test_segments_of_a_text_are_the_whole(
    data: bytes, size: int, limit: int, documents: str, fast: Engine, gpt2: Encoding, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    settings = TokenizeSettings(val_ratio="0.2", documents=documents)
    whole = read_in_blocks(path, settings, gpt2, fast, 50)
    expected = (whole.train, whole.val, whole.counts.documents, sum(block.inexact for block in whole.blocks))
    assert _in_segments(path, settings, gpt2, fast, size, limit) == expected


def texts(times: int) -> list[str]:
    return ["one", "", "two\nlines", "日本語" * 20 * times, "<|endoftext|> as text", "x" * 500 * times, "it's"] * 9


@pytest.mark.parametrize(("size", "times"), [(1, 1), (50, 10), (1000, 10), (100_000, 10)])
@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_segments_of_records_are_the_whole(
    name: str, size: int, times: int, fast: Engine, gpt2: Encoding, tmp_path: Path
) -> None:
    path, written = tmp_path / name, texts(times)
    if name == "a.jsonl":
        path.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(written)))
    else:
        pq.write_table(pa.table({"text": written}), path, row_group_size=4, use_dictionary=False)
    settings = TokenizeSettings(val_ratio="0.2")
    whole = read_in_blocks(path, settings, gpt2, fast, 200)
    assert whole.val
    assert _in_segments(path, settings, gpt2, fast, size, 300)[:3] == (whole.train, whole.val, len(written))


def test_a_large_row_group_is_fed_and_small_ones_are_joined(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "a.parquet")
    source = look_at(str(tmp_path / "a.parquet"))
    groups = [(10, 1), (10, 1), (LARGEST_OWN_GROUP_BYTES + 1, 9), (10, 1), (95, 1), (10, 1)]
    found = [tuple(segment) for segment in segments_of(3, source, groups, 100, ReadPosition())]
    assert found == [(3, 0, 2, False), (3, 2, 3, True), (3, 3, 4, False), (3, 4, 5, False), (3, 5, 6, False)]


def test_a_segment_inside_a_record_is_empty(fast: Engine, gpt2: Encoding, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "word " * 1000}) + "\n" + '{"text": "last"}\n')
    settings = TokenizeSettings(val_ratio="0")
    whole = read_in_blocks(path, settings, gpt2, fast, 1 << 20)
    assert _in_segments(path, settings, gpt2, fast, 100, 1 << 20)[0] == whole.train
