"""Addresses are read as people write them, and never repeat a credential."""

import fnmatch

import pytest

from memwatch.errors import UsageError
from memwatch.storage.address import fixed_prefix, is_remote, join, key_pattern, name_of, parent, parse


@pytest.mark.parametrize("address", ["s3://b/k", "gs://b", "az://c/x/y", "S3://b/k"])
def test_bucket_addresses_are_remote(address: str) -> None:
    assert is_remote(address)


@pytest.mark.parametrize("address", ["data/x.txt", "/abs", "s3:/b", "file://x", "odd://name", "-", "a s3://b"])
def test_everything_else_is_a_path(address: str) -> None:
    assert not is_remote(address)


@pytest.mark.parametrize(
    "address",
    ["s3://KEY:topsecret@bucket/x", "s3://bucket/x?X-Amz-Signature=topsecret", "az://c/x?sv=1&sig=topsecret",
     "s3://bucket?sig=topsecret", "s3://host:9000/topsecret"],
)  # fmt: skip
def test_an_address_with_a_credential_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(address)
    assert "topsecret" not in str(caught.value)
    assert "environment" in str(caught.value)


def test_an_address_without_a_bucket_is_refused() -> None:
    with pytest.raises(UsageError, match="bucket name"):
        parse("s3:///key")


def test_names_and_folders() -> None:
    assert join("s3://b/x/", "y", "z.bin") == "s3://b/x/y/z.bin"
    assert join("out", "z.bin") == "out/z.bin"
    assert parent("s3://b/x/y.txt") == "s3://b/x"
    assert parent("s3://b/y.txt") == "s3://b"
    assert name_of("s3://b/x/y.txt") == "y.txt"


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("x/*.txt", "x/a.txt", True),
        ("x/*.txt", "x/y/a.txt", False),
        ("x/**/*.txt", "x/a.txt", True),
        ("x/**/*.txt", "x/y/z/a.txt", True),
        ("x/**", "x/y/z", True),
        ("x/?.txt", "x/a.txt", True),
        ("x/?.txt", "x/ab.txt", False),
        ("x/[ab].txt", "x/b.txt", True),
        ("x/[!ab].txt", "x/b.txt", False),
        ("x/[!ab].txt", "x/c.txt", True),
        ("x/a+(1).txt", "x/a+(1).txt", True),
        ("x/[.txt", "x/[.txt", True),
    ],
)
def test_patterns_match_as_glob_does(pattern: str, key: str, matches: bool) -> None:
    assert (key_pattern(pattern).fullmatch(key) is not None) == matches
    if "**" not in pattern and "/y/" not in key:
        assert fnmatch.fnmatchcase(key, pattern) == matches


def test_only_the_fixed_folder_of_a_pattern_is_listed() -> None:
    assert fixed_prefix("a/b/part-*.txt") == "a/b/"
    assert fixed_prefix("*.txt") == ""
