"""Make a text file, prose and code, from the documentation and the standard library of this Python.

python recipes/make_text.py demo/text.txt --mib 20
"""

import argparse
import itertools
import pydoc_data.topics
import sysconfig
from collections.abc import Iterator
from pathlib import Path

MIB = 1 << 20


def texts() -> Iterator[bytes]:
    for _, topic in sorted(pydoc_data.topics.topics.items()):
        yield topic.encode()
    for source in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" not in source.parts and is_utf8(text := source.read_bytes()):
            yield text


def is_utf8(text: bytes) -> bool:
    """Some tests of the standard library are not, on purpose."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--mib", type=float, default=20, help="Size in MiB.")
    args = parser.parse_args()
    args.file.parent.mkdir(parents=True, exist_ok=True)
    with args.file.open("wb") as out:
        for text in itertools.cycle(texts()):
            out.write(text + b"\n\n")
            if out.tell() >= args.mib * MIB:
                break
    print(f"{args.file}: {args.file.stat().st_size / MIB:.0f} MiB")


if __name__ == "__main__":
    main()
