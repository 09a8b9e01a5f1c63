"""The members of tar and zip files, one after the other.

tar is read from the front, so it may be packed or come from standard input. The standard library's reader takes a
damaged header for the end of the archive; this one does not. zip needs a file to seek in.
"""

import tarfile
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.tokenize.inputs.byte_streams import Stream, open_once
from memwatch.tokenize.inputs.input_formats import FORMATS, Kind
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.packings import Unpacker, packing_of
from memwatch.tokenize.inputs.recognition import Prefixed, format_of

ARCHIVES = ("tar", "zip")  # as they are named in `Input.archive` and shown to users
BLOCK_BYTES = tarfile.BLOCKSIZE
# Names and other attributes are held in memory.
LARGEST_ATTRIBUTES_BYTES = 1 * MIB
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_LONGEST_MAGIC_BYTES = 6
_ENCRYPTED = 1  # a flag of a member of a zip archive
# Members that describe the next one.
_ATTRIBUTES = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK
)  # fmt: skip


def archive_of(head: bytes, suffix: str) -> str | None:
    """The kind of archive, by the beginning of the unpacked file; None if it is none. The oldest tar files have no
    magic; they are recognised by name."""
    if head.startswith(_ZIP_MAGICS):
        return "zip"
    is_tar = head[257:262] == b"ustar" or (suffix == ".tar" and len(head) >= BLOCK_BYTES)
    return "tar" if is_tar else None


def format_of_member(source: Input, name: str, head: bytes, is_whole: bool) -> Kind:
    """The format of a member, by its name and beginning. Raises MemwatchError for what needs a whole file."""
    inner = archive_of(head, "")
    kind = format_of(name, head, is_whole, source.input_format, source.any_bytes) if inner is None else "text"
    if inner is not None or FORMATS[kind].has_rows:
        raise MemwatchError(
            f"{name} is {inner or kind} inside an archive, which is read from the front; unpack the archive first"
        )
    return kind


class ArchiveMember(NamedTuple):
    """A file inside an archive; `read` returns its unpacked bytes."""

    name: str  # the archive's and its own
    read: Callable[[int], bytes]


def members_of(source: Input, stream: Stream) -> Generator[ArchiveMember, None, None]:
    """All members with something in them, unpacked. Each must be read before the next."""
    found = _zip_members(source) if source.archive == "zip" else _tar_members(source.name, stream.read)
    for name, read in found:
        if _is_extra(name):
            continue
        full_name = f"{source.name}:{name}"
        head = b""
        while len(head) < _LONGEST_MAGIC_BYTES and (data := read(_LONGEST_MAGIC_BYTES - len(head))):
            head += data
        file = Prefixed(head, read)
        packing = packing_of(head)
        if head:
            yield ArchiveMember(full_name, file.read if packing is None else Unpacker(file, packing, full_name).read)


def _is_extra(name: str) -> bool:
    """What macOS puts beside each file."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith("._")


class _TarReader:
    """Reads the headers and data of a tar file from the front."""

    def __init__(self, name: str, read: Callable[[int], bytes]) -> None:
        self.name = name
        self.offset = 0
        self._read = read
        self._data_left = 0  # of the current member
        self._padding = 0

    def next_header(self) -> tarfile.TarInfo | None:
        while self.data(MIB):
            pass
        self._exactly(self._padding)
        offset = self.offset
        try:
            info = tarfile.TarInfo.frombuf(self._exactly(BLOCK_BYTES), "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            if isinstance(error, tarfile.EOFHeaderError):  # type: ignore[attr-defined]
                return None
            raise MemwatchError(f"{self.name} is damaged: no tar header at byte {offset} ({error})") from error
        self.begin(info, info.size)
        return info

    def begin(self, info: tarfile.TarInfo, size: int) -> None:
        """How much data follows a header: links and folders have none."""
        has_data = info.isreg() or info.type in _ATTRIBUTES or info.type not in tarfile.SUPPORTED_TYPES
        self._data_left = size if has_data else 0
        self._padding = -self._data_left % BLOCK_BYTES

    def data(self, size: int) -> bytes:
        """Of the current member; nothing at its end."""
        data = self._some(min(size, self._data_left)) if self._data_left else b""
        self._data_left -= len(data)
        return data

    def attributes(self) -> bytes:
        if self._data_left > LARGEST_ATTRIBUTES_BYTES:
            raise MemwatchError(f"{self.name} is damaged: attributes of {self._data_left} bytes at byte {self.offset}")
        return self._exactly(self._data_left, is_data=True)

    def _some(self, size: int) -> bytes:
        data = self._read(size)
        if not data:
            raise MemwatchError(
                f"{self.name} ends in the middle of the archive, at byte {self.offset}; is the download complete?"
            )
        self.offset += len(data)
        return data

    def _exactly(self, size: int, is_data: bool = False) -> bytes:
        found = b""
        while len(found) < size:
            found += (self.data if is_data else self._some)(size - len(found))
        return found


def _tar_members(name: str, read: Callable[[int], bytes]) -> Iterator[ArchiveMember]:
    tar = _TarReader(name, read)
    attributes: dict[str, str] = {}
    while (info := tar.next_header()) is not None:
        if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            attributes |= _pax_attributes(tar)
        elif info.type == tarfile.GNUTYPE_LONGNAME:
            attributes["path"] = tar.attributes().rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif info.type not in _ATTRIBUTES:
            member, attributes = attributes, {}
            if info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse") for key in member):
                raise MemwatchError(f"{name} has a sparse member, {info.name}, at byte {tar.offset}; unpack it first")
            tar.begin(info, int(member.get("size", info.size)))
            if info.isreg():
                yield ArchiveMember(member.get("path", info.name), tar.data)


def _pax_attributes(tar: _TarReader) -> dict[str, str]:
    """Records of the form "20 path=a/long/name\\n", where the number is the length of the record."""
    rest, found = tar.attributes(), {}
    try:
        while rest:
            length = int(rest[: rest.index(b" ")])
            key, equals, value = rest[rest.index(b" ") + 1 : length - 1].partition(b"=")
            if not equals or rest[length - 1 : length] != b"\n":
                raise ValueError("a record has no end")
            found[key.decode()] = value.decode("utf-8", "surrogateescape")
            rest = rest[length:]
        int(found.get("size", "0"))
    except ValueError as error:
        raise MemwatchError(f"{tar.name} is damaged: bad attributes before byte {tar.offset} ({error})") from error
    return found


def _zip_members(source: Input) -> Iterator[ArchiveMember]:
    import zipfile

    if source.packing is not None or source.is_standard_input:
        raise MemwatchError(
            f"{source.name} is a zip archive that cannot be read from the front; save and name the file"
        )
    file = open_once(source.path, sequential=False)
    where = ""
    try:
        with zipfile.ZipFile(file) as archive:
            for info in sorted(archive.infolist(), key=lambda each: each.header_offset):
                where = f", in the member {info.filename} at byte {info.header_offset}"
                if info.flag_bits & _ENCRYPTED:
                    raise MemwatchError(f"{source.name} is encrypted{where}; unpack it with its password first")
                if not info.is_dir() and info.file_size:
                    with archive.open(info) as member:
                        yield ArchiveMember(info.filename, _named_damage(member.read, source.name + where))
    except MemwatchError:
        raise
    except Exception as error:  # BadZipFile, NotImplementedError, RuntimeError for a password, struct.error ...
        raise MemwatchError(
            f"cannot read the zip archive {source.name}{where}: {error or type(error).__name__}"
        ) from error
    finally:
        file.close()


def _named_damage(read: Callable[[int], bytes], name: str) -> Callable[[int], bytes]:
    def checked(size: int) -> bytes:
        try:
            return read(size)
        except Exception as error:  # zlib.error, BadZipFile for a wrong CRC, EOFError ...
            raise MemwatchError(f"{name} is damaged ({error or type(error).__name__})") from error

    return checked
