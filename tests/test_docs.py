"""The documents are true as far as a program can see: what they link to and what they name exists."""

import importlib
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
ROOMS = ("memwatch", "tests", "docs", "recipes", "screenshots")
# Scripts that stand for the user's own, and files of other projects.
EXAMPLES = {"prepare.py", "my_script.py", "train.py", "hog.py", "script.py", "json.py", "data_common.py"}

LINK = re.compile(r"\]\(([^)\s]+)\)")
# Not below another folder: /run/memwatch/ and ~/.cache/memwatch/ are not in the repository.
PATH = re.compile(rf"(?<![\w./~$-])(?:{'|'.join(ROOMS)})/[\w./*-]*")
PYTHON_FILE = re.compile(r"(?<![\w.*-])[\w/]+\.py\b")
MODULE = re.compile(r"(?<![\w./-])memwatch(?:\.[A-Za-z_]\w*)+")
CONSTANT = re.compile(r"(?<![\w*])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b(?!\*)")
CLASS = re.compile(r"`((?:[A-Z][a-z]+){2,})`")
MAKE_TARGET = re.compile(r"`make ([a-z-]+)")
DOCUMENT = re.compile(r"[\w/.-]*\b[A-Za-z_]+\.md\b")


def on_each(pages: Iterable[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in pages])


def sources(*rooms: str) -> str:
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    return "\n".join(path.read_text() for path in files if path != Path(__file__))


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def exists(path: str) -> bool:
    """A path or a pattern, from the root of the repository."""
    path = path.rstrip("./")
    return any(ROOT.glob(path)) if "*" in path else (ROOT / path).exists()


def is_python_file(name: str) -> bool:
    """From the root, from the package, or by the end of its path, as people call it in a room's own document."""
    if (ROOT / name).exists() or (ROOT / "memwatch" / name).exists():
        return True
    return any(any((ROOT / room).rglob(name)) for room in ROOMS)


def is_module_or_member(name: str) -> bool:
    parent, _, member = name.rpartition(".")
    try:
        return find_spec(name) is not None or hasattr(importlib.import_module(parent), member)
    except ModuleNotFoundError:
        return False


def test_every_document_that_the_project_promises_is_there() -> None:
    promised = {"ARCHITECTURE", "CONTRIBUTING", "DIFFERENCES", "GLOSSARY", "MEASUREMENTS", "SECURITY"}
    assert promised <= {page.stem for page in DOCS}


@on_each(PAGES)
def test_what_a_page_links_to_exists(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    broken = []
    for target in targets:
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


@on_each(PAGES)
def test_the_paths_that_a_page_names_exist(page: Path) -> None:
    assert [path for path in PATH.findall(page.read_text()) if not exists(path)] == []


@on_each(DOCS)
def test_the_python_files_that_a_document_names_exist(page: Path) -> None:
    names = set(PYTHON_FILE.findall(page.read_text())) - EXAMPLES
    assert sorted(name for name in names if not is_python_file(name)) == []


@on_each(PAGES)
def test_the_modules_that_a_page_names_can_be_imported(page: Path) -> None:
    assert sorted(name for name in set(MODULE.findall(page.read_text())) if not is_module_or_member(name)) == []


@on_each(DOCS)
def test_the_constants_and_classes_that_a_document_names_are_in_the_code(page: Path) -> None:
    code = sources("memwatch", "tests") + (ROOT / "Makefile").read_text()
    names = {name for pattern in (CONSTANT, CLASS) for name in pattern.findall(page.read_text())}
    assert sorted(name for name in names if not re.search(rf"(?<![A-Za-z0-9]){name}\b", code)) == []


@on_each(PAGES)
def test_the_make_targets_that_a_page_names_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(MAKE_TARGET.findall(page.read_text())) <= targets


def test_the_code_cites_only_documents_that_are_in_the_repository() -> None:
    names = {Path(name).name for name in DOCUMENT.findall(sources("memwatch", "tests"))}
    cited = {name for name in names if name.removesuffix(".md").isupper()}  # Others are files that tests make.
    assert cited - {page.name for page in (*ROOT.glob("*.md"), *DOCS)} == set()


def test_the_code_cites_only_modules_that_exist() -> None:
    names = {name for name in PYTHON_FILE.findall(sources("memwatch")) if name.islower()}  # FILE.py stands for any.
    assert sorted(name for name in names - EXAMPLES if not is_python_file(name)) == []


def test_every_limit_is_justified() -> None:
    """A constant called MOST_ protects against a quantity that another chooses, and SECURITY.md says which."""
    sources = [path.read_text() for path in (ROOT / "memwatch").rglob("*.py")]
    limits = {name for source in sources for name in re.findall(r"^_?(MOST_\w+)(?:: \w+)? = ", source, re.MULTILINE)}
    justified = set(re.findall(r"`(MOST_\w+)`", (ROOT / "docs" / "SECURITY.md").read_text()))
    assert limits == justified
