"""The tokenizer that a Ray worker keeps for its next segment."""

import subprocess
import sys
import time

import pytest

from memwatch.cluster.guarded_tokenizer import GuardedTokenizer
from memwatch.cluster.segment_tasks import SegmentTask


def test_a_tokenizer_that_has_exited_before_the_next_segment_made_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN one that was idle too long between two tasks, and is cleaned up; THEN the task starts another."""
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **options: start([sys.executable, "-c", ""], **options))
    tokenizer = GuardedTokenizer(SegmentTask("out", 0, "tiktoken", 0, "1", 1.0, "plan"), "node", [])
    stdin = tokenizer._process.stdin
    while stdin is not None and not stdin.closed:
        time.sleep(0.01)
    assert tokenizer.made(3, lambda: None) is None
    assert not tokenizer.fits(SegmentTask("out", 3, "tiktoken", 0, "1", 1.0, "plan"))
