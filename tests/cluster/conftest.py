"""The S3 server is that of the storage tests."""

from tests.storage.conftest import s3_environment, s3_port

__all__ = ["s3_environment", "s3_port"]
