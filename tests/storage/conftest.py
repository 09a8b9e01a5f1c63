"""The S3 server that the tests of a module share. It ends with them, so that no other test takes it for a job."""

from collections.abc import Iterator

import pytest

from tests.storage.s3_server import environment, running_server


@pytest.fixture(scope="module")
def s3_port() -> Iterator[int]:
    with running_server() as port:
        yield port


@pytest.fixture
def s3_environment(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> int:
    for name, value in environment(s3_port).items():
        monkeypatch.setenv(name, value)
    return s3_port
