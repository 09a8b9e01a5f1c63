"""Verifies a finished folder: files that match the manifest, and tokens that match the reference."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from memwatch.errors import MemwatchError
from memwatch.storage.address import join, name_of
from memwatch.storage.store import store_of
from memwatch.tokenize import manifest as manifests
from memwatch.tokenize.block_opener import BlockOpener, BlockReader
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engine_choice import reference_name
from memwatch.tokenize.engines import Engine, reference_engine
from memwatch.tokenize.formats.format_registry import FORMATS
from memwatch.tokenize.hasher import sha256_of
from memwatch.tokenize.inputs.finding import look_at
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.row_reader import open_rows
from memwatch.tokenize.messages import BatchTask, Footers
from memwatch.tokenize.plan import cores_here
from memwatch.tokenize.segment_encoder import OpenFiles
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.shuffled_source import ShuffledSource
from memwatch.tokenize.vocabulary import Encoding
from memwatch.tokenize.vocabulary_file import encoding_of, loadable_file
from memwatch.tokenize.worker import EncodedBlock, add_batch

SAMPLE_BYTES = 256 * 1024

_EncodedMark = tuple[dict[str, Any], str, npt.NDArray[Any]]  # a mark, where it is, and the tokens that follow it


@dataclass(frozen=True, slots=True)
class Verified:
    """What was compared, and each difference in a sentence."""

    files: int
    tokens: int
    sampled_tokens: int
    reference: str
    problems: tuple[str, ...]


def verify(
    folder: str, inputs: tuple[str, ...], samples: int, seed: int | None, vocabulary: str | None = None
) -> Verified:
    """`vocabulary` is the file of the encoding, if it is not where it was."""
    try:
        return _verified(folder, inputs, samples, seed, vocabulary)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MemwatchError(f"the manifest in {folder} is damaged ({type(error).__name__}: {error})") from error


def _verified(folder: str, inputs: tuple[str, ...], samples: int, seed: int | None, vocabulary: str | None) -> Verified:
    manifest = manifests.load(folder)
    encoding = encoding_of(_settings(manifest), vocabulary)
    # Hashing lets other threads run, so several files are read at once.
    with ThreadPoolExecutor(cores_here()) as threads:
        found = threads.map(
            lambda record: list(_problems_of_file(folder, record, manifest, encoding)), manifest["files"]
        )
        problems = [problem for each in found for problem in each]
    for split, tokens in manifest["tokens"].items():
        if sum(record["tokens"] for record in manifest["files"] if record["split"] == split) != tokens:
            problems.append(f"the {split} files together do not have the {tokens} tokens of the manifest")
    sampled = 0
    if inputs and not problems:
        for tokens, problem in _samples(folder, manifest, encoding, inputs, samples, random.Random(seed)):
            sampled += tokens
            problems += [problem] if problem else []
    return Verified(
        len(manifest["files"]), sum(manifest["tokens"].values()), sampled, reference_name(encoding), tuple(problems)
    )


def _problems_of_file(
    folder: str, record: dict[str, Any], manifest: dict[str, Any], encoding: Encoding
) -> Iterator[str]:
    if name_of(record["name"]) != record["name"]:
        raise ValueError("it names files in other folders")
    address = join(folder, record["name"])
    store = store_of(address)
    try:
        size = store.info(address).size_bytes
        if size != record["size_bytes"]:
            yield f"{address} has {size} bytes and should have {record['size_bytes']}"
        elif sha256_of(address) != record["sha256"]:
            yield f"{address} has changed: its SHA-256 differs from the manifest"
    except OSError as error:
        yield f"cannot read {address}: {error.strerror}"
        return
    if record.get("holds") == "index":
        return
    output = FORMATS[manifest["settings"]["format"]]
    if store.read(address, 0, output.header_bytes) != output.header(record["tokens"], encoding.token_bytes):
        yield f"{address} does not start with a header for {record['tokens']} tokens"


def _samples(
    folder: str,
    manifest: dict[str, Any],
    encoding: Encoding,
    names: tuple[str, ...],
    samples: int,
    chance: random.Random,
) -> Iterator[tuple[int, str | None]]:
    """Tokenize parts of the input with the reference, from some of the marks on, and compare."""
    inputs = _same_inputs(names, manifest)
    settings = _settings(manifest)
    engine = reference_engine(encoding, loadable_file(encoding))
    output = _TrainTokens(folder, manifest, encoding)
    marks = manifest["marks"]
    chosen = sorted(chance.sample(marks, min(samples, len(marks))), key=lambda mark: mark["train_token"])
    if settings.shuffle is not None:
        encoded = _shuffled_tokens(inputs, settings, encoding, engine, chosen)
    else:
        encoded = _tokens_in_order(inputs, settings, encoding, engine, chosen, manifest)
    for mark, where, tokens in encoded:
        found = output.read(mark["train_token"], len(tokens))
        same = np.array_equal(found, tokens)
        yield len(tokens), None if same else f"{where}: token {mark['train_token']} and on are not {engine.name}'s"


def _tokens_in_order(
    inputs: list[Input],
    settings: TokenizeSettings,
    encoding: Encoding,
    engine: Engine,
    marks: list[dict[str, Any]],
    manifest: dict[str, Any],
) -> Iterator[_EncodedMark]:
    """A block from each mark on."""
    # The manifest says which ranges went to validation; how they were chosen does not matter here.
    settings = replace(settings, val="ratio", val_ratio="0")
    encoder = BlockEncoder(engine, encoding, settings)
    for mark in marks:
        position = ReadPosition.from_json(mark["position"])
        reader = BlockReader(inputs, settings, encoding, position)
        try:
            block = reader.next(min(SAMPLE_BYTES, _train_bytes_after(position, manifest)))
        finally:
            reader.close()
        if block is not None:
            where = f"{inputs[position.input].name} at byte {position.offset}"
            yield mark, where, encoder.encode(bytes(block.data), block.layout)[0]


def _shuffled_tokens(
    inputs: list[Input],
    settings: TokenizeSettings,
    encoding: Encoding,
    engine: Engine,
    marks: list[dict[str, Any]],
) -> Iterator[_EncodedMark]:
    """The whole batch of each mark. What was fed has no marks."""
    opener, encoder = BlockOpener(inputs, settings, encoding), BlockEncoder(engine, encoding, settings)
    for mark in marks:
        source = _shuffled_source(inputs, settings, ReadPosition.from_json(mark["position"]))
        task = source.next()
        if isinstance(task, BatchTask):
            block = EncodedBlock(np.dtype(encoding.dtype).newbyteorder("<"))
            add_batch(block, task, opener, encoder, OpenFiles(), lambda: None)
            tokens = b"".join(block.data("train", 0, block.nbytes("train")))
            yield mark, f"turn {task.turn} of --shuffle {settings.shuffle}", np.frombuffer(tokens, block.dtype)


def _shuffled_source(inputs: list[Input], settings: TokenizeSettings, start: ReadPosition) -> ShuffledSource:
    def take_footers(number: int) -> None:
        rows = open_rows(inputs[number], settings.text_column)
        source.take(Footers(number, tuple(rows.group_sizes())))
        rows.close()

    assert settings.shuffle is not None
    source = ShuffledSource(inputs, start, settings.shuffle, take_footers)
    return source


def _settings(manifest: dict[str, Any]) -> TokenizeSettings:
    known = TokenizeSettings.__dataclass_fields__
    return TokenizeSettings(**{name: value for name, value in manifest["settings"].items() if name in known})


def _train_bytes_after(position: ReadPosition, manifest: dict[str, Any]) -> int:
    """How much text follows a position before the next validation range of its input."""
    starts = [each["start"] for each in manifest["val_ranges"] if each["input"] == position.input]
    return int(min((start - position.offset for start in starts if start > position.offset), default=SAMPLE_BYTES))


def _same_inputs(names: tuple[str, ...], manifest: dict[str, Any]) -> list[Input]:
    recorded = manifest["inputs"]
    if len(names) != len(recorded):
        raise MemwatchError(f"the output has {len(recorded)} inputs; name each with --input, in the original order")
    inputs = []
    for name, then in zip(names, recorded, strict=True):
        input_format = then["input_format"] if then.get("archive") else then["kind"]
        now = look_at(name, input_format=input_format, any_bytes=True)
        if now.fingerprint is None or now.fingerprint != then["fingerprint"]:
            raise MemwatchError(f"{now.name} differs from the input in the manifest ({then['path']})")
        inputs.append(now)
    return inputs


class _TrainTokens:
    """All train files of a run as one sequence of tokens."""

    def __init__(self, folder: str, manifest: dict[str, Any], encoding: Encoding) -> None:
        self._dtype = np.dtype(encoding.dtype).newbyteorder("<")
        self._folder = folder
        self._header_bytes = FORMATS[manifest["settings"]["format"]].header_bytes
        # The first shard may be for validation; the train tokens of the input follow it.
        splits = ("val", "train") if manifest["settings"].get("val") == "first-shard" else ("train",)
        self._records = [record for split in splits for record in manifest["files"] if record["split"] == split]

    def read(self, start: int, count: int) -> npt.NDArray[Any]:
        found = [np.empty(0, self._dtype)]
        for record in self._records:
            here = range(start, min(start + count, record["tokens"]))
            if here:
                found.append(self._tokens(record["name"], here))
            count -= len(here)
            start = max(start - record["tokens"], 0)
        return np.concatenate(found)

    def _tokens(self, name: str, numbers: range) -> npt.NDArray[Any]:
        address = join(self._folder, name)
        first, last = (self._header_bytes + number * self._dtype.itemsize for number in (numbers.start, numbers.stop))
        return np.frombuffer(store_of(address).read(address, first, last), self._dtype)
