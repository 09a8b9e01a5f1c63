"""Azurite, Microsoft's own emulator of Azure's blob store, on loopback; `make azurite` installs it into .azurite/."""

import base64
import hashlib
import hmac
import http.client
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from email.utils import formatdate
from pathlib import Path

import pytest

from tests.helpers import HANG_S
from tests.storage.s3_server import BUCKET, free_port

MAIN = Path(__file__).parents[2] / ".azurite/node_modules/azurite/dist/src/blob/main.js"
# Both are the same in every Azurite, and published with it.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2021-12-02"


@contextmanager
def running_azurite() -> Iterator[int]:
    """The port of an Azurite with an empty container."""
    node = shutil.which("node")
    if node is None or not MAIN.exists():
        pytest.skip("az:// needs Azurite: make azurite (needs npm)")
    port = free_port()
    options = ["--inMemoryPersistence", "--extentMemoryLimit", "256", "--disableTelemetry", "--skipApiVersionCheck"]
    command = [node, str(MAIN), "--blobHost", "127.0.0.1", "--blobPort", str(port), *options]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _make_container(port)
        yield port
    finally:
        server.kill()
        server.wait()


def azure_environment(port: int) -> dict[str, str]:
    """What a user of Azurite would set."""
    return {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}"}


def _make_container(port: int) -> None:
    path = f"/{ACCOUNT}/{BUCKET}"
    deadline = time.monotonic() + HANG_S
    while True:
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)) as connection:
                connection.request("PUT", f"{path}?restype=container", body=b"", headers=_signed(path))
                answer = connection.getresponse()
                assert answer.status == 201, answer.read()
                return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def _signed(path: str) -> dict[str, str]:
    """The headers of a request that makes a container, with Azure's shared-key signature."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": VERSION}
    lines = [f"{name}:{value}" for name, value in headers.items()]
    text = "\n".join(["PUT", *[""] * 11, *lines, f"/{ACCOUNT}{path}", "restype:container"])
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    return {**headers, "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"}
