"""Uploads of data that can be produced again, so that a failed upload can be repeated."""

from collections.abc import Callable, Iterable

from memwatch.storage.retrying import Patience, StorageUnavailable
from memwatch.storage.store import Store


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
