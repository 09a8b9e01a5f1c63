"""Make real English text to measure with, from the documentation that Debian packages carry.

    python tests/benchmarks/corpus.py FILE [--megabytes 300]

Downloads the packages it needs (up to 130 MB) with `apt-get download`, which needs no root and installs nothing, and
stops as soon as FILE has the size asked for. No paragraph of 80 bytes or more is written twice: repeated text would
flatter any tokenizer that remembers words.
"""

import argparse
import gzip
import html
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

PACKAGES = (
    "dict-gcide",
    "linux-doc-6.1",
    "python3.11-doc",
    "openjdk-17-doc",
    "libstdc++-12-doc",
    "rust-doc",
    "erlang-doc",
    "ghc-doc",
    "debian-handbook",
    "qtbase5-doc-html",
    "libboost1.74-doc",
)
MARKUP = re.compile(rb"<script.*?</script>|<style.*?</style>|<[^>]+>", re.S)
REMEMBER_FROM_BYTES = 80


def unpacked(package: str, into: pathlib.Path) -> pathlib.Path:
    subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package], cwd=into, check=True)
    root = into / package
    deb = next(into.glob(f"{package}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True)
    return root


def text_of_page(page: bytes) -> str:
    text = html.unescape(MARKUP.sub(b" ", page).decode("utf-8", "ignore"))
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t\xa0]+", " ", text)).strip()


def texts(root: pathlib.Path) -> Iterator[str]:
    for packed in sorted(root.rglob("*.dict.dz")):
        yield gzip.decompress(packed.read_bytes()).decode("utf-8", "ignore")
    for path in sorted(root.rglob("*.html")):
        if not path.is_symlink():
            yield text_of_page(path.read_bytes())


def without_repeats(text: str, seen: set[int]) -> str:
    kept = []
    for paragraph in text.split("\n"):
        if len(paragraph) >= REMEMBER_FROM_BYTES:
            key = hash(paragraph)
            if key in seen:
                continue
            seen.add(key)
        kept.append(paragraph)
    return "\n".join(kept)


def write_corpus(target: pathlib.Path, megabytes: int) -> int:
    seen: set[int] = set()
    written = 0
    with target.open("wb") as out:
        for package in PACKAGES:
            with tempfile.TemporaryDirectory() as folder:
                for text in texts(unpacked(package, pathlib.Path(folder))):
                    written += out.write(without_repeats(text, seen).encode() + b"\n\n")
                    if written >= megabytes * 1_000_000:
                        return written
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--megabytes", type=int, default=300)
    args = parser.parse_args()
    try:
        written = write_corpus(args.file, args.megabytes)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"corpus: cannot get the documentation packages ({error}); run 'apt-get update' first", file=sys.stderr)
        return 1
    print(f"{args.file}: {written / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
