"""Objects in a bucket, through obstore (S3, Google Cloud Storage, Azure).

Credentials come from the environment by obstore's own means (AWS_ACCESS_KEY_ID, instance roles, GOOGLE_... and
AZURE_... variables); this module neither reads nor prints them.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB, MIB
from memwatch.storage.address import fixed_prefix, key_pattern, parse
from memwatch.storage.object_file import ObjectFile
from memwatch.storage.retrying import Patience, no_bucket, retried, storage_error
from memwatch.storage.store import ObjectInfo, Upload

if TYPE_CHECKING:
    import io
import json
import os
from datetime import timedelta

# One request reads at most this much, so that a slow connection is renewed now and then.
REQUEST_BYTES = 64 * MIB
# What is given to the reader at a time; a connection that breaks loses at most this much.
PIECE_BYTES = 64 * KIB
# A writer holds one part and has two under way. S3 allows 10,000 parts, so objects of 80 GB.
PART_BYTES = 8 * MIB
PARTS_IN_FLIGHT = 2
LIST_CHUNK = 1000
_NOT_IMPLEMENTED = re.compile(r"\b501 Not Implemented\b")


class BucketStore:
    """A bucket of S3, Google Cloud or Azure, through obstore. Requests that fail for a moment are repeated."""

    def __init__(self, bucket_url: str, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()
        self._obstore, self._store = open_bucket(bucket_url, self._patience)
        # A store that cannot put conditionally answers 501, which obstore would repeat for a minute.
        self._once = open_bucket(bucket_url, replace(self._patience, request_retries=0))[1]
        self._url = bucket_url

    def glob(self, pattern: str) -> list[ObjectInfo]:
        key = parse(pattern).key
        matches = key_pattern(key)
        found = [info for info in self._list(fixed_prefix(key)) if matches.fullmatch(parse(info.address).key)]
        return sorted(found, key=lambda info: info.address)

    def list_folder(self, folder: str) -> Iterator[ObjectInfo]:
        yield from self._list(parse(folder).key.rstrip("/") + "/")

    def _list(self, prefix: str) -> list[ObjectInfo]:
        where = f"{self._url}/{prefix}"

        def collect() -> list[ObjectInfo]:
            stream = self._obstore.list(self._store, prefix=prefix.lstrip("/"), chunk_size=LIST_CHUNK)
            return [self._info(meta) for chunk in stream for meta in chunk]

        try:
            found: list[ObjectInfo] = self._retried(collect)
        except FileNotFoundError as error:
            raise no_bucket("list", where) from error
        except self._errors as error:
            raise storage_error("list", where, error, self._is_transient(error)) from None
        return found

    def info(self, address: str) -> ObjectInfo:
        with self._sentences("look at", address):
            return self._info(self._retried(lambda: self._obstore.head(self._store, parse(address).key)))

    def read(self, address: str, start: int = 0, end: int | None = None) -> bytes:
        if end is None:
            end = self.info(address).size_bytes
        return b"".join(self.pieces(address, start, end, None))

    def pieces(self, address: str, start: int, end: int, version: str | None) -> Iterator[bytes]:
        """The bytes of a range as they arrive. An answer that breaks off is continued where it broke off."""
        failures = 0
        while start < end:
            try:
                answer = self._request(address, start, min(end, start + REQUEST_BYTES), version)
                end = min(end, answer.meta["size"])
                for piece in answer.stream(min_chunk_size=PIECE_BYTES):
                    start += len(piece)
                    failures = 0
                    yield bytes(piece)
                if start < answer.range[1]:
                    raise _AnswerTooShort("connection closed")
            except Exception as error:
                failures += 1
                if not self._is_transient(error) or failures >= self._patience.attempts:
                    raise self._reading_error(address, error) from None
                self._patience.pause(failures)

    def _request(self, address: str, start: int, end: int, version: str | None) -> Any:
        options: dict[str, Any] = {"range": (start, end)}
        if version is not None:
            options["if_match"] = version
        answer = self._obstore.get(self._store, parse(address).key, options=options)
        # A store that ignores ranges sends everything, which would be taken for the range.
        if answer.range[0] != start:
            raise MemwatchError(f"cannot read {address}: the store does not answer requests for a range")
        return answer

    def _reading_error(self, address: str, error: Exception) -> Exception:
        if isinstance(error, self._exceptions.PreconditionError):
            return MemwatchError(f"{address} changed while it was read; when it is complete, start over with --fresh")
        if isinstance(error, (*self._errors, _AnswerTooShort)) and not isinstance(error, FileNotFoundError):
            return storage_error("read", address, error, self._is_transient(error))
        return error

    def open(self, info: ObjectInfo, sequential: bool) -> "io.RawIOBase":
        return ObjectFile(self, info, sequential)

    def upload(self, address: str, scratch: str | None = None) -> Upload:
        return BucketUpload(self, address)

    def put(self, address: str, data: bytes) -> None:
        with self._sentences("write", address):
            self._retried(lambda: self._obstore.put(self._store, parse(address).key, data, use_multipart=False))

    def put_if_absent(self, address: str, data: bytes) -> bool:
        refused = (self._exceptions.AlreadyExistsError, self._exceptions.PreconditionError)
        try:
            self._retried(lambda: self._obstore.put(self._once, parse(address).key, data, mode="create"))
            return True
        except refused:
            return False
        except self._errors:
            # Some stores answer 501 to a conditional put.
            try:
                self.info(address)
                return False
            except FileNotFoundError:
                self.put(address, data)
                return True

    def remove(self, address: str) -> None:
        with self._sentences("remove", address):
            try:
                self._retried(lambda: self._obstore.delete(self._store, parse(address).key))
            except FileNotFoundError:
                return

    def writer(self, address: str) -> Any:
        return self._obstore.open_writer(
            self._store, parse(address).key, buffer_size=PART_BYTES, max_concurrency=PARTS_IN_FLIGHT
        )

    @property
    def _exceptions(self) -> Any:
        return self._obstore.exceptions

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        # obstore raises built-in errors too: OSError from writers, ValueError for a range outside the object.
        return (self._exceptions.BaseError, OSError, ValueError)

    def _is_transient(self, error: Exception) -> bool:
        if _NOT_IMPLEMENTED.search(str(error)):
            return False
        return isinstance(error, self._exceptions.GenericError | _AnswerTooShort) or (
            isinstance(error, OSError) and not isinstance(error, FileNotFoundError)
        )

    def _retried(self, request: Callable[[], Any]) -> Any:
        return retried(self._patience, request, self._is_transient)

    @contextmanager
    def _sentences(self, doing: str, address: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            if doing == "write":
                raise no_bucket(doing, address) from None
            raise FileNotFoundError(2, "No such object", address) from None
        except self._errors as error:
            raise storage_error(doing, address, error, self._is_transient(error)) from None

    def _info(self, meta: Any) -> ObjectInfo:
        modified_ns = int(meta["last_modified"].timestamp() * 1e6) * 1000
        return ObjectInfo(f"{self._url}/{meta['path']}", meta["size"], modified_ns, meta["e_tag"])

    def upload_step(self, doing: Callable[[], Any], address: str) -> None:
        """A failed upload cannot be continued: a multipart upload whose start or end was not confirmed is not repeated
        by obstore. The caller repeats it as a whole (`upload_pieces`)."""
        with self._sentences("write", address):
            doing()


class BucketUpload:
    """A multipart upload, or one put if it is small. An upload that is discarded leaves no object; its parts remain
    hidden in the bucket until the bucket's lifecycle rule removes them."""

    def __init__(self, store: BucketStore, address: str) -> None:
        self._store = store
        self._address = address
        self._writer = store.writer(address)

    def write(self, data: bytes | memoryview) -> None:
        self._store.upload_step(lambda: self._writer.write(data), self._address)

    def publish(self) -> None:
        self._store.upload_step(self._writer.close, self._address)
        self._writer = None

    def discard(self) -> None:
        # Without close() nothing is published.
        self._writer = None


class _AnswerTooShort(Exception):
    """The answer ended before the range did, without an error."""


def open_bucket(bucket_url: str, patience: Patience) -> tuple[Any, Any]:
    """The obstore module and its store. Credentials are obstore's business: it reads the environment itself."""
    try:
        import obstore
        import obstore.store
    except ImportError as error:
        scheme = bucket_url.partition("://")[0]
        raise MemwatchError(
            f"{scheme}:// addresses need the package obstore; install it with: pip install 'memwatch[cloud]'"
        ) from error
    client: dict[str, Any] = {
        "timeout": timedelta(minutes=10),
        "connect_timeout": timedelta(seconds=10),
        "read_timeout": timedelta(seconds=30),
    }
    # A store on the local network often has no TLS. The signature of a request does not reveal the key.
    if os.environ.get("AWS_ENDPOINT_URL", os.environ.get("AWS_ENDPOINT", "")).startswith("http://"):
        client["allow_http"] = True
    config: dict[str, Any] = {}
    # As Google's own libraries read it. An emulator takes no credentials, and none are looked for.
    if bucket_url.startswith("gs://") and (emulator := os.environ.get("STORAGE_EMULATOR_HOST")):
        client["allow_http"] = True
        base_url = emulator if "://" in emulator else f"http://{emulator}"
        names = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        config["service_account_key"] = json.dumps({"gcs_base_url": base_url, "disable_oauth": True, **names})
    retry = {
        "max_retries": patience.request_retries,
        "backoff": {
            "init_backoff": timedelta(seconds=patience.first_wait_s),
            "max_backoff": timedelta(seconds=patience.longest_wait_s),
            "base": 2,
        },
        "retry_timeout": timedelta(minutes=5),
    }
    try:
        return obstore, obstore.store.from_url(bucket_url, config=config, client_options=client, retry_config=retry)
    except (obstore.exceptions.BaseError, ValueError) as error:
        raise storage_error("open", bucket_url, error) from None
