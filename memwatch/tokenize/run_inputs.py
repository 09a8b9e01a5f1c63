"""The inputs of a run: those named, and the validation file. What they do not allow is refused before the start."""

import os
from collections.abc import Sequence
from dataclasses import replace

from memwatch.errors import UsageError
from memwatch.model.units import format_number
from memwatch.storage.address import is_remote
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.formats.format_registry import FORMATS, has_index
from memwatch.tokenize.inputs.finding import find_inputs
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.settings import VAL_RULES, TokenizeRequest, TokenizeSettings
from memwatch.tokenize.split_rule import tail_start


def run_inputs(request: TokenizeRequest, by_segment: bool = False) -> tuple[list[Input], TokenizeSettings]:
    """Called by a run, a rank and `estimate`. The settings then say which inputs are for validation."""
    settings = request.settings
    inputs = find_inputs(request.inputs, input_format=request.input_format, any_bytes=request.any_bytes)
    if settings.val not in VAL_RULES:
        val = find_inputs((settings.val,), input_format=request.input_format, any_bytes=request.any_bytes)
        # A pattern such as data/*.jsonl may match the validation file too; it is never trained on.
        for_validation = {_identity(source) for source in val}
        inputs = [source for source in inputs if _identity(source) not in for_validation]
        if not inputs:
            raise UsageError(f"--val {settings.val} is the only input, so nothing is left for training")
        settings = replace(settings, train_inputs=len(inputs))
        inputs += val
    _check_documents(settings, inputs, by_segment)
    if settings.shuffle is not None:
        _check_shuffle(settings, inputs, by_segment)
    if settings.val == "tail" and settings.wants_val:
        _check_tail(settings, inputs)
    return inputs, settings


def _identity(source: Input) -> str:
    return source.path if is_remote(source.path) or source.is_standard_input else os.path.realpath(source.path)


def _check_documents(settings: TokenizeSettings, inputs: Sequence[Input], by_segment: bool) -> None:
    text = next((source for source in inputs if source.kind == "text"), None)
    if text is None:
        return
    if separator_named(settings.documents) is None and (has_index(settings) or settings.shuffle is not None):
        asked = "--index" if settings.index else f"--format {settings.format}"
        asked = asked if has_index(settings) else "--shuffle"
        raise UsageError(
            f"{asked} needs documents, and {text.name} is plain text: name their separator with --documents line, "
            "blank or TEXT"
        )
    if by_segment and FORMATS[settings.format].keeps_documents_whole:
        raise UsageError(
            f"--format {settings.format} keeps documents whole, and segments of plain text ({text.name}) end inside "
            "documents; leave out --shard-by segment, or use jsonl or parquet"
        )


def _check_shuffle(settings: TokenizeSettings, inputs: Sequence[Input], by_segment: bool) -> None:
    if by_segment:
        raise UsageError(
            "--shuffle takes documents from all over the inputs, and a segment is a range of one input; leave out "
            "--shuffle or --shard-by segment"
        )
    if settings.val == "first-shard":
        raise UsageError(
            "--val first-shard would be other documents with each seed of --shuffle; use --val ratio, tail or a file"
        )
    if any(source.is_standard_input for source in inputs):
        raise UsageError(
            "--shuffle cannot reorder standard input, which is read once from the front; save it to a file"
        )


def shuffle_notes(settings: TokenizeSettings, inputs: Sequence[Input]) -> list[str]:
    """What --shuffle cannot do with these inputs, though it does the rest."""
    fed = [source for source in inputs if not source.is_plain and not source.has_rows]
    if settings.shuffle is None or not fed:
        return []
    others = f" and {len(fed) - 1} more" if len(fed) > 1 else ""
    is_json = not (fed[0].packing or fed[0].archive)
    what, remedy = ("a JSON file", "convert it to JSONL") if is_json else ("a compressed file", "unpack it")
    return [
        f"{fed[0].name}{others}: {what} is read from the front, so its documents move within 1 MiB only; "
        f"{remedy} to have them shuffled with all others"
    ]


def binary_notes(inputs: Sequence[Input]) -> list[str]:
    """Texts with NUL bytes are tokenized, because large collections of real text have some; a binary file has many."""
    odd = [source for source in inputs if source.nul_bytes]
    if not odd:
        return []
    others = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
    count = format_number(odd[0].nul_bytes, "NUL byte")
    return [f"{odd[0].name}{others}: {count} in its first 64 KiB, as binary files have; it is tokenized as text"]


def _check_tail(settings: TokenizeSettings, inputs: Sequence[Input]) -> None:
    """The input in which the tail begins must be one that can be read from there on."""
    at, before = tail_start(settings, inputs), 0
    for source in inputs:
        size = source.size_bytes
        if size is None or (before < at < before + size and not source.is_plain and not source.has_rows):
            is_json = not (source.packing or source.archive)
            why, remedy = ("JSON", "convert it to JSONL") if is_json else ("compressed", "unpack it")
            if size is None:
                remedy = "save it to a file"
            what = "standard input" if size is None else f"{source.name}, which is {why},"
            raise UsageError(
                f"--val tail cannot tell where the last part of {what} begins; "
                f"use --val ratio or a validation file, or {remedy}"
            )
        before += size
