"""One fault of every kind, and a short soak; `make faults` and `make soak` do it for longer."""

import random
from pathlib import Path

import pytest

from tests.faults.campaign import KINDS, one, unharmed, why_not
from tests.faults.soak import Soak


@pytest.fixture(scope="module")
def text(real_text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("campaign") / "text.txt"
    path.write_bytes(real_text.read_bytes()[:3_000_000])
    return path


@pytest.fixture(scope="module")
def expected(text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return unharmed(text, "stream", tmp_path_factory.mktemp("unharmed"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_harmed_ends_byte_identical(
    kind: str, text: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    if (why := why_not(kind)) is not None:
        pytest.skip(why)
    assert one(kind, text, "stream", tmp_path, random.Random(kind)) == expected


def test_a_short_soak_leaves_nothing_behind(text: Path, tmp_path: Path) -> None:
    outcome = Soak(text, tmp_path, seed=1).run(seconds=5)
    assert outcome.problems == [], "\n".join(outcome.lines())
