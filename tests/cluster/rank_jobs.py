"""Ranks as processes, started as a user or Slurm starts them."""

import hashlib
import subprocess
import sys
from pathlib import Path

from tests.helpers import HANG_S

SEGMENT_BYTES = 500_000
SETTINGS = ("--val-ratio", "0.01", "--workers", "1", "--segment-size", str(SEGMENT_BYTES), "--beat", "0.3")


def start_rank(
    inputs: object, out: object, rank: int, world_size: int, *options: str, guarded: bool = False
) -> "subprocess.Popen[str]":
    """Without a guard by default: eight of them would be eight more processes."""
    module = ["memwatch", "run", "--ui", "none", "tokenize"] if guarded else ["memwatch.cluster"]
    command = [sys.executable, "-m", *module, str(inputs), "--out", str(out), "--shard-by", "segment", *SETTINGS]
    ranked = ["--rank", str(rank), "--world-size", str(world_size), *options]
    return subprocess.Popen(
        [*command, *ranked], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def end_of(rank: "subprocess.Popen[str]") -> tuple[int, str]:
    out, err = rank.communicate(timeout=HANG_S)
    assert "Traceback" not in err, err
    return rank.returncode, out + err


def sums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file but the manifest and the journals, which have times in them."""
    assert not (folder / ".memwatch-partial").exists()
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name not in ("manifest.json", ".memwatch-journals")
    }
