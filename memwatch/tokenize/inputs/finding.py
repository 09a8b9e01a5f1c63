"""From names and patterns on the command line to inputs, each recognised by its beginning."""

import glob
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import replace

from memwatch.errors import MemwatchError, UsageError
from memwatch.storage.address import has_wildcard, is_remote, parse
from memwatch.storage.store import store_of
from memwatch.tokenize.inputs.archives import archive_of, format_of_member, members_of
from memwatch.tokenize.inputs.byte_streams import StandardInput, Stream
from memwatch.tokenize.inputs.input_formats import FORMATS, Kind, suffix_of
from memwatch.tokenize.inputs.input_source import (
    STANDARD_INPUT,
    Input,
    fingerprint,
    object_fingerprint,
    object_info,
)
from memwatch.tokenize.inputs.packings import PACKED_READ_BYTES, packing_named, packing_of
from memwatch.tokenize.inputs.recognition import SNIFF_BYTES, Prefixed, format_of, head_of, is_head_enough

OBJECTS_AT_ONCE = 32


def find_inputs(names: Iterable[str], *, input_format: Kind | None = None, any_bytes: bool = False) -> list[Input]:
    """Look at each input. `any_bytes` takes files that do not look like text."""
    paths = expand(names)
    if not any(map(is_remote, paths)):
        return [look_at(path, input_format=input_format, any_bytes=any_bytes) for path in paths]
    # Looking at an object is all waiting for the network.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(OBJECTS_AT_ONCE) as pool:
        return list(pool.map(lambda path: look_at(path, input_format=input_format, any_bytes=any_bytes), paths))


def expand(names: Iterable[str]) -> list[str]:
    """File names as they are, patterns in the order of their names."""
    paths: list[str] = []
    for name in names:
        if is_remote(name):
            paths += _objects(name)
        elif name == STANDARD_INPUT or os.path.lexists(name) or not glob.has_magic(name):
            paths.append(name)
        elif matches := sorted(glob.glob(name, recursive=True)):
            paths += matches
        else:
            raise MemwatchError(f"no file matches {name}")
    if paths.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    if STANDARD_INPUT in paths and any(map(is_remote, paths)):
        # A bucket is looked at in another process, which would take what it reads of standard input with it.
        raise UsageError("standard input (-) and a bucket cannot be read in one run; save standard input to a file")
    return paths


def look_at(path: str, *, input_format: Kind | None = None, any_bytes: bool = False) -> Input:
    """An input as it is now, with its format, packing and archive. Raises MemwatchError if it cannot be read."""
    if path == STANDARD_INPUT:
        seen, head, is_whole = _standard_input()
    elif is_remote(path):
        seen, head, is_whole = _remote(path)
    else:
        seen, head, is_whole = _local(path)
    seen = replace(seen, input_format=input_format, any_bytes=any_bytes, packing=packing_of(head))
    if seen.packing is not None:
        head, is_whole = _unpacked_head(seen)
    seen = replace(seen, archive=archive_of(head, suffix_of(path)))
    if seen.archive is not None:
        return replace(seen, kind=_kind_of_first_member(seen))
    named = packing_named(path) if seen.packing is None else None
    if head and input_format is None and (named or suffix_of(path) == ".zip"):
        raise MemwatchError(
            f"{seen.name} is named like a {named or 'zip'} file but is not one; --input-format says what it is"
        )
    kind = format_of(seen.name, head, is_whole, input_format, any_bytes)
    if FORMATS[kind].has_rows and (seen.packing is not None or seen.is_standard_input):
        how = f"{kind} in a {seen.packing} file; decompress it first" if seen.packing else f"{kind}; name the file"
        raise MemwatchError(f"{seen.name} is {how}: rows cannot be read from the front")
    return replace(seen, kind=kind, nul_bytes=head[:SNIFF_BYTES].count(0) if kind == "text" else 0)


def _standard_input() -> tuple[Input, bytes, bool]:
    """A packed one says what it is only when some of it is unpacked."""
    is_whole = StandardInput.look_ahead(
        lambda head: len(head) >= PACKED_READ_BYTES or (packing_of(bytes(head[:8])) is None and is_head_enough(head))
    )
    return Input(STANDARD_INPUT, "text", None, None, None, None), bytes(StandardInput.head), is_whole


def _remote(address: str) -> tuple[Input, bytes, bool]:
    info = object_info(address)
    with store_of(address).open(info, sequential=False) as file:
        head, is_whole = head_of(file.read)
    return Input(address, "text", None, info.size_bytes, info.modified_ns, object_fingerprint(info)), head, is_whole


def _local(path: str) -> tuple[Input, bytes, bool]:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise MemwatchError(f"{path} is not a regular file; to read from a pipe, use - and redirect it")
            head, is_whole = head_of(file.read)
            found = fingerprint(file.fileno(), status.st_size)
    except IsADirectoryError as error:
        raise MemwatchError(
            f"{path} is a folder; name the files in it, for example {path.rstrip('/')}/*.txt"
        ) from error
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror or error}") from error
    return Input(path, "text", None, status.st_size, status.st_mtime_ns, found), head, is_whole


def _stream(source: Input) -> Stream:
    """To look at: what is taken of standard input here is still there to be read."""
    if source.is_standard_input:
        return Stream(source, Prefixed(bytes(StandardInput.head)))
    return Stream(source)


def _unpacked_head(source: Input) -> tuple[bytes, bool]:
    with closing(_stream(source)) as stream:
        if not source.is_standard_input:
            return head_of(stream.read)
        return _seen_head(stream.read)


def _seen_head(read: Callable[[int], bytes]) -> tuple[bytes, bool]:
    """Of standard input, of which only the beginning can be seen: its end here is none."""
    seen = bytearray()

    def remember(size: int) -> bytes:
        with suppress(MemwatchError):
            data = read(size)
            seen.extend(data)
            return data
        return b""

    head_of(remember)
    return bytes(seen), False


def _kind_of_first_member(source: Input) -> Kind:
    with closing(_stream(source)) as stream, closing(members_of(source, stream)) as members:
        member = next(members, None)
        if member is None:
            raise MemwatchError(f"{source.name} is empty: the {source.archive} archive has no file with text in it")
        head, is_whole = _seen_head(member.read) if source.is_standard_input else head_of(member.read)
        return format_of_member(source, member.name, head, is_whole)


def _without_waiting(path: str, flags: int) -> int:
    """To open a pipe would last until somebody writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _objects(name: str) -> list[str]:
    """Objects that match; a key with a wildcard character in it is named by a pattern, too."""
    parse(name)
    if not has_wildcard(name):
        return [name]
    found = [info.address for info in store_of(name).glob(name)]
    if not found:
        raise MemwatchError(f"no object matches {name}")
    return found
