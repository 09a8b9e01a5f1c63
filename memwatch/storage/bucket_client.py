"""The obstore client of a bucket: where the extra is missing, how long it waits, how often it repeats a request."""

import json
import os
from datetime import timedelta
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.storage.retrying import Patience, storage_error


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
