"""Estimates of real text: close to the truth, and honest about how close."""

import gzip
import json
import math
import random
import sysconfig
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memwatch.errors import MemwatchError
from memwatch.estimate import input_sampler, sampling
from memwatch.estimate import outlook as outlooks
from memwatch.estimate.counter import Counter
from memwatch.estimate.input_sampler import PIECE_BYTES
from memwatch.estimate.outlook import outlook
from memwatch.estimate.sampling import Sampled, sample_inputs
from memwatch.model.ranges import Range
from memwatch.tokenize.block_opener import BlockReader
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import Engine, choose
from memwatch.tokenize.inputs.finding import look_at
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.settings import Resources, TokenizeRequest, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding, rank_file
from tests.helpers import cached_bytes
from tests.texts import code, language, prose, repeated, shuffled

MEGABYTE = 1_000_000
SETTINGS = TokenizeSettings()
Sample = Callable[..., Sampled]


@pytest.fixture(scope="session")
def engine(gpt2: Encoding) -> Engine:
    return choose("auto", gpt2, rank_file(gpt2), check=False).engine


@pytest.fixture
def sample_all(engine: Engine, gpt2: Encoding, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Sampled]]:
    """Samples inputs, however small they are."""
    monkeypatch.setattr(sampling, "WHOLE_BYTES", 0)

    def sampled(
        sources: Sequence[Input], seed: int = 0, seconds: float = math.inf, settings: TokenizeSettings = SETTINGS
    ) -> list[Sampled]:
        counter = Counter(BlockEncoder(engine, gpt2, settings), settings, gpt2)
        return sample_inputs(sources, counter, random.Random(seed), seconds)

    return sampled


@pytest.fixture
def sample(sample_all: Callable[..., list[Sampled]]) -> Sample:
    def sampled(path: Path, **options: Any) -> Sampled:
        [found] = sample_all([look_at(str(path), any_bytes=True)], **options)
        return found

    return sampled


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """To try things on small files: 4 MB of them are as 32 MB to pieces of the usual size."""
    for module in (sampling, input_sampler):
        monkeypatch.setattr(module, "PIECE_BYTES", PIECE_BYTES // 8)


@pytest.fixture
def truth(engine: Engine, gpt2: Encoding) -> Callable[..., int]:
    """Tokens of a file, all of it."""

    def counted(path: Path, settings: TokenizeSettings = SETTINGS) -> int:
        reader = BlockReader([look_at(str(path), any_bytes=True)], settings, gpt2, ReadPosition())
        encoder = BlockEncoder(engine, gpt2, settings)
        tokens = 0
        while (block := reader.next(1 << 20)) is not None:
            tokens += len(encoder.encode(bytes(block.data), block.layout)[0])
        reader.close()
        return tokens

    return counted


def _english_then_japanese(size: int) -> bytes:
    return repeated(prose(), size * 2 // 3) + repeated(language("ja"), size // 3)


def _code_after_prose(size: int) -> bytes:
    return repeated(prose(), size // 2) + repeated(code(), size // 2)


def _documents_in_any_order(size: int) -> bytes:
    texts = [prose(), code(), *(language(name) for name in ("de", "fr", "ja", "ru", "zh_CN"))]
    return shuffled(texts, size, random.Random(1))


def _languages_one_by_one(size: int) -> bytes:
    names = ("de", "es", "ru", "zh_CN", "ko", "fr")
    return b"\n".join(repeated(language(name), size // len(names)) for name in names)


def _a_little_japanese_in_english(size: int) -> bytes:
    return shuffled([prose()] * 40 + [language("ja")], size, random.Random(2))


def _lines_without_spaces(size: int) -> bytes:
    return repeated(language("ja").replace(b" ", b"").replace(b"\n", b""), size)


MIXTURES = [
    _english_then_japanese,
    _code_after_prose,
    _documents_in_any_order,
    _languages_one_by_one,
    _a_little_japanese_in_english,
    _lines_without_spaces,
]


@pytest.mark.parametrize("mixture", MIXTURES, ids=lambda mixture: mixture.__name__.strip("_"))
def test_a_file_of_20_megabytes_is_estimated_within_2_percent(
    mixture: Callable[[int], bytes], tmp_path: Path, sample: Sample, truth: Callable[..., int]
) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(mixture(20 * MEGABYTE))
    found = sample(path)
    tokens = truth(path)
    assert found.tokens.estimate == pytest.approx(tokens, rel=0.02)
    assert found.tokens.low <= tokens <= found.tokens.high
    assert found.tokens.off_by < 0.05 * tokens
    assert found.read_bytes < path.stat().st_size


def test_the_truth_lies_inside_the_interval_95_times_in_100(
    tmp_path: Path, sample: Sample, truth: Callable[..., int], small_pieces: None
) -> None:
    """Over random files of all mixtures."""
    rng = random.Random(7)
    texts = [prose(), code(), *(language(name) for name in ("de", "ja", "ru", "zh_CN"))]
    inside = outcomes = 0
    close = 0
    for number in range(28):
        some = rng.sample(texts, rng.randint(1, len(texts)))
        weights = [some[0]] * rng.choice([1, 1, 30]) + some
        size = rng.randint(3, 4) * MEGABYTE
        if number % 3 == 0:
            data = b"".join(repeated(text, int(size * rng.random())) for text in some) or prose()
        else:
            data = shuffled(weights, size, rng, mean_bytes=rng.choice([3000, 10_000, 50_000]))
        path = tmp_path / "random.txt"
        path.write_bytes(data)
        tokens = truth(path)
        for seed in range(6):
            found = sample(path, seed=seed)
            outcomes += 1
            inside += found.tokens.low <= tokens <= found.tokens.high
            close += abs(found.tokens.estimate - tokens) <= 0.02 * tokens
    assert inside / outcomes >= 0.95
    assert close / outcomes >= 0.95


def _records(rng: random.Random, size: int) -> list[dict[str, str]]:
    texts = shuffled([prose(), code()], size, rng, mean_bytes=3000).decode().split("\n\n")
    return [{"text": text, "id": "x" * rng.randrange(80)} for text in texts]


def test_records_of_jsonl_are_estimated_with_their_marks(
    tmp_path: Path, sample: Sample, truth: Callable[..., int], small_pieces: None
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in _records(random.Random(3), 4 * MEGABYTE)))
    found = sample(path)
    tokens = truth(path)
    assert found.tokens.estimate == pytest.approx(tokens, rel=0.02)
    assert found.tokens.low <= tokens <= found.tokens.high


def test_documents_in_text_count_with_their_marks(
    tmp_path: Path, sample: Sample, truth: Callable[..., int], small_pieces: None
) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(repeated(prose(), 4 * MEGABYTE))
    settings = TokenizeSettings(documents="line")
    found = sample(path, settings=settings)
    assert found.tokens.estimate == pytest.approx(truth(path, settings), rel=0.02)


def test_many_files_share_the_pieces_and_each_gets_its_line(
    tmp_path: Path, sample_all: Callable[..., list[Sampled]], truth: Callable[..., int]
) -> None:
    rng = random.Random(4)
    paths = [tmp_path / f"{number:03}.txt" for number in range(200)]
    for path in paths:
        path.write_bytes(shuffled([prose(), code()], rng.randint(1, 200_000), rng))
    found = sample_all([look_at(str(path)) for path in paths])
    tokens = [truth(path) for path in paths]
    assert sum(each.tokens.estimate for each in found) == pytest.approx(sum(tokens), rel=0.02)
    inside = sum(each.tokens.low <= count <= each.tokens.high for each, count in zip(found, tokens, strict=True))
    assert inside >= 180
    assert sum(each.pieces for each in found) <= 2 * sampling.PIECES


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_files_whose_turn_never_comes_are_taken_to_be_like_the_others(
    packing: str, tmp_path: Path, sample_all: Callable[..., list[Sampled]]
) -> None:
    paths = [tmp_path / f"{number:03}.txt{packing}" for number in range(100)]
    text = prose()[:200_000]
    for path in paths:
        path.write_bytes(gzip.compress(text) if packing else text)
    found = sample_all([look_at(str(path)) for path in paths], seconds=0)
    assert sum(each.pieces > 0 for each in found) <= sampling.LEAST_PIECES
    seen = next(each for each in found if each.pieces)
    unseen = next(each for each in found if not each.pieces)
    assert unseen.seen_share == 0
    assert unseen.tokens.low < seen.tokens.estimate < unseen.tokens.high
    assert unseen.text_bytes.low <= len(text) <= unseen.text_bytes.high


def test_packed_text_that_is_read_to_its_end_is_estimated_well(
    tmp_path: Path, sample: Sample, truth: Callable[..., int]
) -> None:
    text = shuffled([prose(), code(), language("de")], 20 * MEGABYTE, random.Random(5))
    path = tmp_path / "members.txt.gz"
    third = len(text) // 3
    path.write_bytes(b"".join(gzip.compress(text[i : i + third], 1) for i in range(0, len(text), third)))
    found = sample(path)
    tokens = truth(path)
    assert found.seen_share == 1
    assert found.text_bytes == Range.exactly(len(text))
    assert found.tokens.estimate == pytest.approx(tokens, rel=0.03)
    assert found.tokens.low <= tokens <= found.tokens.high


def test_packed_text_of_which_little_was_seen_has_a_wide_range(
    tmp_path: Path, sample: Sample, truth: Callable[..., int]
) -> None:
    path = tmp_path / "head.txt.gz"
    path.write_bytes(gzip.compress(repeated(prose(), 10 * MEGABYTE) + repeated(code(), 10 * MEGABYTE), 1))
    found = sample(path, seconds=0)
    tokens = truth(path)
    assert found.seen_share < 0.5
    assert found.tokens.off_by > 0.1 * found.tokens.estimate
    assert found.tokens.low <= tokens <= found.tokens.high


def test_an_archive_of_which_little_was_seen_has_a_wide_range(
    tmp_path: Path, sample: Sample, truth: Callable[..., int]
) -> None:
    path = tmp_path / "head.tar"
    with tarfile.open(path, "w") as archive:
        for name, text in (("prose.txt", prose()), ("code.txt", code())):
            (tmp_path / name).write_bytes(repeated(text, 2 * MEGABYTE))
            archive.add(tmp_path / name, name)
    found = sample(path, seconds=0)
    tokens = truth(path)
    assert found.seen_share < 0.9
    assert found.tokens.low <= tokens <= found.tokens.high


@pytest.mark.parametrize("rows_a_group", [200, 100_000], ids=["many row groups", "one row group"])
def test_parquet_is_estimated_by_its_row_groups(
    rows_a_group: int, tmp_path: Path, sample: Sample, truth: Callable[..., int]
) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    records = _records(random.Random(6), 6 * MEGABYTE)
    table = pa.table({"text": [record["text"] for record in records], "token_count": [7] * len(records)})
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=rows_a_group, compression="zstd")
    found = sample(path)
    tokens = truth(path)
    assert found.tokens.estimate == pytest.approx(tokens, rel=0.03)
    assert found.tokens.low <= tokens <= found.tokens.high
    assert found.token_count == 7 * len(records)


def test_parquet_with_texts_that_are_stored_once_is_estimated_by_rows(
    tmp_path: Path, sample: Sample, truth: Callable[..., int]
) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "repeated.parquet"
    texts = [record["text"] for record in _records(random.Random(6), 200_000)]
    pq.write_table(pa.table({"text": texts * 100}), path, row_group_size=len(texts) * 5)
    found = sample(path)
    assert found.tokens.estimate == pytest.approx(truth(path), rel=0.1)


def test_a_small_file_is_tokenized_and_the_answer_is_exact(
    real_text: Path, real_tokens: object, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "WHOLE_BYTES", 8 * MEGABYTE)
    monkeypatch.setattr(sampling, "WHOLE_S", math.inf)
    found = sample(real_text)
    assert found.tokens == Range.exactly(len(real_tokens))  # type: ignore[arg-type]


def test_a_small_file_that_takes_too_long_is_sampled(
    real_text: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "WHOLE_BYTES", 8 * MEGABYTE)
    monkeypatch.setattr(sampling, "WHOLE_S", 0)
    found = sample(real_text)
    assert not found.tokens.is_exact
    assert found.read_bytes < real_text.stat().st_size


def test_the_same_file_gives_the_same_answer(tmp_path: Path, sample: Sample) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(repeated(prose(), 18 * MEGABYTE))
    assert sample(path, seed=3) == sample(path, seed=3)


def test_sampling_leaves_in_the_page_cache_what_others_may_use(tmp_path: Path, sample: Sample) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(repeated(prose(), 18 * MEGABYTE))
    before = cached_bytes(path)
    sample(path)
    assert cached_bytes(path) >= 0.9 * before


def test_a_file_that_grows_is_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "growing.txt"
    path.write_bytes(prose()[:100_000])

    def sample_and_grow(*arguments: Any) -> list[Sampled]:
        found = sample_inputs(*arguments)
        with path.open("ab") as file:
            file.write(prose())
        return found

    monkeypatch.setattr(outlooks, "sample_inputs", sample_and_grow)
    found = outlook(TokenizeRequest((str(path),), tmp_path, SETTINGS, Resources()), ["memwatch"])
    assert any("growing.txt changed during sampling" in note for note in found.notes)
    assert found.size_bytes == 100_000


def test_a_file_that_shrinks_is_said_to(tmp_path: Path, sample_all: Callable[..., list[Sampled]]) -> None:
    path = tmp_path / "shrinking.txt"
    path.write_bytes(repeated(prose(), 18 * MEGABYTE))
    source = look_at(str(path))
    path.write_bytes(b"")
    with pytest.raises(MemwatchError, match="became shorter during sampling"):
        sample_all([source])


def test_a_jsonl_file_of_one_long_record_is_estimated(
    tmp_path: Path, sample: Sample, truth: Callable[..., int]
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"text": prose()[:300_000].decode()}))
    assert sample(path).tokens.estimate == pytest.approx(truth(path), rel=0.01)


@pytest.mark.parametrize("bad_records", ["stop", "skip"])
def test_a_record_that_is_too_long_is_named_or_left_out_and_never_read_whole(
    bad_records: Literal["stop", "skip"], tmp_path: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_sampler, "LONGEST_RECORD_BYTES", PIECE_BYTES)
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"text": prose()[:300_000].decode()}))
    settings = replace(SETTINGS, bad_records=bad_records)
    if bad_records == "stop":
        with pytest.raises(MemwatchError, match="has a record larger than"):
            sample(path, settings=settings)
    else:
        assert sample(path, settings=settings).tokens.estimate == 0


@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_packed_text_without_a_place_to_cut_is_estimated(
    kind: str, tmp_path: Path, sample: Sample, truth: Callable[..., int]
) -> None:
    path = tmp_path / f"long.{kind}.gz"
    long = [prose()[:1_500_000].replace(b"\n", b" ").decode() for _ in range(6)]
    records = "".join(json.dumps({"text": text}) + "\n" for text in long).encode()
    path.write_bytes(gzip.compress(records if kind == "jsonl" else bytes(3_000_000), 1))
    found = sample(path)
    assert found.tokens.estimate == pytest.approx(truth(path), rel=0.05)


def test_a_bad_record_in_packed_input_is_named(tmp_path: Path, sample: Sample) -> None:
    path = tmp_path / "bad.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "good"}\n' + b"bad\n" * 100_000))
    with pytest.raises(MemwatchError, match=r"a record of .*bad\.jsonl\.gz near byte .* is not JSON"):
        sample(path)


def _real_documents() -> list[str]:
    """Files as they are: most are short, a few are very long."""
    paths = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    texts = [path.read_text(errors="replace") for path in paths]
    random.Random(1).shuffle(texts)
    return [text for text in texts if text]


def _jsonl(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)))


def _packed_jsonl(path: Path, texts: list[str]) -> None:
    _jsonl(path, texts)
    path.write_bytes(gzip.compress(path.read_bytes(), 1))


def _small_row_groups(path: Path, texts: list[str]) -> None:
    pq.write_table(pa.table({"id": list(range(len(texts))), "text": texts}), path, row_group_size=2)


# The first and last bytes of a row group are sampled a little less often than others.
@pytest.mark.parametrize(
    ("write", "within"),
    [(_jsonl, 0.005), (_packed_jsonl, 0.005), (_small_row_groups, 0.01)],
    ids=["jsonl", "packed", "parquet"],
)
def test_long_and_short_documents_are_estimated_without_bias(
    write: Callable[[Path, list[str]], None],
    within: float,
    tmp_path: Path,
    sample: Sample,
    truth: Callable[..., int],
    small_pieces: None,
) -> None:
    write(tmp_path / "documents", _real_documents())
    tokens = truth(tmp_path / "documents")
    errors = [sample(tmp_path / "documents", seed=seed).tokens.estimate / tokens - 1 for seed in range(12)]
    assert abs(sum(errors) / len(errors)) < within
