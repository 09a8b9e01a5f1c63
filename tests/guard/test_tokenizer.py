"""The tokenizer under guard: told to, it switches to shards, and not a token is lost."""

import sys
from pathlib import Path

import numpy as np

from memwatch.model.units import MIB
from tests.cage import cage, needs_cage
from tests.conftest import Reference
from tests.faults.test_memory import random_words
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
        watched.event("note", text="switched to shards, with one worker and less memory")
        assert watched.event("exit")["code"] == 0
    shards = sorted(tmp_path.glob("train_shard_*.bin"))
    assert np.array_equal(np.concatenate([read_tokens(path) for path in shards]), long_tokens)


@needs_cage
def test_under_pressure_the_guard_switches_it_by_itself(tmp_path: Path, gpt2_reference: Reference) -> None:
    """Every word is new, which swells what the engine remembers; there is room for one worker, not for two."""
    text = random_words(tmp_path / "words.txt", 2_500_000)
    tokenize = (sys.executable, "-m", "memwatch.tokenize", text, "--val-ratio", "0", "--workers", 2)
    # It takes ten seconds of CPU time, which at a low priority are minutes beside other work.
    config = {"reserve_bytes": 200 * MIB, "pause_timeout_s": 1000, "lowers_priority": False}
    with cage(460 * MIB) as small, Watched(*tokenize, cage=small, **config) as watched:
        assert watched.event("action", action="shard")["by"] == "guard"
        watched.event("note", text="switched to shards, with one worker and less memory")
        assert watched.event("exit")["code"] == 0
    shards = sorted(tmp_path.glob("train_shard_*.bin"))
    tokens = np.concatenate([read_tokens(path) for path in shards])
    assert tokens.tolist() == gpt2_reference(text.read_text())
