"""Know before you start: look at the inputs, the machine and the disk, and tell what a job would make and take."""

import math
import os
import random
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memwatch.core.cells import Range, added, like_the_others
from memwatch.core.estimate import Budget, Disk
from memwatch.core.sample import Sample
from memwatch.core.units import MIB
from memwatch.core.ways import Costs, ListScript, Room, list_bytes_per_token, speed_range
from memwatch.errors import MemwatchError, UsageError
from memwatch.probe.machine import Machine, disk_free_bytes
from memwatch.tokenize.checkpoint import PARTIAL
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import choose
from memwatch.tokenize.gauge import Gauge
from memwatch.tokenize.inputs import STANDARD_INPUT, Input, find_inputs
from memwatch.tokenize.packed_sampling import USUAL_UNPACKING, sample_packed
from memwatch.tokenize.pieces import Found, Means
from memwatch.tokenize.plan import Plan, cores_here, least_bytes, peak_bytes, plan
from memwatch.tokenize.row_sampling import sample_rows
from memwatch.tokenize.rows import reading_bytes
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.sampling import SMALL_BYTES, WHOLE_BYTES, sample_line, tokenized_whole
from memwatch.tokenize.settings import Request
from memwatch.tokenize.vocabulary import Encoding, encoding_named, rank_file

# How long to look, beside half a second or so to start and to measure the script's way.
SAMPLE_S = 0.5
WHOLE_SHARE = 0.7  # of that, before the attempt to tokenize everything is given up
PLAIN_SHARE = 0.5  # of it for plain files, where there are others too: those take longer to get into
LEAST_FILE_S = 0.02
SCRIPT_S = 0.12
# Of a process that has imported tiktoken and numpy, loaded gpt2 and encoded a chunk: measured with script.py.
SCRIPT_BASE_BYTES = 70 * MIB
# The guard's own budget, and what Python needs to start, measured.
GUARD_BYTES = 20 * MIB
START_S = 0.5


@dataclass(frozen=True, slots=True)
class Estimated:
    """Everything that was found out, for core.estimate to conclude from."""

    inputs: list[Input]
    found: list[Found]
    encoding: Encoding
    engine: str
    note: str | None
    plan: Plan
    cores: int
    others: float  # processes that want a core too
    budget: Budget
    costs: Costs
    script: ListScript
    room: Room
    disk: Disk
    grown: list[str]
    took_s: float

    @property
    def tokens(self) -> Range:
        return added([found.tokens for found in self.found]).whole()

    @property
    def text_bytes(self) -> Range:
        return added([found.text_bytes for found in self.found])


def estimate(request: Request) -> Estimated:
    inputs = _inputs(request)
    encoding = encoding_named(request.settings.encoding)
    reading = reading_bytes(inputs, request.settings.text_column)
    resources = request.resources
    planned = plan(resources.max_memory_bytes, resources.workers, cores_here(), encoding.token_bytes, reading)
    ranks = rank_file(encoding)
    started_s = time.monotonic()
    chosen = choose(resources.engine, encoding, ranks, check=True)
    loaded_s = time.monotonic()
    gauge = Gauge(BlockEncoder(chosen.engine, encoding, request.settings), encoding.token_bytes)
    # The same file gives the same answer, as long as there is time for the same pieces.
    means = Means(gauge, request.settings, encoding, random.Random(inputs[0].fingerprint))
    found = look_into(inputs, means, loaded_s + SAMPLE_S)
    took_s = time.monotonic() - loaded_s
    if not any(each.text_bytes.estimate for each in found):
        raise _empty(inputs)
    text_bytes = sum(each.text_bytes.high for each in found)
    return Estimated(
        inputs=inputs,
        found=found,
        encoding=encoding,
        engine=chosen.engine.name,
        note=chosen.note,
        plan=planned,
        cores=cores_here(),
        others=_others(),
        budget=Budget(
            usual_bytes=peak_bytes(planned, resources.max_memory_bytes, encoding.token_bytes, reading, text_bytes)
            + GUARD_BYTES,
            least_bytes=least_bytes(encoding.token_bytes, reading) + GUARD_BYTES,
        ),
        costs=_costs(gauge, loaded_s - started_s),
        script=_script(gauge, encoding),
        room=Room.of(_sample(), rss_bytes(os.getpid()) or 0),
        disk=_disk(request, inputs),
        grown=[source.name for source in inputs if _has_changed(source)],
        took_s=took_s,
    )


def _inputs(request: Request) -> list[Input]:
    if STANDARD_INPUT in request.inputs:
        raise UsageError(
            "standard input cannot be looked at ahead of time; put it into a file, or tokenize it right away: "
            "memwatch run tokenize -"
        )
    inputs = find_inputs(request.inputs, request.settings.text_column, request.any_bytes)
    if all(source.size_bytes == 0 for source in inputs):
        raise _empty(inputs)
    return inputs


def _empty(inputs: list[Input]) -> MemwatchError:
    return MemwatchError(f"{', '.join(source.name for source in inputs)} is empty: there is nothing to tokenize")


def look_into(inputs: list[Input], means: Means, deadline_s: float) -> list[Found]:
    """What each input holds, in the order given."""
    found: dict[int, Found] = {i: _NOTHING for i, source in enumerate(inputs) if not source.size_bytes}
    left = [i for i in range(len(inputs)) if i not in found]
    size_bytes = sum(_unpacked_bytes(inputs[i]) for i in left)
    if size_bytes <= WHOLE_BYTES:
        left_s = math.inf if size_bytes <= SMALL_BYTES else deadline_s - time.monotonic()
        found |= _tokenized_whole(inputs, left, means, time.monotonic() + WHOLE_SHARE * left_s)
        left = [i for i in left if i not in found]
    plain = [i for i in left if inputs[i].packing is None and inputs[i].kind != "parquet"]
    others = [i for i in left if i not in set(plain)]
    if plain:
        until_s = time.monotonic() + (PLAIN_SHARE if others else 1) * max(deadline_s - time.monotonic(), 0)
        sampled = sample_line([inputs[i] for i in plain], means, until_s)
        found |= dict(zip(plain, sampled, strict=True))
    found |= _sampled_one_by_one(inputs, others, means, deadline_s)
    return [found[i] for i in range(len(inputs))]


def _unpacked_bytes(source: Input) -> int:
    """As a rule."""
    packed = source.packing is not None or source.kind == "parquet"
    return (source.size_bytes or 0) * (USUAL_UNPACKING if packed else 1)


_NOTHING = Found(Range.exactly(0), Range.exactly(0))


def _tokenized_whole(inputs: list[Input], left: list[int], means: Means, deadline_s: float) -> dict[int, Found]:
    found = {}
    for i in left:
        whole = tokenized_whole(inputs[i], means, deadline_s)
        if whole is None:
            break
        found[i] = whole
    return found


def _sampled_one_by_one(inputs: list[Input], left: list[int], means: Means, deadline_s: float) -> dict[int, Found]:
    """Packed files and parquet, in random order; those whose turn does not come are taken to be like the others."""
    found: dict[int, Found] = {}
    order = means.rng.sample(left, len(left))
    for count, i in enumerate(order):
        now_s = time.monotonic()
        if found and now_s > deadline_s:
            break
        until_s = now_s + max((deadline_s - now_s) / (len(order) - count), LEAST_FILE_S)
        sample = sample_rows if inputs[i].kind == "parquet" else sample_packed
        found[i] = sample(inputs[i], means, until_s)
    return found | _like_the_others(inputs, [i for i in left if i not in found], found)


def _like_the_others(inputs: list[Input], left: list[int], found: dict[int, Found]) -> dict[int, Found]:
    if not left:
        return {}
    size = sum(inputs[i].size_bytes or 0 for i in found)
    tokens = sum(each.tokens.estimate for each in found.values()) / size
    text = sum(each.text_bytes.estimate for each in found.values()) / size
    rates = [each.tokens.estimate / (inputs[i].size_bytes or 1) for i, each in found.items()]
    usual_tokens, usual_text = like_the_others(tokens, rates, len(left)), like_the_others(text, rates, len(left))
    sizes = {i: inputs[i].size_bytes or 0 for i in left}
    return {i: Found(usual_tokens.times(sizes[i]), usual_text.times(sizes[i]), seen_share=0.0) for i in left}


def _costs(gauge: Gauge, load_s: float) -> Costs:
    speed = speed_range(gauge.speeds)
    encode_s = Range(1 / speed.estimate, 1 / speed.high, 1 / speed.low)
    return Costs(encode_s, gauge.coordinator_s, START_S + load_s)


def _script(gauge: Gauge, encoding: Encoding) -> ListScript:
    """Do what the script does with a little of the text, and see how long that takes."""
    encoder = gauge.encoder.engine.reference_engine().encoding
    tokens: list[int] = []
    speeds = []
    started_s = time.monotonic()
    for data in gauge.kept:
        before_s, before = time.thread_time(), len(tokens)
        tokens.extend(encoder.encode_ordinary(data.decode("utf-8", "replace")))
        speeds.append((len(tokens) - before, time.thread_time() - before_s))
        if time.monotonic() - started_s > SCRIPT_S:
            break
    per_token = list_bytes_per_token(gauge.tokens, gauge.shared_tokens)
    return ListScript(per_token, SCRIPT_BASE_BYTES, encoding.token_bytes, speed_range(speeds))


def _others() -> float:
    """Without us. They are all the machine's, whoever's they are."""
    with suppress(OSError):
        return max(os.getloadavg()[0] - 1, 0.0)
    return 0.0


def _sample() -> Sample:
    machine = Machine()
    try:
        return machine.sample(time.monotonic(), time.time(), ())
    finally:
        machine.close()


def _disk(request: Request, inputs: list[Input]) -> Disk:
    folder = request.out or Path(inputs[0].path).parent
    partial = 0
    with suppress(OSError):  # Nothing is there, as a rule.
        partial = sum(entry.stat().st_size for entry in os.scandir(folder / PARTIAL) if entry.is_file())
    return Disk(str(folder), disk_free_bytes(str(folder)), partial)


def _has_changed(source: Input) -> bool:
    try:
        source.check_unchanged()
    except MemwatchError:
        return True
    return False
