"""The stores that the tests of a module share. They end with them, so that no other test takes them for a job."""

from collections.abc import Iterator

import pytest

from memwatch.storage.store import store_of
from tests.storage.azurite import azure_environment, running_azurite
from tests.storage.s3_server import BUCKET, Faults, environment, google_environment, running_proxy, running_server

NOBODY = "127.0.0.1:9"
# Without credentials, obstore asks the machine's provider for some. Tests ask nobody.
NO_PROVIDER = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_METADATA_ENDPOINT": f"http://{NOBODY}",
    "GCE_METADATA_HOST": NOBODY,
    "GCE_METADATA_ROOT": NOBODY,
    "GCE_METADATA_IP": NOBODY,
    "IDENTITY_ENDPOINT": f"http://{NOBODY}",
    "AZURE_MSI_ENDPOINT": f"http://{NOBODY}",
}


@pytest.fixture(scope="module", autouse=True)
def no_provider_is_asked() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in NO_PROVIDER.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def s3_port() -> Iterator[int]:
    with running_server() as port:
        yield port


@pytest.fixture(scope="module")
def gs_port(s3_port: int) -> Iterator[int]:
    with running_proxy(s3_port, Faults()) as port:
        yield port


@pytest.fixture(scope="module")
def az_port() -> Iterator[int]:
    with running_azurite() as port:
        yield port


@pytest.fixture
def s3_environment(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> int:
    for name, value in environment(s3_port).items():
        monkeypatch.setenv(name, value)
    return s3_port


def bucket_of(scheme: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket of this kind, whose server the environment of the test then names."""
    port = request.getfixturevalue(f"{scheme}_port")
    named = {"s3": environment, "gs": google_environment, "az": azure_environment}[scheme](port)
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    store_of.__globals__["_bucket"].cache_clear()
    return f"{scheme}://{BUCKET}"
