"""Inputs for tests, made in a folder: the same documents in every format and packing."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd

Texts = Sequence[str | None]


def jsonl(texts: Texts, **fields: Any) -> bytes:
    return b"".join(json.dumps({"id": i, **fields, "text": text}).encode() + b"\n" for i, text in enumerate(texts))


def json_array(texts: Texts, **layout: Any) -> bytes:
    """All records in one array, as json.dumps lays it out."""
    return json.dumps(
        [{"id": i, "text": text, "more": [{"a": "}]"}]} for i, text in enumerate(texts)], **layout
    ).encode()


def tar(*members: tuple[str, bytes], packing: str = "", form: int = tarfile.PAX_FORMAT) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{packing}", format=form) as archive:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def zipped(*members: tuple[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", how) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return data.getvalue()


def long_zstd(data: bytes) -> bytes:
    """As `zstd --long=31` makes it from a pipe: with a window of 2 GiB."""
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 31})
    return compressor.compress(data) + compressor.flush()


def checked_zstd(data: bytes) -> bytes:
    """With a checksum, as the command line tool makes it."""
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


SKIPPABLE = b"\x5a\x2a\x4d\x18\x05\0\0\0hello"

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": checked_zstd,
}


def table(texts: Texts, kind: pa.DataType | None = None) -> pa.Table:
    column = pa.array(texts, pa.string()).cast(kind) if kind is not None else pa.array(texts, pa.string())
    return pa.table({"id": list(range(len(texts))), "text": column})


def arrow_stream(table: pa.Table, rows_a_batch: int = 2, **options: Any) -> bytes:
    data = io.BytesIO()
    with pa.ipc.new_stream(data, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows_a_batch)
    return data.getvalue()


def arrow_file(table: pa.Table, rows_a_batch: int = 2, **options: Any) -> bytes:
    data = io.BytesIO()
    with pa.ipc.new_file(data, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows_a_batch)
    return data.getvalue()


def parquet(table: pa.Table, rows_a_group: int = 2, **options: Any) -> bytes:
    data = io.BytesIO()
    pq.write_table(table, data, row_group_size=rows_a_group, **options)
    return data.getvalue()


def saved(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path
