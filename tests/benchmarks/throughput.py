"""How fast, in how much memory, and how exact: memwatch and what people use instead, on the same text."""

import re
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from memwatch.tokenize.vocabulary import rank_file
from tests.benchmarks.exact import GPT2, compared, tokens_of_part, tokens_of_whole
from tests.benchmarks.measure import NotMeasured, Run, measured
from tests.benchmarks.report import mebibytes, table

HERE = Path(__file__).parent
TOKENIZE = (sys.executable, "-m", "memwatch", "run", "--ui", "none", "--no-record", "tokenize")
# Before a space that follows a printable character: tokens on both sides are those of the whole.
SAFE_CUT = re.compile(rb"[!-~](?= )")
CUT_WITHIN_BYTES = 1 << 16

Command = Callable[[Path, Path], list[object]]


@dataclass(slots=True)
class Contender:
    """`command` makes the command line from a text and a folder for the output."""

    name: str
    command: Command
    slow: bool = False  # gets a part of the text, and fewer turns
    check: Command | None = None  # where `command` writes nothing to compare
    runs: list[Run] = field(default_factory=list)
    exact: str = ""
    failure: str = ""

    @property
    def median_s(self) -> float:
        return statistics.median(run.seconds for run in self.runs)


@dataclass(frozen=True, slots=True)
class Text:
    path: Path
    tokens: np.ndarray

    @property
    def megabytes(self) -> float:
        return self.path.stat().st_size / 1e6


def program(name: str, *arguments: object) -> list[object]:
    return [sys.executable, HERE / name, *arguments]


def list_script(text: Path, out: Path) -> list[object]:
    return program("script.py", rank_file(GPT2), text, out / "train.bin")


def streaming_script(text: Path, out: Path) -> list[object]:
    return program("streaming_script.py", rank_file(GPT2), text, out, 0)


def memwatch(mode: str = "stream", workers: str = "auto") -> Command:
    options = ("--val-ratio", "0", "--documents", "none", "--mode", mode, "--workers", workers)
    return lambda text, out: [*TOKENIZE, text, "--out", out, *options]


def contenders() -> list[Contender]:
    ranks = rank_file(GPT2)
    return [
        Contender("the script that keeps a list", list_script, slow=True),
        Contender("the script that streams", streaming_script, slow=True),
        Contender(
            "tiktoken in a process pool, as llm.c has it",
            lambda text, out: program("tiktoken_pool.py", ranks, text, out),
            slow=True,
        ),
        Contender(
            "Hugging Face tokenizers, `encode_batch`",
            lambda text, out: program("hugging_face.py", text, out / "train.bin"),
            slow=True,
        ),
        Contender(
            "gigatoken, `encode_files`",
            lambda text, out: program("gigatoken_files.py", ranks, text, out / "train.bin"),
        ),
        Contender(
            "gigatoken, bare `encode` loop, nothing written",
            lambda text, _: program("bare_loop.py", ranks, text),
            check=lambda text, out: program("bare_loop.py", ranks, text, out / "train.bin"),
        ),
        *(
            Contender(f"memwatch, {mode}, {'1 worker' if workers == '1' else 'all workers'}", memwatch(mode, workers))
            for mode in ("stream", "shard", "memory")
            for workers in ("1", "auto")
        ),
    ]


def head_of(text: Path, folder: Path, size_bytes: int) -> Path:
    """The first bytes of a text, up to a safe cut."""
    with text.open("rb") as file:
        head = file.read(size_bytes)
    cut = max((match.end() for match in SAFE_CUT.finditer(head, len(head) - CUT_WITHIN_BYTES)), default=len(head))
    path = folder / f"{size_bytes}.txt"
    path.write_bytes(head[:cut])
    return path


def take_turns(each: list[Contender], whole: Text, part: Text, folder: Path, rounds: int, slow_rounds: int) -> None:
    for turn in range(rounds):
        for contender in each:
            if not contender.failure and turn < (slow_rounds if contender.slow else rounds):
                print(f"round {turn + 1}: {contender.name}", file=sys.stderr)
                take_turn(contender, part if contender.slow else whole, folder / "out")


def take_turn(contender: Contender, text: Text, out: Path) -> None:
    try:
        contender.runs.append(measured(contender.command(text.path, out), text.path, out))
        if not contender.exact:
            if contender.check:
                measured(contender.check(text.path, out), text.path, out)
            contender.exact = compared(out, text.tokens)
    except NotMeasured as reason:
        contender.failure = str(reason)


def row(contender: Contender, text: Text, script_s_per_mb: float | None) -> list[str]:
    if contender.failure:
        return [contender.name, *["-"] * 6, f"not measured: {contender.failure}"]
    s_per_mb = contender.median_s / text.megabytes
    return [
        contender.name,
        f"{text.megabytes:.0f}",
        f"{1 / s_per_mb:.1f}",
        f"{len(text.tokens) / contender.median_s / 1e6:.2f}",
        f"{script_s_per_mb / s_per_mb:.1f}" if script_s_per_mb else "-",
        mebibytes(max(run.peak_bytes for run in contender.runs)),
        mebibytes(statistics.median(run.cached_bytes for run in contender.runs)),
        contender.exact,
    ]


HEADS = (
    "",
    "text, MB",
    "MB/s",
    "M tokens/s",
    "times the script",
    "peak RSS, MiB",
    "left in the page cache, MiB",
    "equal to tiktoken's tokens ",
)


def ratios(each: list[Contender], part: Text, whole: Text) -> Iterable[str]:
    """How memwatch does against each of the others."""
    ours = next(contender for contender in each if contender.name == "memwatch, stream, all workers")
    if ours.failure:
        return
    goals = {"the script that keeps a list": 15, "gigatoken, bare `encode` loop, nothing written": 0.7}
    for other in each:
        if not other.failure and not other.name.startswith("memwatch"):
            text = part if other.slow else whole
            times = (other.median_s / text.megabytes) / (ours.median_s / whole.megabytes)
            goal = f" (to reach: {goals[other.name]})" if other.name in goals else ""
            yield f"- {other.name}: **{times:.2f}**{goal}"


def report(path: Path, folder: Path, part_bytes: int, rounds: int, slow_rounds: int) -> list[str]:
    print("what tiktoken makes of the whole text (kept for the next time)", file=sys.stderr)
    whole = Text(path, tokens_of_whole(path))
    head = head_of(path, folder, part_bytes)
    part = Text(head, tokens_of_part(whole.tokens, head.stat().st_size))
    each = contenders()
    take_turns(each, whole, part, folder, rounds, slow_rounds)
    script = each[0]
    script_s_per_mb = None if script.failure else script.median_s / part.megabytes
    return [
        f"Whole commands, with start-up and all that is written; the text is in the page cache before. The slow ones "
        f"get its first {part.megabytes:.0f} MB only, {slow_rounds} times; the others all of it, {rounds} times. They "
        "take turns, and the median counts (of memory the most). RSS is the sum over all processes, so what a pool "
        "shares is counted once in each.",
        "",
        *table(HEADS, (row(contender, part if contender.slow else whole, script_s_per_mb) for contender in each)),
        "",
        "memwatch, streaming with all workers, is so many times as fast as:",
        "",
        *ratios(each, part, whole),
    ]
