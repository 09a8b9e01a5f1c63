"""Notebooks (.ipynb): their code cells as one script, with the cell and line that each of its lines comes from."""

import json
import re
from dataclasses import dataclass

_MAGIC = re.compile(r"\s*(?:[%!?]|.*\?$)")  # %time, !pip install, and name?


@dataclass(frozen=True, slots=True)
class Notebook:
    source: str
    places: tuple[str, ...]  # of each line: "cell 3, line 2"


def read_notebook(text: bytes) -> Notebook:
    """Raises ValueError where it is no notebook. Cells count as Jupyter shows them, code and prose alike."""
    document = json.loads(text)
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no cells")
    lines: list[str] = []
    places: list[str] = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        code = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if code.lstrip().startswith("%%"):
            continue  # Another language, or a file that is written.
        for line_number, line in enumerate(code.splitlines(), 1):
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f"{indent}pass" if _MAGIC.match(line) else line)
            places.append(f"cell {number}, line {line_number}")
    return Notebook("\n".join(lines), tuple(places))
