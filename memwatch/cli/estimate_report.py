"""The printed report of `memwatch estimate`.

train_fineweb.txt   44.7 GiB  text  (sampled 512 x 32 KiB in 0.4 s)
Tokens   10.7 G  (10.6 - 10.8)   4.49 bytes/token, gpt2
Output   19.9 GiB uint16   free in /data: 212.0 GiB                            fits
RAM      stream   0.5 GiB   of 62.6 GiB, 41.0 GiB available                    safe
         ...
"""

import math
import textwrap

from memwatch.core.cells import Range
from memwatch.core.estimate import DiskFit
from memwatch.core.outlook import InputOutlook, Outlook
from memwatch.core.units import format_count, format_duration, format_size
from memwatch.core.ways import Fit
from memwatch.errors import printable

LABEL_WIDTH = 9
WIDE = 110
# With more inputs than this, the middle ones are left to --json.
MOST_INPUTS = 12
_UNITS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


def lines(found: Outlook, width: int) -> list[str]:
    rows = [*_inputs(found)]
    rows += _row("Tokens", _tokens(found), "", width)
    rows += _row("Output", _output(found), _disk_word(found), width)
    rows += _ram(found, width)
    rows += _row("Time", _time(found), "", width)
    rows += _row("GPU", "not used: tokenizing is CPU work", "", width)
    if found.hint is not None:
        rows += _row("Hint", found.hint, "", width)
    for note in found.notes:
        rows += _row("Note", note, "", width)
    # A command is to be copied: it is never broken into lines.
    return [*rows, f"{'Advice':<{LABEL_WIDTH}}{printable(found.advice)}"]


def _row(label: str, text: str, word: str, width: int) -> list[str]:
    """A label, what there is to say, and on the right what that means; which goes below where there is no room."""
    room = max(width - LABEL_WIDTH, 20)
    indent = " " * LABEL_WIDTH
    text_lines = textwrap.wrap(printable(text), room, break_long_words=False) or [""]
    if word and len(text_lines) == 1 and len(text_lines[0]) + 2 + len(word) <= room:
        text_lines[0] = f"{text_lines[0]:<{room - _word_width(width)}}  {word}".rstrip()
        if len(text_lines[0]) > room:
            text_lines[0] = f"{text_lines[0][: -len(word)].rstrip()}  {word}"
    elif word:
        text_lines += [f"  {part}" for part in textwrap.wrap(word, room - 2)]
    return [f"{label:<{LABEL_WIDTH}}{text_lines[0]}", *(indent + line for line in text_lines[1:])]


def _word_width(width: int) -> int:
    """Of the column of words: enough for the long ones where there is room for them."""
    return 38 if width >= WIDE else 12


def _inputs(found: Outlook) -> list[str]:
    many = len(found.inputs) > 1
    shown = [_input(each, found, many) for each in found.inputs]
    if len(shown) > MOST_INPUTS:
        left_out = len(shown) - MOST_INPUTS
        shown = [*shown[: MOST_INPUTS - 2], f"... {left_out} more", *shown[-2:]]
    if many:
        pieces = sum(each.pieces for each in found.inputs)
        read = format_size(sum(each.read_bytes for each in found.inputs))
        how = "all tokenized" if found.is_exact else f"sampled {pieces} pieces, {read} of text"
        shown.append(f"{len(found.inputs)} files   {format_size(found.size_bytes)}  ({how}, in {found.took_s:.1f} s)")
    return shown


def _input(each: InputOutlook, found: Outlook, many: bool) -> str:
    packing = f", {each.packing}" if each.packing else ""
    head = f"{printable(each.name)}   {format_size(each.size_bytes)}  {each.kind}{packing}"
    counted = "" if each.token_count is None else f", column token_count: {format_count(each.token_count)}"
    if many:
        return f"{head}  {_count_range(each.tokens)} tokens{counted}"
    if each.is_exact:
        how = "small enough to tokenize it all"
    else:
        how = f"sampled {each.pieces} x {format_size(each.read_bytes / max(each.pieces, 1))}"
    return f"{head}  ({how}, in {found.took_s:.1f} s{counted})"


def _tokens(found: Outlook) -> str:
    rate = "" if found.bytes_per_token is None else f"{found.bytes_per_token:.2f} bytes/token, "
    return f"{_count_range(found.tokens)}   {rate}{found.encoding}"


def _output(found: Outlook) -> str:
    size = found.output_bytes[found.format]
    free = "unknown" if found.disk.free_bytes is None else format_size(found.disk.free_bytes)
    return f"{format_size(size.estimate)} {found.dtype}   free in {found.disk.folder}: {free}"


def _disk_word(found: Outlook) -> str:
    fit = found.disk.fit(found.output_bytes[found.format])
    return {DiskFit.TOO_SMALL: "DOES NOT FIT", DiskFit.TIGHT: "tight"}.get(fit, fit.value)


def _ram(found: Outlook, width: int) -> list[str]:
    fate = found.list_fate
    per_token = f"({found.list_bytes_per_token:.1f} bytes/token measured)"
    return [
        *_row(
            "RAM",
            f"stream   at most {format_size(found.stream_bytes)} of {_room(found, width)}",
            _word(found.stream_fit),
            width,
        ),
        *_row(
            "", f"memory   {format_size(found.memory_bytes)}   ({found.dtype} in RAM)", _word(found.memory_fit), width
        ),
        *_row("", f"a Python list   {format_size(fate.peak_bytes)}   {per_token}", _fate(found), width),
    ]


def _room(found: Outlook, width: int) -> str:
    room = found.room
    if room.total_bytes is None and room.limit_bytes is None:
        return "an unknown amount"
    parts = [] if room.total_bytes is None else [format_size(room.total_bytes)]
    if room.limit_bytes is not None:
        parts.append(f"limited to {format_size(room.limit_bytes)}")
    if room.available_bytes is not None:
        parts.append(f"{format_size(room.available_bytes)} available")
    if room.swap_total_bytes and width >= WIDE:
        parts.append(f"swap {format_size(room.swap_total_bytes)}")
    return ", ".join(parts)


def _word(fit: Fit) -> str:
    return {Fit.SWAPS: "TOO MUCH", Fit.DIES: "TOO MUCH"}.get(fit, fit.value)


def _fate(found: Outlook) -> str:
    fate = found.list_fate
    if fate.fit == Fit.SAFE:
        return "fits comfortably"
    if fate.fit not in (Fit.SWAPS, Fit.DIES):
        return fate.fit.value
    words = []
    if fate.swaps_at_tokens is not None:
        words.append(f"FREEZES at {_moment(fate.swaps_at_tokens, found)}")
    if fate.dies_at_tokens is not None:
        words.append(f"{'and is killed' if words else 'KILLED'} at {_moment(fate.dies_at_tokens, found, not words)}")
    return ", ".join(words)


def _moment(tokens: float, found: Outlook, timed: bool = True) -> str:
    """How long it takes once it swaps, nobody can tell."""
    after = f", after {_roughly(tokens / found.list_tokens_a_second)}" if timed else ""
    return f"~{format_count(tokens)} tokens{after}"


def _time(found: Outlook) -> str:
    seconds = found.seconds
    text = f"{_roughly(seconds.estimate)} ({_roughly(seconds.low)} - {_roughly(seconds.high)})"
    speed = format_size(found.bytes_a_second)
    workers = "one worker" if found.workers == 1 else f"{found.workers} workers"
    script = _roughly(found.list_seconds.estimate)
    return f"{text} at {speed}/s with {workers}, measured on the sample; the list script: {script}"


def _roughly(seconds: float) -> str:
    if seconds < 60:
        return format_duration(seconds)
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _count_range(count: Range) -> str:
    """'10.7 G  (10.6 - 10.8)': as many digits as mean something."""
    if count.is_exact:
        return f"exactly {count.estimate:,.0f}"
    unit, factor = next((each for each in _UNITS if count.estimate >= each[1]), _UNITS[-1])
    digits = min(max(math.ceil(-math.log10(max(count.off_by, 1) / factor)), 0), 3)
    shown = [f"{value / factor:.{digits}f}" for value in (count.estimate, count.low, count.high)]
    return f"{shown[0]}{' ' + unit if unit else ''}  ({shown[1]} - {shown[2]})"
