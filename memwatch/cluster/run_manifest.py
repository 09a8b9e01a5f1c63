"""The manifest of a run on many machines, from its done-marks. The same keys as that of one machine."""

from collections.abc import Sequence
from typing import Any

from memwatch import __version__
from memwatch.cluster.run_folder import SegmentFile, SegmentMark, SharedPlan
from memwatch.tokenize.manifest import SCHEMA
from memwatch.tokenize.segments import Segment
from memwatch.tokenize.tally import LISTED_RECORDS
from memwatch.tokenize.vocabulary import Encoding

MOST_MARKS = 256


def manifest_from(
    plan: SharedPlan,
    marks: Sequence[SegmentMark],
    val: Sequence[SegmentFile],
    val_index: Sequence[SegmentFile],
    encoding: Encoding,
    seconds: float,
    peak_rss_bytes: int | None,
) -> dict[str, Any]:
    train = [mark.train for mark in marks if mark.train is not None]
    return {
        "schema": SCHEMA,
        "memwatch": __version__,
        "inputs": plan.inputs,
        "settings": plan.settings,
        "encoding": encoding.name,
        "vocabulary_sha256": encoding.vocabulary_sha256,
        "dtype": encoding.dtype,
        "engine": ", ".join(sorted({mark.engine for mark in marks})),
        "tokens": {"train": sum(file.tokens for file in train), "val": sum(file.tokens for file in val)},
        "files": [
            *(_file(file, "train") for file in train),
            *(_file(mark.train_index, "train", "index") for mark in marks if mark.train_index is not None),
            *(_file(file, "val") for file in val),
            *(_file(file, "val", "index") for file in val_index),
        ],
        "sharded": True,
        "val_ranges": _val_ranges(plan, marks),
        **{key: sum(mark.counts[key] for mark in marks) for key in _SUMS},
        "bad_records": bad_records_of(plan, marks),
        "seconds": round(seconds, 3),
        "peak_rss_bytes": peak_rss_bytes,
        "nodes": sorted({mark.node for mark in marks}),
        # With --val first-shard, the train tokens of the input follow those for validation.
        "marks": _places(marks, sum(file.tokens for file in val) if plan.settings.get("val") == "first-shard" else 0),
    }


_SUMS = ("text_bytes", "documents", "missing_texts", "replaced_bytes", "inexact_cuts", "records")


def _file(file: SegmentFile, split: str, holds: str = "tokens") -> dict[str, Any]:
    return {
        "name": file.name,
        "split": split,
        "tokens": file.tokens,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
        "holds": holds,
    }


def bad_records_of(plan: SharedPlan, marks: Sequence[SegmentMark]) -> dict[str, Any]:
    """Records that were skipped. A segment counts lines from its own start; only all marks together know the rest."""
    listed: list[dict[str, Any]] = []
    lines_before: dict[int, int] = {}
    for mark in marks:
        source = Segment(*plan.segments[mark.number]).input
        before = lines_before.get(source, 0)
        listed += [{**each, "line": before + each["line"]} for each in mark.counts["bad"]]
        lines_before[source] = before + mark.counts["records"]
    return {"skipped": sum(mark.counts["bad_records"] for mark in marks), "first": listed[:LISTED_RECORDS]}


def _val_ranges(plan: SharedPlan, marks: Sequence[SegmentMark]) -> list[dict[str, int]]:
    ranges: list[dict[str, int]] = []
    for mark in marks:
        source = Segment(*plan.segments[mark.number]).input
        for start, end in mark.counts["val_ranges"]:
            if ranges and ranges[-1]["input"] == source and ranges[-1]["end"] == start:
                ranges[-1]["end"] = end
            else:
                ranges.append({"input": source, "start": start, "end": end})
    return ranges


def _places(marks: Sequence[SegmentMark], tokens: int) -> list[dict[str, Any]]:
    """Which train token a place in the input became, for `verify`: the beginnings of some segments."""
    places, text_bytes = [], 0
    for mark in marks:
        first = mark.counts["first"]
        if first is not None:
            places.append({"total_bytes": text_bytes, "train_token": tokens, "position": first})
        tokens += 0 if mark.train is None else mark.train.tokens
        text_bytes += mark.counts["text_bytes"]
    return places[:: -(-len(places) // MOST_MARKS) or 1]
