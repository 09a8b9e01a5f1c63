"""When to try a failed request or upload again, and what to say when it keeps failing."""

import random
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.storage.store import Store

# Words of an error that are safe to repeat. The rest of a store's message may contain signed URLs or headers.
_STATUS = re.compile(r"\b([45]\d\d) ([A-Z][A-Za-z]+(?: [A-Z][A-Za-z]+)*)")
_CODE = re.compile(r"<Code>([A-Za-z]+)</Code>")
_CONNECTION = re.compile(r"connection refused|connection reset|timed out|timeout|dns error|connection closed", re.I)


class StorageUnavailable(MemwatchError):
    """The store failed in a way that may pass: what failed can be repeated as a whole."""


@dataclass(frozen=True, slots=True)
class Patience:
    """obstore repeats single requests `request_retries` times. That does not cover an answer that breaks off: reading
    continues where it broke off, and gives up after `attempts` failures in a row without a new byte."""

    attempts: int = 6
    first_wait_s: float = 0.2
    longest_wait_s: float = 20.0
    request_retries: int = 8

    def wait_s(self, failures: int, chance: float) -> float:
        """Exponential back-off with jitter, so that a thousand clients do not return at the same moment."""
        longest = min(self.first_wait_s * 2.0 ** (failures - 1), self.longest_wait_s)
        return longest * (0.5 + 0.5 * chance)

    def pause(self, failures: int) -> None:
        time.sleep(self.wait_s(failures, random.random()))


def retried(patience: Patience, request: Callable[[], Any], is_transient: Callable[[Exception], bool]) -> Any:
    """The answer of a request, repeated while its error may pass; else the last error is raised."""
    failures = 0
    while True:
        try:
            return request()
        except Exception as error:
            failures += 1
            if not is_transient(error) or failures >= patience.attempts:
                raise
        patience.pause(failures)


def storage_error(doing: str, address: str, error: Exception, transient: bool = False) -> MemwatchError:
    """One sentence without anything of the store's message that could be secret."""
    kind = StorageUnavailable if transient else MemwatchError
    return kind(f"cannot {doing} {address}: {reason(error)}")


def no_bucket(doing: str, address: str) -> MemwatchError:
    """For an address whose bucket does not exist."""
    return MemwatchError(f"cannot {doing} {address}: there is no such bucket; make it, or correct the address")


def reason(error: Exception) -> str:
    """Why a request failed: the store's code or status, never its text, which may have secrets in it."""
    text = str(error)
    code = _CODE.search(text)
    status = _STATUS.search(text)
    kind = type(error).__name__
    if kind == "PermissionDeniedError" or (status and status[1] == "403"):
        return "permission denied (HTTP 403); check the credentials in the environment"
    if kind == "UnauthenticatedError" or (status and status[1] == "401"):
        return "not authenticated (HTTP 401); check the credentials in the environment"
    if code is not None and code[1] in ("NoSuchBucket", "ContainerNotFound"):
        return "there is no such bucket; make it, or correct the address"
    if code is not None:
        return f"the store answers {code[1]}"
    if status is not None:
        return f"the store answers {status[1]} {status[2]}"
    if found := _CONNECTION.search(text):
        return f"{found[0].lower()}; check the network and the endpoint"
    return f"the request failed ({kind})"


def upload_pieces(
    store: Store,
    address: str,
    pieces: Callable[[], Iterable[bytes | memoryview]],
    scratch: str | None = None,
    patience: Patience | None = None,
) -> None:
    """Write all pieces and publish. `pieces` is called again for each attempt, so nothing is kept in memory."""
    patience = patience or Patience()
    for failures in range(1, patience.attempts + 1):
        upload = store.upload(address, scratch)
        try:
            for piece in pieces():
                upload.write(piece)
            upload.publish()
            return
        except StorageUnavailable:
            if failures == patience.attempts:
                raise
        finally:
            upload.discard()
        patience.pause(failures)
