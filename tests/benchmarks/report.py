"""The words and tables around the figures."""

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

VERSIONS_OF = ("memwatch", "gigatoken", "tiktoken", "tokenizers", "numpy")
MIB = 1 << 20


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Figures to the right, words to the left: a head that ends in a space is one of words."""
    rule = ["---" if head.endswith(" ") or not head else "---:" for head in heads]
    return [line([head.strip() for head in heads]), "|" + "|".join(rule) + "|", *map(line, rows)]


def line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def mebibytes(size_bytes: float) -> str:
    return f"{size_bytes / MIB:.0f}"


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown model")
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (
        f"{os.cpu_count()} cores of {model}, {memory_gib:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, {', '.join(map(version, VERSIONS_OF))}"
    )


def version(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"no {package}"
