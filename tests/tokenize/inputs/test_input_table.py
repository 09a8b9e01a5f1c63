"""Many small inputs: the documents that come out, or the sentence that says why not."""
# ruff: noqa: E501  One case a line.

import gzip
import json
import lzma
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from backports import zstd

from memwatch.errors import MemwatchError
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import Gigatoken
from memwatch.tokenize.inputs.finding import look_at
from memwatch.tokenize.inputs.reading_memory import FEEDER_BYTES, reading_memory
from memwatch.tokenize.segment_encoder import encode_blocks
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding, rank_file, reference
from tests.tokenize.inputs.made import (
    PACKED,
    SKIPPABLE,
    arrow_file,
    arrow_stream,
    json_array,
    jsonl,
    long_zstd,
    parquet,
    saved,
    table,
    tar,
    zipped,
)

TEXTS = ["one two", "drei\nvier", "五 six", "", "x" * 50]
LINES = jsonl(TEXTS)
SOME, REST = jsonl(TEXTS[:2]), jsonl(TEXTS[2:])
PLAIN = b"just some text\nof two lines\n"
BOM = b"\xef\xbb\xbf"
MANY = [f"text {i} " * 20 for i in range(300)]


@pytest.fixture(scope="module")
def engine(gpt2: Encoding) -> Gigatoken:
    return Gigatoken(gpt2, rank_file(gpt2))


class Documents:
    """Reads a file as a run does, and returns its documents."""

    def __init__(self, encoding: Encoding, engine: Gigatoken) -> None:
        self._encoding, self._engine = encoding, engine
        self._decode = reference(encoding, rank_file(encoding)).decode

    def __call__(
        self, path: Path, input_format: str | None = None, limit: int = 1 << 20, **settings: object
    ) -> list[str]:
        asked = TokenizeSettings(val_ratio="0", **settings)  # type: ignore[arg-type]
        source = look_at(str(path), input_format=input_format)  # type: ignore[arg-type]
        encoder = BlockEncoder(self._engine, self._encoding, asked)
        blocks = BlockOpener([source], asked, self._encoding).open(ReadPosition())
        tokens: list[int] = []
        try:
            for piece in encode_blocks(blocks, encoder, source, ReadPosition(), limit):
                tokens += piece.tokens.tolist()
        finally:
            blocks.close()
        found = self._decode(tokens).split("<|endoftext|>")
        return found[:-1] if source.kind != "text" else found


@pytest.fixture(scope="module")
def documents(gpt2: Encoding, engine: Gigatoken) -> Documents:
    return Documents(gpt2, engine)


def nested(texts: list[str]) -> pa.Table:
    return pa.table({"meta": [{"lang": "en", "text": text} for text in texts], "id": list(range(len(texts)))})


def dictionary(texts: list[str]) -> pa.Table:
    return pa.table({"text": pa.array(texts).dictionary_encode()})


READ = {
    # jsonl that was taken for text
    "unnamed": ("a", LINES),
    "json suffix": ("a.json", LINES),
    "first record null": ("a", b"null\n" + LINES),
    "first text null": ("a", b'{"text": null}\n' + LINES),
    "first line blank": ("a", b"\n  \n" + LINES),
    "byte order mark": ("a.json", BOM + LINES),
    "no newline at the end": ("a", LINES[:-1]),
    "carriage returns": ("a", LINES.replace(b"\n", b"\r\n")),
    "upper case suffix": ("A.JSONL", LINES),
    # JSON that is not one record a line
    "array": ("a.json", json_array(TEXTS)),
    "array, indented": ("a.json", json_array(TEXTS, indent=2)),
    "array, indented by nothing": ("a.json", json_array(TEXTS, indent=0)),
    "array, unnamed": ("a", json_array(TEXTS, ensure_ascii=False)),
    "array, named jsonl": ("a.jsonl", json_array(TEXTS)),
    "array, one record a line": ("a.json", b"[\n" + LINES[:-1].replace(b"\n", b",\n") + b"\n]\n"),
    "array with a mark and null": ("a.json", BOM + b"\n[null, " + json_array(TEXTS)[1:]),
    "array with carriage returns": ("a.json", json_array(TEXTS, indent=1).replace(b"\n", b"\r\n")),
    "two arrays": ("a.json", json_array(TEXTS[:2]) + b"\n" + json_array(TEXTS[2:], indent=1)),
    "records over lines": ("a.json", b"".join(json.dumps({"text": text, "n": {}}, indent=4).encode() for text in TEXTS)),
    "records over lines, unnamed": ("a", b"\n".join(json.dumps({"text": text}, indent=1).encode() for text in TEXTS)),
    "array in gzip": ("a.json.gz", gzip.compress(json_array(TEXTS))),
    "array in tar": ("a.tar", tar(("x.json", json_array(TEXTS[:2])), ("y.jsonl", jsonl(TEXTS[2:])))),
    "array in zip": ("a.zip", zipped(("x.json", json_array(TEXTS, indent=2)))),
    # packings
    **{f"jsonl in {suffix}": (f"a.{suffix}", pack(LINES)) for suffix, pack in PACKED.items()},
    **{f"two streams of {suffix}": (f"a.{suffix}", pack(LINES[:40]) + pack(LINES[40:])) for suffix, pack in PACKED.items()},
    "packed, with another name": ("a.jsonl", gzip.compress(LINES)),
    "xz with padding": ("a.xz", lzma.compress(LINES[:40]) + b"\0" * 8 + lzma.compress(LINES[40:])),
    "zstd --long=31": ("a.zst", long_zstd(LINES)),
    "skippable frames": ("a.zst", SKIPPABLE + zstd.compress(LINES[:40]) + SKIPPABLE + zstd.compress(LINES[40:]) + SKIPPABLE),
    # archives
    "tar": ("a.tar", tar(("b/x.jsonl", LINES))),
    "tar of two members": ("a.tar", tar(("x.jsonl", SOME), ("empty.jsonl", b""), ("y.jsonl", REST))),
    "tar without a newline between members": ("a.tar", tar(("x.jsonl", SOME[:-1]), ("y.jsonl", REST))),
    **{f"tar.{packing}": (f"a.tar.{packing}", tar(("x.jsonl", LINES), packing=packing)) for packing in ("gz", "bz2", "xz")},
    "tar.zst": ("a.tar.zst", zstd.compress(tar(("x.jsonl", LINES)))),
    "tar with packed members": ("a.tar", tar(("x.jsonl.gz", gzip.compress(SOME)), ("y.jsonl.zst", zstd.compress(REST)))),
    "tar with long names": ("a.tar", tar(("d" * 200 + "/x.jsonl", LINES), form=tarfile.GNU_FORMAT)),
    "tar with long pax names": ("a.tar", tar(("é" * 200 + "/x.jsonl", LINES))),
    "tar from a Mac": ("a.tar", tar(("._x.jsonl", b"\0\5\x16\7" * 300), ("x.jsonl", LINES))),
    "zip": ("a.zip", zipped(("x.jsonl", LINES))),
    "zip of two members": ("a.zip", zipped(("x.jsonl", SOME), ("y.jsonl", REST))),
    "zip, stored": ("a.zip", zipped(("x.jsonl", LINES), how=zipfile.ZIP_STORED)),
    "zip, bz2": ("a.zip", zipped(("x.jsonl", LINES), how=zipfile.ZIP_BZIP2)),
    # rows
    "parquet": ("a.parquet", parquet(table(TEXTS))),
    "parquet without a name": ("a", parquet(table(TEXTS))),
    "parquet with checksums": ("a.parquet", parquet(table(TEXTS), write_page_checksum=True)),
    "parquet of large strings": ("a.parquet", parquet(table(TEXTS, pa.large_string()))),
    "parquet of string views": ("a.parquet", parquet(table(TEXTS, pa.string_view()))),
    "parquet of binary": ("a.parquet", parquet(table(TEXTS, pa.binary()))),
    "arrow stream": ("a.arrow", arrow_stream(table(TEXTS))),
    "arrow stream without a name": ("a", arrow_stream(table(TEXTS))),
    "arrow file": ("a.arrow", arrow_file(table(TEXTS))),
    "feather": ("a.feather", arrow_file(table(TEXTS), 5)),
    "arrow, zstd buffers": ("a.arrow", arrow_stream(table(TEXTS), compression="zstd")),
    "arrow, lz4 buffers": ("a.arrow", arrow_file(table(TEXTS), compression="lz4")),
    "arrow of large strings": ("a.arrow", arrow_stream(table(TEXTS, pa.large_string()))),
    "arrow of string views": ("a.arrow", arrow_stream(table(TEXTS, pa.string_view()))),
    "arrow of binary views": ("a.arrow", arrow_stream(table(TEXTS, pa.binary_view()))),
    "arrow of a dictionary": ("a.arrow", arrow_stream(dictionary(TEXTS))),
    "arrow file of a dictionary": ("a.arrow", arrow_file(dictionary(TEXTS))),
}  # fmt: skip


@pytest.mark.parametrize(("name", "data"), READ.values(), ids=READ)
@pytest.mark.parametrize("limit", [1 << 20, 24], ids=["large blocks", "small blocks"])
def test_records_are_documents(name: str, data: bytes, limit: int, documents: Documents, tmp_path: Path) -> None:
    assert documents(saved(tmp_path, name, data), limit=limit) == TEXTS


TEXT = {
    "text": ("a.txt", PLAIN),
    "prose that begins with a bracket": ("a", b"[1] See there.\n"),
    "wiki text": ("a", b"{{Infobox}}\n{| table\n"),
    "code": ("a", b"{\n  int x;\n}\n"),
    "numbers": ("a", b"1\n2\n3\n"),
    "a txt is a text": ("a.txt", LINES),
    "a byte order mark": ("a.txt", BOM + PLAIN),
    **{f"text in {suffix}": (f"a.txt.{suffix}", pack(PLAIN)) for suffix, pack in PACKED.items()},
    "text in tar": ("a.tar", tar(("a.txt", PLAIN))),
    "text in zip": ("a.zip", zipped(("a.txt", PLAIN))),
}  # fmt: skip


@pytest.mark.parametrize(("name", "data"), TEXT.values(), ids=TEXT)
def test_text_is_text(name: str, data: bytes, documents: Documents, tmp_path: Path) -> None:
    wanted = PLAIN if ".txt." in name or name.endswith((".tar", ".zip")) else data
    assert documents(saved(tmp_path, name, data)) == [wanted.decode()]


def test_members_of_an_archive_are_encoded_as_files_of_their_own(documents: Documents, tmp_path: Path) -> None:
    """A word across the border of two members would be another token."""
    files = [("a.txt", b"hel"), ("b.txt", b"lo wor"), ("c.txt", b"ld")]
    path = saved(tmp_path, "a.tar", tar(*files))
    source = look_at(str(path))
    opener = BlockOpener([source], TokenizeSettings(), documents._encoding)
    blocks = opener.open(ReadPosition())
    at, found = ReadPosition(), []
    while (block := blocks.next(at, 1 << 20)) is not None:
        found.append((block.name, bytes(block.data)))
        at = block.after
    blocks.close()
    assert found == [(f"{path}:{name}", data) for name, data in files]


FORCED = {
    "text that looks like jsonl": ("a", LINES, "text", [LINES.decode()]),
    "an array as it stands": ("a.json", b'[{"text": "a"}]', "text", ['[{"text": "a"}]']),
    "jsonl named like text": ("a.txt", LINES, "jsonl", TEXTS),
    "packed jsonl named like text": ("a.txt.gz", gzip.compress(LINES), "jsonl", TEXTS),
    "text named like gzip": ("a.gz", PLAIN, "text", [PLAIN.decode()]),
    "members named like text": ("a.tar", tar(("a.txt", LINES)), "jsonl", TEXTS),
}


@pytest.mark.parametrize(("name", "data", "input_format", "wanted"), FORCED.values(), ids=FORCED)
def test_the_format_that_is_asked_for_decides(
    name: str, data: bytes, input_format: str, wanted: list[str], documents: Documents, tmp_path: Path
) -> None:
    assert documents(saved(tmp_path, name, data), input_format) == wanted


NESTED = {
    "jsonl": ("a", b"".join(json.dumps({"meta": {"text": text}}).encode() + b"\n" for text in TEXTS)),
    "jsonl, by a name with a dot": ("a", b"".join(json.dumps({"meta.text": text}).encode() + b"\n" for text in TEXTS)),
    "jsonl with nothing in between": ("a", b'{"meta": null}\n' + b"".join(
        json.dumps({"meta": {"text": text}}).encode() + b"\n" for text in TEXTS)),
    "parquet": ("a.parquet", parquet(nested(TEXTS))),
    "arrow": ("a.arrow", arrow_stream(nested(TEXTS))),
}  # fmt: skip


@pytest.mark.parametrize(("name", "data"), NESTED.values(), ids=NESTED)
def test_a_field_inside_a_field_is_named_with_a_dot(
    name: str, data: bytes, documents: Documents, tmp_path: Path
) -> None:
    assert documents(saved(tmp_path, name, data), text_column="meta.text") == TEXTS


def encrypted(data: bytes) -> bytes:
    """With the flag of it, which is all that is looked at."""
    changed = bytearray(data)
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[changed.index(magic) + flags] |= 1
    return bytes(changed)


doubled = pa.Table.from_arrays([pa.array(TEXTS), pa.array(TEXTS)], names=["text", "text"])
cut = parquet(table(TEXTS))

REFUSED = {
    "array without the field": ("a", b'[\n {"text": "a"},\n {"body": "b"}]', "record 2 of"),
    "array of strings": ("a.json", b'["a", "b"]', "is a JSON array, but not of records; make records of texts with jq"),
    "object over several lines": ("a.json", b'{\n  "title": "x",\n  "body": {\n    "y": 1\n  }\n}\n', "has no field 'text' (it has body.y, title)"),
    "cut object over lines": ("a.json", b'{\n  "title": "x",\n  "body": "y",\n', "is broken JSON: record 1 at byte 0: it has no end"),
    "cut array": ("a.json", json_array(TEXTS)[:-1], "it ends in the middle of an array; is the download complete?"),
    "array without a quote": ("a.json", json_array(TEXTS).replace(b'one two"', b"one two"), "is broken JSON: record"),
    "array with a wrong value": ("a.json", json_array(TEXTS).replace(b'"id": 2', b'"id": tru'), "record 3 of"),
    "no JSON in a json": ("a.json", b"hello there", "is named like JSON but has no records"),
    "no such field": ("a", b'{"body": "x", "meta": {"y": 1}}\n', "has no field 'text' (it has body, meta.y)"),
    "field that is no text": ("a", b'{"text": ["x"]}\n', "has a field 'text' that is not text"),
    "no such column": ("a.arrow", arrow_stream(nested(TEXTS)), "name one of id, meta.lang, meta.text with --text-column"),
    "doubled columns": ("a.parquet", parquet(doubled), "has 2 columns named 'text'"),
    "doubled columns in arrow": ("a.arrow", arrow_stream(doubled), "has 2 columns named 'text'"),
    "column of numbers": ("a.arrow", arrow_stream(pa.table({"text": [1, 2]})), "holds int64, not text"),
    "parquet in gzip": ("a.parquet.gz", gzip.compress(cut), "is parquet in a gzip file; decompress it first"),
    "parquet in tar": ("a.tar", tar(("x.parquet", cut)), "x.parquet is parquet inside an archive"),
    "arrow in zip": ("a.zip", zipped(("x.arrow", arrow_file(table(TEXTS)))), "x.arrow is arrow inside an archive"),
    "tar in tar": ("a.tar", tar(("x.tar", tar(("x.txt", PLAIN)))), "x.tar is tar inside an archive"),
    "picture in tar": ("a.tar", tar(("x.jpg", bytes(range(256)) * 4)), "x.jpg does not look like text"),
    "empty tar": ("a.tar", tar(), "is empty"),
    "empty zip": ("a.zip", zipped(), "is empty"),
    "zip in gzip": ("a.zip.gz", gzip.compress(zipped(("x.txt", PLAIN))), "save and name the file"),
    "cut tar": ("a.tar", tar(("x.txt", PLAIN * 1000))[:9000], "ends in the middle of the archive, at byte 9000"),
    "tar without an end": ("a.tar", tar(("x.txt", PLAIN))[:1024], "ends in the middle of the archive, at byte 1024"),
    "cut zip": ("a.zip", zipped(("x.txt", PLAIN))[:-10], "cannot read the zip archive"),
    "zip with a password": ("a.zip", encrypted(zipped(("x.txt", PLAIN))), "is encrypted, in the member x.txt at byte 0; unpack it"),
    "cut bz2": ("a.bz2", PACKED["bz2"](LINES)[:-10], "ends in the middle of its packed data"),
    "cut xz": ("a.xz", PACKED["xz"](LINES)[:-10], "ends in the middle of its packed data"),
    "something after bz2": ("a.bz2", PACKED["bz2"](LINES) + b"rubbish", "is damaged: cannot unpack it before byte"),
    "something after xz": ("a.xz", PACKED["xz"](LINES) + b"rubbish", "is damaged: cannot unpack it before byte"),
    "something after zstd": ("a.zst", PACKED["zst"](LINES) + b"rubbish", "is damaged: cannot unpack it before byte"),
    "cut arrow stream": ("a.arrow", arrow_stream(table(TEXTS))[:-30], "ends in the middle of an Arrow message"),
    "cut arrow file": ("a.arrow", arrow_file(table(TEXTS))[:-30], "ends in the middle of an Arrow message"),
    "cut parquet": ("a.parquet", cut[:-30], "is broken or not a parquet file"),
    "no arrow": ("a.arrow", PLAIN, "is named like an arrow file but is not one"),
    "no gzip": ("a.jsonl.gz", LINES, "is named like a gzip file but is not one; --input-format says what it is"),
    "no zip": ("a.zip", PLAIN, "is named like a zip file but is not one"),
    "lz4": ("a.lz4", b"\x04\x22\x4d\x18" + bytes(100), "is lz4, which memwatch does not read"),
    "7z": ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(100), "is 7z, which memwatch does not read"),
    "pdf": ("a.pdf", b"%PDF-1.4\n1 0 obj\n" + PLAIN, "is a PDF document, which memwatch does not read"),
    "image": ("a", b"\x89PNG\r\n\x1a\n" + bytes(20), "is a PNG image, which memwatch does not read"),
    "executable": ("a", b"\x7fELF" + bytes(20), "is an executable (ELF), which memwatch does not read"),
    "pdf in tar": ("a.tar", tar(("x.pdf", b"%PDF-1.4\n")), "x.pdf is a PDF document"),
    "utf-16": ("a.jsonl", LINES.decode().encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
    "utf-16 without a mark": ("a", (PLAIN * 30).decode().encode("utf-16-be"), "iconv -f UTF-16BE -t UTF-8"),
    "utf-32": ("a.txt", PLAIN.decode().encode("utf-32"), "iconv -f UTF-32 -t UTF-8"),
    "utf-32, big end first": ("a.txt", b"\0\0\xfe\xff" + PLAIN.decode().encode("utf-32-be"), "iconv -f UTF-32 -t UTF-8"),
    "utf-32 without a mark": ("a.txt", (PLAIN * 30).decode().encode("utf-32-le"), "iconv -f UTF-32LE -t UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "data", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_in_a_sentence(
    name: str, data: bytes, words: str, documents: Documents, tmp_path: Path
) -> None:
    path = saved(tmp_path, name, data)
    with pytest.raises(MemwatchError) as refused:
        documents(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("dictionary_bytes", [1 << 20, 3 << 20, 64 << 20, 3 << 28])
def test_the_dictionary_of_an_xz_file_is_in_the_memory_plan(dictionary_bytes: int, tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_DELTA, "dist": 1}, {"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 20}]
    filters[1]["dict_size"] = dictionary_bytes if dictionary_bytes <= 64 << 20 else 1 << 20
    packed = bytearray(lzma.compress(LINES, filters=filters))
    if dictionary_bytes > 64 << 20:  # To make one takes ten times as much memory.
        packed[packed.index(b"\x21\x01") + 2] = 35
    path = saved(tmp_path, "a.jsonl.xz", bytes(packed))
    planned = reading_memory(
        [replace(look_at(str(saved(tmp_path, "b.xz", lzma.compress(LINES)))), path=str(path))], "text"
    )
    usual = dictionary_bytes if dictionary_bytes > 8 << 20 else 0
    assert planned.once_bytes == FEEDER_BYTES + usual
