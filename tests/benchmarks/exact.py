"""What tiktoken makes of the whole text, without any cut: the tokens that everybody's are compared with."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from memwatch.tokenize.vocabulary import encoding_named, rank_file, reference

GPT2 = encoding_named("gpt2")


def tokens_of_whole(text: Path) -> np.ndarray:
    """Made once, and kept beside the text: it takes a minute. In a process of its own, for it takes memory too."""
    kept = text.with_suffix(".tokens")
    if not kept.exists() or kept.stat().st_mtime <= text.stat().st_mtime:
        subprocess.run([sys.executable, "-m", "tests.benchmarks.exact", text, kept], check=True)
    return np.memmap(kept, dtype="<u2", mode="r")


def tokens_of_part(whole: np.ndarray, part_bytes: int) -> np.ndarray:
    """Those of the text's first bytes. The part must end where a token ends, and the text be valid UTF-8."""
    encoding = reference(GPT2, rank_file(GPT2))
    sizes = np.array([len(encoding.decode_single_token_bytes(token)) for token in range(GPT2.vocabulary_size)])
    ends = np.cumsum(sizes[whole[:part_bytes]])  # No token is shorter than a byte.
    return whole[: np.searchsorted(ends, part_bytes) + 1]


def compared(out: Path, expected: np.ndarray) -> str:
    """Whether the training files in a folder, one after the other, are the expected tokens; in words."""
    files = sorted(out.glob("train*.bin"))
    if not files:
        return "no output"
    found = np.concatenate([np.fromfile(file, dtype="<u2") for file in files])
    shared = min(len(found), len(expected))
    differing = np.flatnonzero(found[:shared] != expected[:shared])
    if len(differing):
        return f"no, from token {differing[0]:,} on"
    return "yes" if len(found) == len(expected) else f"no, {len(found):,} tokens for {len(expected):,}"


def write_reference(text: Path, kept: Path) -> None:
    characters = text.read_bytes().decode("utf-8", "replace")
    whole = reference(GPT2, rank_file(GPT2)).encode_to_numpy(characters, disallowed_special=())
    unfinished = kept.with_suffix(".tokens.tmp")
    whole.astype("<u2").tofile(unfinished)
    unfinished.replace(kept)


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]), Path(sys.argv[2]))
