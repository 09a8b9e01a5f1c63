"""The outlook as text and as JSON.

train_fineweb.txt   44.7 GiB  text  (sampled 512 x 32.0 KiB in 0.4 s)
Tokens   10.7 G  (10.6 - 10.8)   4.49 bytes/token, gpt2
Output   19.9 GiB uint16   free in /data: 212.0 GiB                            fits
RAM      stream   532.0 MiB   of 62.6 GiB, 41.0 GiB available                  safe
         ...
"""

import math
import textwrap
from typing import Any

from memwatch.errors import printable
from memwatch.estimate.needs import FASTER, SLOWER, Fit
from memwatch.estimate.outlook import Outlook
from memwatch.estimate.sampling import Sampled
from memwatch.model.ranges import Range
from memwatch.model.units import format_count, format_number, format_size, soon
from memwatch.tokenize.formats.format_registry import FORMATS

LABEL_WIDTH = 9
WIDE = 110
# With more inputs than this, the middle ones are in --json only.
SHOWN_INPUTS = 12
_UNITS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
_DISK_WORDS = {Fit.SAFE: "fits", Fit.TOO_LARGE: "DOES NOT FIT"}
_MEMORY_WORDS = {Fit.SWAPS: "TOO LARGE", Fit.DIES: "TOO LARGE"}


def as_lines(found: Outlook, width: int) -> list[str]:
    memory, script, dtype = found.memory, found.script, found.encoding.dtype
    size = found.output_bytes(found.format)
    free = "unknown" if found.disk.free_bytes is None else format_size(found.disk.free_bytes)
    rate = f"{found.text_bytes.estimate / max(found.tokens.estimate, 1):.2f} bytes/token, "
    stream_fit, array_fit = memory.fit(found.stream_bytes), memory.fit(found.memory_mode_bytes)
    list_size = format_size(script.peak_bytes(found.tokens.estimate))
    # In the list, and in the array that is made of it.
    per_token = f"({script.bytes_per_token:.1f} + {script.token_bytes} bytes/token measured)"
    rows = [
        ("Tokens", f"{_count_range(found.tokens)}   {rate}{found.encoding.name}", ""),
        ("Output", f"{format_size(size.estimate)} {dtype}   free in {found.disk.name}: {free}",
         _word(found.disk.fit(size), _DISK_WORDS)),
        ("RAM", f"stream   {format_size(found.stream_bytes)}   of {_memory(found, width)}",
         _word(stream_fit, _MEMORY_WORDS)),
        ("", f"memory   {format_size(found.memory_mode_bytes)}   ({dtype} in RAM)", _word(array_fit, _MEMORY_WORDS)),
        ("", f"a Python list   {list_size}   {per_token}", _list_word(found)),
        ("Time", _time(found), ""),
        ("GPU", "not used: tokenizing is CPU work", ""),
        *(("Note", note, "") for note in found.notes),
    ]  # fmt: skip
    lines = [line for row in rows for line in _row(*row, width)]
    # A command is to be copied: it is never broken into lines.
    return [*_inputs(found), *lines, f"{'Advice':<{LABEL_WIDTH}}{printable(found.advice)}"]


def _row(label: str, text: str, word: str, width: int) -> list[str]:
    """A label, a text, and its assessment in a column on the right, or below if the text is too wide."""
    room = max(width - LABEL_WIDTH, 20)
    lines = textwrap.wrap(printable(text), room, break_long_words=False) or [""]
    if word and len(lines) == 1 and len(lines[0]) + 2 + len(word) <= room:
        column = room - max(38 if width >= WIDE else 12, len(word))
        lines[0] = f"{lines[0]:<{column - 2}}  {word}"
    elif word:
        lines += [f"  {part}" for part in textwrap.wrap(word, room - 2)]
    return [f"{'' if i else label:<{LABEL_WIDTH}}{line}" for i, line in enumerate(lines)]


def _inputs(found: Outlook) -> list[str]:
    many = len(found.inputs) > 1
    shown = [_input(each, found, many) for each in found.inputs]
    if len(shown) > SHOWN_INPUTS:
        shown = [*shown[: SHOWN_INPUTS - 2], f"... {len(shown) - SHOWN_INPUTS} more", *shown[-2:]]
    if many:
        read = format_size(sum(each.read_bytes for each in found.inputs))
        how = f"sampled {sum(each.pieces for each in found.inputs)} pieces, {read} of text,"
        how = "tokenized completely" if found.is_exact else how
        size = format_size(found.size_bytes)
        shown.append(f"{len(found.inputs)} files   {size}  ({how} in {found.sampled_s:.1f} s)")
    return shown


def _input(each: Sampled, found: Outlook, many: bool) -> str:
    source = each.source
    what = ", ".join(each for each in (source.kind, source.archive, source.packing) if each)
    head = f"{printable(source.name)}   {format_size(source.size_bytes or 0)}  {what}"
    counted = "" if each.token_count is None else f", column token_count: {format_count(each.token_count)}"
    if many:
        return f"{head}  {_count_range(each.tokens)} tokens{counted}"
    how = f"sampled {each.pieces} x {format_size(each.read_bytes / max(each.pieces, 1))}"
    how = "tokenized completely" if each.tokens.is_exact else how
    return f"{head}  ({how} in {found.sampled_s:.1f} s{counted})"


def _word(fit: Fit, words: dict[Fit, str]) -> str:
    return words.get(fit, fit.value)


def _memory(found: Outlook, width: int) -> str:
    memory = found.memory
    parts = [
        format_size(memory.total_bytes) if memory.total_bytes is not None else "",
        f"limited to {format_size(memory.limit_bytes)}" if memory.limit_bytes is not None else "",
        f"{format_size(memory.available_bytes)} available" if memory.available_bytes is not None else "",
        f"swap {format_size(memory.swap_total_bytes)}" if memory.swap_total_bytes and width >= WIDE else "",
    ]
    return ", ".join(part for part in parts if part) or "an unknown amount"


def _list_word(found: Outlook) -> str:
    """How the list script ends. How long it takes once it swaps is unknown."""
    tokens, script = found.tokens.estimate, found.script
    swaps, dies = found.memory.list_ends(script, tokens)
    first = swaps if swaps is not None else dies
    if first is None:
        return found.memory.fit(script.peak_bytes(tokens)).value
    after = f"~{format_count(first)} tokens, after {soon(first / script.tokens_per_s)}"
    if swaps is None:
        return f"OOM KILL at {after}"
    return f"FREEZES at {after}" + ("" if dies is None else f"; OOM kill at ~{format_count(dies)} tokens")


def _time(found: Outlook) -> str:
    script = soon(found.tokens.estimate / found.script.tokens_per_s)
    likely, low, high = map(soon, found.seconds)
    speed, workers = format_size(found.speed.bytes_per_s), format_number(found.speed.workers, "worker")
    return f"{likely} ({low} - {high}) at {speed}/s with {workers}, measured on the sample; the list script: {script}"


def _count_range(count: Range) -> str:
    """'10.7 G  (10.6 - 10.8)': as many digits as the interval justifies."""
    if count.is_exact:
        return f"exactly {count.estimate:,.0f}"
    unit, factor = next((each for each in _UNITS if count.estimate >= each[1]), _UNITS[-1])
    digits = min(max(math.ceil(-math.log10(max(count.off_by, 1) / factor)), 0), 3)
    shown = [f"{value / factor:.{digits}f}" for value in count]
    return f"{shown[0]}{' ' + unit if unit else ''}  ({shown[1]} - {shown[2]})"


def as_object(found: Outlook) -> dict[str, Any]:
    """What `memwatch estimate --json` prints. Keys are added, never renamed."""
    memory, script, tokens = found.memory, found.script, found.tokens.estimate
    list_s, (swaps, dies) = tokens / script.tokens_per_s, memory.list_ends(script, tokens)
    stream, array, python_list = found.stream_bytes, round(found.memory_mode_bytes), round(script.peak_bytes(tokens))
    ram = {"stream": stream, "shard": stream, "memory": array, "list": python_list}
    return {
        "schema": 1,
        "inputs": [_input_object(each) for each in found.inputs],
        "bytes": found.size_bytes,
        "text_bytes": found.text_bytes.whole()._asdict(),
        "tokens": found.tokens.whole()._asdict(),
        "exact": found.is_exact,
        "bytes_per_token": found.text_bytes.estimate / tokens if tokens else None,
        "encoding": found.encoding.name,
        "dtype": found.encoding.dtype,
        "format": found.format,
        "output_bytes": round(found.output_bytes(found.format).estimate),
        "output_bytes_by_format": {kind: found.output_bytes(kind).whole()._asdict() for kind in FORMATS},
        "ram": ram,
        "ram_fits": {way: memory.fit(size).value for way, size in ram.items()},
        "memory": {
            "total": memory.total_bytes,
            "available": memory.available_bytes,
            "swap_total": memory.swap_total_bytes,
            "limit": memory.limit_bytes,
        },
        "folder": found.disk.folder,
        "disk_free_bytes": found.disk.free_bytes,
        "partial_bytes": found.disk.partial_bytes,
        "seconds": {name: round(value, 1) for name, value in found.seconds._asdict().items()},
        "bytes_per_second": round(found.speed.bytes_per_s),
        "engine": found.engine,
        "workers": found.speed.workers,
        "list_script": {
            "bytes_per_token": round(script.bytes_per_token, 2),
            "swaps_at_tokens": None if swaps is None else round(swaps),
            "dies_at_tokens": None if dies is None else round(dies),
            "seconds": round(list_s, 1),
            "seconds_low": round(FASTER * list_s, 1),
            "seconds_high": round(SLOWER * list_s, 1),
            "tokens_per_second": round(script.tokens_per_s),
        },
        "hint": None,  # Was a guess from the size alone; programs may still read the key.
        "notes": list(found.notes),
        "verdict": found.conclusion.verdict,
        "advice": found.advice,
        "sampled_seconds": round(found.sampled_s, 2),
    }


def _input_object(each: Sampled) -> dict[str, Any]:
    return {
        "path": each.source.name,
        "kind": each.source.kind,
        "packing": each.source.packing,
        "archive": each.source.archive,
        "bytes": each.source.size_bytes or 0,
        "text_bytes": each.text_bytes.whole()._asdict(),
        "tokens": each.tokens.whole()._asdict(),
        "exact": each.tokens.is_exact,
        "pieces": each.pieces,
        "read_bytes": each.read_bytes,
        "seen_share": round(each.seen_share, 4),
        "token_count": each.token_count,
    }
