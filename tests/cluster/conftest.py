"""The stores are those of the storage tests."""

from tests.storage.conftest import az_port, gs_port, no_provider_is_asked, s3_environment, s3_port

__all__ = ["az_port", "gs_port", "no_provider_is_asked", "s3_environment", "s3_port"]
