"""Addresses: paths, and URLs of objects in a bucket. Pure functions of text.

An address ends up in logs, journals and manifests, so one that could carry a credential is refused.
"""

import os
import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache

from memwatch.errors import UsageError

SCHEMES = ("s3", "gs", "az")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9$][A-Za-z0-9._-]*")
_MAGIC = re.compile(r"[*?[]")


@dataclass(frozen=True, slots=True)
class ObjectAddress:
    """The parts of scheme://bucket/key."""

    scheme: str
    bucket: str
    key: str

    @property
    def bucket_url(self) -> str:
        return f"{self.scheme}://{self.bucket}"

    def __str__(self) -> str:
        return f"{self.bucket_url}/{self.key}"


def is_remote(address: str) -> bool:
    """Whether the address names an object in a bucket. Any other text is a path, also one with `://` in a folder."""
    found = _URL.fullmatch(address)
    return found is not None and found[1].lower() in SCHEMES


def parse(address: str) -> ObjectAddress:
    """The parts of a remote address. The error never repeats the address: it may contain a password."""
    found = _URL.fullmatch(address)
    if found is None or found[1].lower() not in SCHEMES:
        raise UsageError(f"not an address in a bucket; it starts with one of {', '.join(f'{s}://' for s in SCHEMES)}")
    scheme = found[1].lower()
    bucket, _, key = found[2].partition("/")
    if "@" in bucket or ":" in bucket:
        raise UsageError(
            f"a {scheme}:// address must not contain a user name, password or port; "
            "set credentials and the endpoint in the environment, for example AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL"
        )
    if _has_query(key) or _has_query(bucket):
        raise UsageError(
            f"a {scheme}:// address must not contain a query such as ?X-Amz-Signature=...; "
            "set credentials in the environment, for example AWS_ACCESS_KEY_ID"
        )
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(f"the {scheme}:// address has no valid bucket name; write {scheme}://bucket/folder/file")
    return ObjectAddress(scheme, bucket, key)


def _has_query(text: str) -> bool:
    """A question mark is also a wildcard; followed by `name=` it starts a query."""
    return re.search(r"\?[^/?*]*=", text) is not None


def join(folder: str, *names: str) -> str:
    """An address below a folder, local or remote."""
    if is_remote(folder):
        return "/".join([folder.rstrip("/"), *names])
    return os.path.join(folder, *names)


def parent(address: str) -> str:
    """The folder of an address. A key without a slash lies in the bucket itself."""
    if not is_remote(address):
        return os.path.dirname(address)
    parts = parse(address)
    return f"{parts.bucket_url}/{posixpath.dirname(parts.key)}".rstrip("/")


def name_of(address: str) -> str:
    """The last part of an address."""
    return posixpath.basename(address) if is_remote(address) else os.path.basename(address)


def has_wildcard(text: str) -> bool:
    """Whether a text is a pattern and not the name of one file."""
    return _MAGIC.search(text) is not None


def fixed_prefix(pattern: str) -> str:
    """The longest prefix of a key pattern up to a slash that has no wildcard: what a store lists."""
    found = _MAGIC.search(pattern)
    head = pattern if found is None else pattern[: found.start()]
    return head[: head.rfind("/") + 1]


@lru_cache(maxsize=16)
def key_pattern(pattern: str) -> re.Pattern[str]:
    """As glob reads patterns: `*` and `?` stop at a slash, `**` as a whole part matches any number of folders."""
    parts = pattern.split("/")
    translated = []
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if part == "**":
            translated.append(".*" if last else "(?:[^/]+/)*")
        else:
            translated.append(_part_pattern(part) + ("" if last else "/"))
    return re.compile("".join(translated), re.DOTALL)


def _part_pattern(part: str) -> str:
    text = ""
    while part:
        if found := re.match(r"\[(!?)(\]?[^\]]*)\]", part):
            inside = found[2].replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^")
            text += f"[{'^/' if found[1] else ''}{inside}]"
        elif found := re.match(r"\*+", part):
            text += "[^/]*"
        elif found := re.match(r"\?", part):
            text += "[^/]"
        else:
            found = re.match(r".", part, re.DOTALL)
            assert found is not None
            text += re.escape(found[0])
        part = part[found.end() :]
    return text
