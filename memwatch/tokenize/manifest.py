"""manifest.json: the inputs, settings and output files of a finished run."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memwatch import __version__
from memwatch.errors import MemwatchError
from memwatch.storage.address import join
from memwatch.storage.store import store_of
from memwatch.tokenize.checkpoint import Checkpoint
from memwatch.tokenize.output_state import FileRecord
from memwatch.tokenize.settings import Split
from memwatch.tokenize.vocabulary import Encoding
from memwatch.whole_file import whole_file

SCHEMA = 1
NAME = "manifest.json"


def manifest_of(checkpoint: Checkpoint, encoding: Encoding) -> dict[str, Any]:
    """The content of manifest.json, from the last checkpoint of a run."""
    totals = checkpoint.totals
    return {
        "schema": SCHEMA,
        "memwatch": __version__,
        "inputs": checkpoint.inputs,
        "settings": checkpoint.settings,
        "encoding": encoding.name,
        "vocabulary_sha256": encoding.vocabulary_sha256,
        "dtype": encoding.dtype,
        "engine": ", ".join(totals.engines),
        "tokens": {split: tokens_of(checkpoint.outputs.complete, split) for split in ("train", "val")},
        "files": [
            {key: value for key, value in record.as_json().items() if key != "part"}
            for record in checkpoint.outputs.complete
        ],
        "sharded": checkpoint.outputs.sharded,
        "val_ranges": [
            {"input": source, "start": start, "end": end} for source, start, end in sorted(totals.val_ranges)
        ],
        "text_bytes": totals.text_bytes,
        "documents": totals.documents,
        "missing_texts": totals.missing_texts,
        "replaced_bytes": totals.replaced_bytes,
        "inexact_cuts": totals.inexact_cuts,
        "records": totals.records,
        "bad_records": {"skipped": totals.bad_records, "first": totals.bad},
        "seconds": round(totals.seconds, 3),
        "time_s": {what: round(took_s, 3) for what, took_s in totals.time_s.items()},
        "peak_rss_bytes": totals.peak_rss_bytes,
        "marks": totals.marks,
    }


def tokens_of(files: Iterable[FileRecord], split: Split) -> int:
    """How many tokens the files of a split have together."""
    return sum(record.tokens for record in files if record.split == split)


def save(manifest: dict[str, Any], partial: Path, folder: Path) -> None:
    """Written in the partial folder and renamed, so that a manifest is always complete."""
    with whole_file(folder / NAME, partial / NAME) as file:
        file.write(json.dumps(manifest, indent=1).encode() + b"\n")


def load(folder: str) -> dict[str, Any]:
    """The manifest of a finished run in a folder or a bucket."""
    address = join(folder, NAME)
    try:
        manifest = json.loads(store_of(address).read(address))
    except FileNotFoundError as error:
        raise MemwatchError(f"{folder} has no {NAME}, so it holds no finished output") from error
    except (OSError, ValueError) as error:
        raise MemwatchError(f"cannot read {address}: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise MemwatchError(f"{address} is not a manifest of this version of memwatch")
    return manifest
