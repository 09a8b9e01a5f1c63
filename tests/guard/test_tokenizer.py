"""The tokenizer under guard: told to, it switches to shards, and not a token is lost."""

import sys
from pathlib import Path

import numpy as np

from tests.guard.processes import Watched
from tests.helpers import read_tokens


def test_the_guard_switches_the_tokenizer_to_shards(long_text: Path, long_tokens: np.ndarray, tmp_path: Path) -> None:
    tokenize = (sys.executable, "-m", "memwatch.tokenize", long_text, "--out", tmp_path, "--val-ratio", "0")
    with Watched(*tokenize, "--engine", "tiktoken", "--workers", 1, "--block-size", "64k") as watched:
        watched.event("start")
        progress = watched.event("progress")
        assert progress["total"] == long_text.stat().st_size
        watched.tell("shard")
        action = watched.event("action", action="shard")
        assert (action["by"], action["result"]) == ("user", "done")
        watched.event("note", text="switched to shards, with one worker and little memory")
        assert watched.event("exit")["code"] == 0
    shards = sorted(tmp_path.glob("train_shard_*.bin"))
    assert np.array_equal(np.concatenate([read_tokens(path) for path in shards]), long_tokens)
