"""Make a file of real text, prose and code, from what every Python carries: its documentation and its library.

python recipes/make_text.py demo/text.txt --megabytes 20
"""

import argparse
import itertools
import pydoc_data.topics
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def texts() -> Iterator[bytes]:
    for _, topic in sorted(pydoc_data.topics.topics.items()):
        yield topic.encode()
    for source in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" not in source.parts and is_utf8(text := source.read_bytes()):
            yield text


def is_utf8(text: bytes) -> bool:
    """A few of the library's own tests are not, on purpose."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=float, default=20)
    args = parser.parse_args()
    args.file.parent.mkdir(parents=True, exist_ok=True)
    with args.file.open("wb") as out:
        for text in itertools.cycle(texts()):
            out.write(text + b"\n\n")
            if out.tell() >= args.megabytes * 1_000_000:
                break
    print(f"{args.file}: {args.file.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
