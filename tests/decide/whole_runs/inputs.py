"""The files that the recorded jobs read, made once: words as frequent as in real text, rows, tables."""

import gzip
import io
import json
import pickle
import random
from pathlib import Path

import numpy

WORDS = 400_000
LINES = 420_000


def make_inputs(folder: Path) -> None:
    """Takes a minute; what exists is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "done").exists():
        return
    generator = numpy.random.default_rng(17)
    spelt = random.Random(17)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = numpy.array(["".join(spelt.choices(letters, k=spelt.randint(2, 11))) for _ in range(WORDS)])

    def line(length: int) -> str:
        ranks = numpy.minimum(generator.zipf(1.25, length), WORDS) - 1
        return " ".join(words[ranks])

    with (folder / "text.txt").open("w") as text, (folder / "uneven.txt").open("w") as uneven:
        for number in range(LINES):
            text.write(line(int(generator.integers(8, 30))) + "\n")
            if number % 3 == 0:  # Short lines first, long ones later: what a line costs changes along the file.
                uneven.write(line(4 if number < LINES // 3 else 60) + "\n")
    with (folder / "rows.jsonl").open("w") as rows, (folder / "table.csv").open("w") as table:
        table.write("id,user,amount,text\n")
        for number in range(LINES // 2):
            user, amount, text_of = int(generator.integers(20_000)), round(random.random() * 100, 2), line(12)
            rows.write(json.dumps({"id": number, "user": user, "amount": amount, "text": text_of}) + "\n")
            table.write(f"{number},{user},{amount},{text_of}\n")
    _, _, rows_of_table = (folder / "table.csv").read_text().partition("\n")
    with (folder / "large_table.csv").open("w") as table:
        table.write("id,user,amount,text\n" + rows_of_table * 6)
    with (folder / "rows.json").open("w") as whole, (folder / "tree.xml").open("w") as tree:
        whole.write("[")
        tree.write("<rows>")
        for number in range(LINES // 3):
            whole.write(("," if number else "") + json.dumps({"id": number, "text": line(8)}))
            tree.write(f"<row id='{number}'><text>{line(8)}</text></row>\n")
        whole.write("]")
        tree.write("</rows>")
    with (folder / "rows.pickle").open("wb") as pickled:
        for _ in range(LINES // 20):
            pickle.dump([line(8).split() for _ in range(10)], pickled)
    (folder / "text.txt.gz").write_bytes(gzip.compress((folder / "text.txt").read_bytes(), 6))
    numbers = generator.random((LINES // 2, 6))
    with (folder / "numbers.csv").open("w") as table:
        table.writelines(",".join(f"{value:.6f}" for value in row) + "\n" for row in numbers)
    (folder / "done").touch()


def make_parts(whole: Path, folder: Path, part: float) -> None:
    """The same files, cut after a part of their rows."""
    folder.mkdir(exist_ok=True)
    for path in whole.iterdir():
        if (folder / path.name).exists() or path.is_dir():
            continue
        unpacked = gzip.open if path.suffix == ".gz" else open
        with unpacked(path, "rb") as file, unpacked(folder / path.name, "wb") as made:
            made.write(_part(path, file.read(), part))


def _part(path: Path, data: bytes, part: float) -> bytes:
    wanted = int(len(data) * part)
    match path.suffix:
        case ".json":
            return data[: data.index(b"},", wanted) + 1] + b"]"
        case ".xml":
            return data[: data.index(b"\n", wanted) + 1] + b"</rows>"
        case ".pickle":
            rows = io.BytesIO(data)
            while rows.tell() < wanted:
                pickle.load(rows)
            return data[: rows.tell()]
        case _:
            return data[: data.find(b"\n", wanted) + 1]
