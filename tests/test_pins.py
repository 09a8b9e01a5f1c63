"""Every package that memwatch and its tests bring along is pinned, so that an audit speaks of what is really used."""

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"


def name_of(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def pins() -> set[str]:
    lines = [line.partition("#")[0].strip() for line in CONSTRAINTS.read_text().splitlines()]
    found = [Requirement(line) for line in lines if line]
    assert all([s.operator for s in requirement.specifier] == ["=="] for requirement in found), "a pin is one version"
    return {name_of(requirement.name) for requirement in found}


def needed(distribution: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> set[str]:
    if (distribution, extras) in seen:
        return set()
    seen.add((distribution, extras))
    names = {distribution}
    for text in metadata.requires(distribution) or ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in extras | {""}):
            names |= needed(name_of(requirement.name), frozenset(requirement.extras), seen)
    return names


def test_every_package_is_pinned_to_one_version() -> None:
    unpinned = needed("memwatch", frozenset({"dev"}), set()) - pins() - {"memwatch"}
    assert unpinned == set()
