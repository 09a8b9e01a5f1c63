"""Lines of a log, of this machine or as people paste it: from any machine, in any language, quoted, numbered, wrapped.

`pasted_lines` peels one prefix after another off a line (quote, number, level, time, host and tag) and returns what is
left as a LogLine. A line whose program is not named counts as the kernel's: dmesg names none.

> 162 [  843.072392] INFO: task python3:5604 blocked ...       quoted, numbered, seconds since boot
апр 28 01:23:30 PC kernel: Out of memory: ...                  journalctl in Russian
1794813543.026736 host kernel: text                           journalctl -o short-unix
[Mo Dez  8 17:51:31 2025] postgres invoked oom-killer: ...     dmesg -T in German
 kern: warning: [2025-05-18T15:40:20.65Z]: apid invoked ...    Talos
Dec  7 10:12:34 10.0.0.5 3,3870,1349697000,-;INFO: task ...    netconsole
{"__REALTIME_TIMESTAMP":"1595970236110015","MESSAGE":"..."}    journalctl -o json
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import chain, islice

from memwatch.diagnose.logs.log_lines import KERNEL, MONTH, MOST_CHARACTERS, TIME, Dates, LogLine, time_of

MOST_PREFIXES = 10
_JSON_KEYS = ("MESSAGE", "message", "msg", "log", "textPayload")  # of journalctl, collectors, Docker, Google Cloud
SHORTEST_WRAPPED_CHARACTERS = 60  # nobody wraps text to fewer columns
LOOKED_AHEAD_LINES = 2000
LEAST_CUT_LINES = 3
CUT_SHARE = 0.6  # of the long lines: where so many have one length, a terminal cut them there

_QUOTE = re.compile(r"(?:\+?>|\||//|#(?= *\[ *\d+\.\d))+ ?")
_NUMBER = re.compile(
    r"\d{1,6}[:.)]? +(?=<\d>|\[ *\+?\d+\.\d+\]|\[[^\]]*\d\d:\d\d|[^\W\d_]{3,5}\.? +\d{1,2} \d\d:\d\d:|"
    r"\d{4}-\d\d-\d\d[T ])"
)
# Also the address or name that talosctl puts before, and the name of journalctl -o verbose and json-pretty.
_LEVEL = re.compile(
    r"<\d{1,2}>|\[[A-Z]\] |(?:kern|user|daemon) *: *[a-z]+ *: |(?:\d{1,3}\.){3}\d{1,3}: |"
    r"[\w.-]+: (?=(?:kern|user|daemon) *: )|\"?MESSAGE\"? ?[=:] ?\"?"
)
# journalctl -o verbose, export and json-pretty have the time of an entry on a line of its own, before its MESSAGE.
_ENTRY_TIME = re.compile(r"\s*\"?__REALTIME_TIMESTAMP\"? ?[=:] ?\"?(?P<us>\d{15,17})\b")
_ENTRY_MESSAGE = re.compile(r"\s*\"?MESSAGE\"? ?[=:]")
_ENTRY_ENDS = re.compile(r"\s*[{}]?,?\s*$")
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_STAMP = re.compile(r"\[ *\d+\.\d{6}\] ")
_UPTIME = re.compile(r"\[ *(?P<t>\d+\.\d+)(?: +< *\d+\.\d+>)?\](?:\[ *[TC]\d+\])?(?: |$)|\[ *(?P<mark>\d+\.\d*)\] ")
_SINCE_LAST = re.compile(r"\[ *\+\d+\.\d+\] ?")
_SHORT_DAY = re.compile(r"\[[A-Z][a-z]{2}\d{1,2} \d\d:\d\d\] ?")  # dmesg --human
_ISO_BRACKET = re.compile(r"\[(?P<t>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\]]*)\]:? ?")
_NAMED_DAY = re.compile(rf"\[(?P<inner>[^\]\[]*?{MONTH}[^\]\[]* {TIME} [^\]\[]*\d{{4}})\] ?")
_ISO = re.compile(r"(?P<t>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?):?\s+")
# journalctl -o short-full: "Tue 2026-11-17 14:31:02 UTC host kernel: text"; another zone's name says too little.
_FULL = re.compile(
    r"[^\W\d_]{2,4}\.? (?P<t>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: UTC)?)(?: [A-Z]{3,5}| [+-]\d\d)? "
)
_UNIX = re.compile(r"(?P<t>\d{9,11}\.\d+) (?=\S+ )")
_DATE = re.compile(rf"(?:(?P<year>\d{{4}}) )?(?P<month>{MONTH}) {{1,2}}(?P<day>\d{{1,2}})[.,]? (?P<time>{TIME}):?\s+")
_DAY_FIRST = re.compile(rf"(?P<day>\d{{1,2}})[.]? (?P<month>{MONTH}) (?:(?P<year>\d{{4}}) )?(?P<time>{TIME}):?\s+")
# logread of OpenWrt, and ctime(3): the year stands last, and a facility may follow.
_CTIME = re.compile(
    rf"\[?[^\W\d_]{{2,4}}\.? (?P<month>{MONTH}) {{1,2}}(?P<day>\d{{1,2}}) (?P<time>{TIME})(?: (?P<year>\d{{4}}))?\]? "
    r"(?:[a-z]+\.[a-z]+ )?"
)
# What another program wrote before the line, as a last resort: "Received message <4>Jun  8 11:15:43 box kernel: ...".
_BEFORE_KERNEL = re.compile(r".{1,80}?\bkernel: ?(?=\S)")
_BEFORE_UPTIME = re.compile(r".{1,60}?(?=\[ *\d+\.\d{6}\] )")
# The kernel's own words in a sentence of somebody's: 'getting "nvme0: controller is down; will reset: ..." at boot'.
_OWN_WORDS = (
    r"(?:(?:nvme )?nvme\d+: |ata\d+(?:\.\d+)?: (?:exception|failed)|(?:Memory cgroup out|Out) of memory: Kill|"
    r"Killed process \d+ \(|[\w./-]+ invoked oom-killer:|oom-kill:constraint|slurmstepd: error|NVRM: Xid|"
    r"(?:NMI )?watchdog: (?:BUG|Watchdog)|BUG: soft lockup|(?:rcu: )?INFO: (?:task|rcu)|EXT4-fs |Aborting journal|"
    r"(?:blk_update_request|print_req_error|end_request): |Buffer I/O error|I/O error, dev|"
    r"(?:amdgpu|i915|xe|nouveau) 0000:|\[drm:amdgpu|(?:\[drm\] )?GPU HANG: ecode|EDAC MC|mce: |thermal thermal_zone|"
    r"BTRFS |XFS \(|Kernel panic - not syncing|BUG: (?:unable|kernel)|Unable to handle kernel|general protection fault|"
    r"kernel BUG at)"
)
_NEXT_TAG = re.compile(rf"(?<=[.!]) (?=kernel: {_OWN_WORDS})")
_AT_START = re.compile(_OWN_WORDS)
_IN_SENTENCE = re.compile(rf"[\s\"'`*(:](?={_OWN_WORDS})")
# A log service's table: "1763319381553  2025-11-16T18:56:21Z ... | host | program | text".
_TABLE = re.compile(r"\d[^|]{0,140} \| [^|]{0,60}\|(?:[^|]{0,60} \|)? ?(?=\S)")
_TIME_ONLY = re.compile(rf"{TIME}:?\s+(?=\S)")
_NETCONSOLE = re.compile(r"(?:\S+ )?\d{1,3},\d+,(?P<us>\d+),[-c][^;]{0,40};")
_TABLE_HEAD = re.compile(r"\[ *pid *\] +uid +tgid ")
_SYSLOGD = re.compile(r"Message from'? syslogd")
_MESSAGE_LEVELS = "EMERG|ALERT|CRIT|ERR|WARNING|NOTICE|INFO|DEBUG"
_KERNEL_TAG = re.compile(rf"(?:\S+ )??(?:(?:{_MESSAGE_LEVELS}) )?kernel: ?")
# With its process id in brackets a tag is a program's; without, only after a host, and if it is no device ("nvme0").
_PROGRAM_TAG = re.compile(r"(?:[\w.<>*-]+ )?(?P<who>[A-Za-z(][\w.@()/-]*)\[\d+\]: ?")
_BARE_TAG = re.compile(r"(?!NMI |Hardware )(?P<host>[\w.*-]+) (?P<who>[a-z][a-z_-]{2,40}): ")
_ANY_TAG = re.compile(r"\S+ (?P<who>[^\s:\[\]]+)(?:\[\d+\])?: (?P<text>.*)")
_NAMED_TAG = re.compile(r"(?P<who>slurmstepd|srun|earlyoom|systemd-oomd|nohang(?:-desktop)?): ")
# earlyoom started by hand has no tag; these words are its own.
_EARLYOOM_WORDS = re.compile(r"(?:sending SIG\w+ to process|killing process) \d+")
# What begins a line of its own, so that it is never the rest of a wrapped one.
_BEGINS = re.compile(
    r"Killed process|Out of memory|Memory cgroup|INFO:|BUG:|NVRM:|Kernel panic|Call Trace|Mem-Info|slurmstepd|srun:|"
    r"Message from|\[ *pid *\]|\[ *\d+\] +\d|```|[#>*-] |rcu:|oom-kill:|Reason:|Tasks state"
)


@dataclass(slots=True)
class _Peeled:
    text: str
    t: float | None = None
    uptime_s: float | None = None
    who: str = KERNEL
    is_stamped: bool = False
    is_tagged: bool = False


def pasted_lines(texts: Iterable[str], now_t: float) -> Iterator[LogLine]:
    """All lines that are not empty, prose too: what reads them passes over what it does not know.

    Times since boot stay what they are, seconds since boot: nobody knows when that machine started.
    """
    held: _Peeled | None = None
    rest = iter(texts)
    first = list(islice(rest, LOOKED_AHEAD_LINES))
    if _is_newest_first(first):
        first.reverse()
    width = _cut_width(first)
    is_cut = False  # the line before ends where the text was cut, in the middle of a word
    entry_t: float | None = None
    for line in (part for text in chain(first, rest) for part in _one_by_one(text[:MOST_CHARACTERS])):
        was_cut, is_cut = is_cut, len(line.rstrip("\r\n")) == width
        peeled = peel(line, now_t)
        if (entry := _ENTRY_TIME.match(line)) is not None:
            entry_t = int(entry["us"]) / 1e6
        elif _ENTRY_ENDS.match(line) is not None:
            entry_t = None
        elif peeled is not None and peeled.t is None and _ENTRY_MESSAGE.match(line) is not None:
            peeled.t = entry_t
        if peeled is None:
            if held is not None:
                yield _line(held)
            held = None
        elif held is not None and _is_rest_of(held, peeled, was_cut):
            held.text += line.rstrip("\r\n") if was_cut else f" {peeled.text.strip()}"
        else:
            if held is not None:
                yield _line(held)
            held = peeled
    if held is not None:
        yield _line(held)


def _is_newest_first(lines: Sequence[str]) -> bool:
    """journalctl -r, and log services: a table of processes whose head comes after its rows."""
    heads = [number for number, line in enumerate(lines[:-1]) if _TABLE_HEAD.search(line)]
    return bool(heads) and all("Tasks state" in lines[number + 1] for number in heads)


def parse_line(line: str, dates: Dates) -> LogLine | None:
    """A line of this machine's own logs; None if it has no time."""
    peeled = peel(line, dates.now_t)
    if peeled is None or (peeled.t is None and peeled.uptime_s is None):
        return None
    t, who, text = peeled.t, peeled.who, peeled.text
    if t is None and peeled.uptime_s is not None and dates.booted_t is not None:
        t = dates.booted_t + peeled.uptime_s
    if t is not None and not peeled.is_tagged and (tag := _ANY_TAG.match(text)) is not None and peeled.uptime_s is None:
        who, text = tag["who"], tag["text"]
    return LogLine(t, who, text)


def _cut_width(lines: Sequence[str]) -> int | None:
    """The width at which a terminal cut the lines, words or not; None if they are not cut. Lines that are wrapped by
    words have many lengths."""
    lengths = [len(line.rstrip("\r\n")) for line in lines]
    long = Counter(length for length in lengths if length >= SHORTEST_WRAPPED_CHARACTERS)
    if not long or max(long) != max(lengths, default=0):
        return None
    widest = max(long)
    return widest if long[widest] >= LEAST_CUT_LINES and long[widest] >= CUT_SHARE * sum(long.values()) else None


def _one_by_one(text: str) -> list[str]:
    """Several lines of a log in one, where the page that somebody copied from had lost its line ends."""
    if (tag := _NEXT_TAG.search(text)) is not None:
        return [text[: tag.start()], text[tag.end() :]]
    starts = [stamp.start() for stamp in _STAMP.finditer(text)]
    if len(starts) < 2:
        return [text]
    return [text[: starts[1]], *(text[i:j] for i, j in zip(starts[1:], [*starts[2:], len(text)], strict=True))]


def peel(text: str, now_t: float) -> _Peeled | None:
    """A line without its prefixes; None if nothing is left of it, or it is only syslogd's announcement."""
    line = text[:MOST_CHARACTERS].rstrip().lstrip("\ufeff")
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    if "&" in line:
        line = unescape(line)
    # journalctl -o json-sse has "data: " before each entry; a list of entries has brackets and commas around them.
    entry_text = line.lstrip(" \t[,").removeprefix("data: ")
    if entry_text.startswith("{") and (entry := _from_json(entry_text.rstrip(" ,]"), now_t)) is not None:
        return entry
    peeled = _Peeled(line)
    for _ in range(MOST_PREFIXES):
        bare = peeled.text.lstrip(" \t")
        rest = _peel_one(peeled, bare, now_t)
        if rest is None:
            break
        peeled.text = rest
    if not peeled.text.strip() or _SYSLOGD.match(peeled.text):
        return None
    if not peeled.is_tagged and _EARLYOOM_WORDS.match(peeled.text):
        peeled.who = "earlyoom"
    return peeled


def _peel_one(peeled: _Peeled, bare: str, now_t: float) -> str | None:
    """What is left after one more prefix; None if there is none. Spaces before a stack's line are kept."""
    for pattern in (_QUOTE, _TABLE, _NUMBER, _LEVEL):
        if not peeled.is_tagged and (match := pattern.match(bare)) is not None:
            return bare[match.end() :]
    if (match := _UPTIME.match(bare)) is not None:
        peeled.is_stamped = True
        peeled.uptime_s = float(match["t"] or match["mark"])
        return bare[match.end() :]
    if peeled.is_tagged:
        return None
    for pattern in (_SINCE_LAST, _SHORT_DAY):
        if (match := pattern.match(bare)) is not None:
            peeled.is_stamped = True
            return bare[match.end() :]
    if (match := _NETCONSOLE.match(bare)) is not None:
        peeled.is_stamped = peeled.is_tagged = True
        peeled.uptime_s = int(match["us"][:18]) / 1e6
        return bare[match.end() :]
    for pattern in (_ISO_BRACKET, _NAMED_DAY, _ISO, _FULL, _UNIX, _CTIME, _DATE, _DAY_FIRST):
        if (match := pattern.match(bare)) is not None:
            peeled.is_stamped = True
            peeled.t = time_of(match.groupdict(), now_t)
            return bare[match.end() :]
    return _without_tag(peeled, bare)


def _without_tag(peeled: _Peeled, bare: str) -> str | None:
    if not peeled.is_stamped and (match := _TIME_ONLY.match(bare)) is not None:
        peeled.is_stamped = True
        return bare[match.end() :]
    if (match := _KERNEL_TAG.match(bare)) is not None:
        peeled.is_tagged = True
        return bare[match.end() :]
    patterns = [_NAMED_TAG, _PROGRAM_TAG]
    if peeled.is_stamped and peeled.uptime_s is None:
        patterns.append(_BARE_TAG)
    for pattern in patterns:
        if (match := pattern.match(bare)) is not None:
            peeled.who = match["who"]
            peeled.is_tagged = True
            return bare[match.end() :]
    if peeled.uptime_s is None and (match := _BEFORE_UPTIME.match(bare)) is not None:
        return bare[match.end() :]
    if not peeled.is_stamped and (match := _BEFORE_KERNEL.match(bare)) is not None:
        peeled.is_tagged = True
        return bare[match.end() :]
    is_own = peeled.is_stamped or _AT_START.match(bare) is not None
    if not is_own and (match := _IN_SENTENCE.search(bare)) is not None:
        peeled.is_tagged = True
        return bare[match.end() :]
    return None


def _is_rest_of(held: _Peeled, peeled: _Peeled, was_cut: bool) -> bool:
    """A line without a time after a long one that has a time is the rest of it: an editor wrapped it, or the kernel
    printed several lines at once."""
    if peeled.is_stamped or peeled.is_tagged or not held.is_stamped:
        return False
    text = peeled.text.strip()
    if was_cut:
        return True
    if _BEGINS.match(text) is not None:
        return False
    is_indented = peeled.text[:1] in " \t"
    return is_indented or len(held.text) >= SHORTEST_WRAPPED_CHARACTERS


def _line(peeled: _Peeled) -> LogLine:
    return LogLine(peeled.uptime_s if peeled.t is None else peeled.t, peeled.who, peeled.text)


def _from_json(line: str, now_t: float) -> _Peeled | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    key = next((key for key in _JSON_KEYS if key in entry), None) if isinstance(entry, dict) else None
    if key is None:
        return None
    if key != "MESSAGE":
        return peel(str(entry[key]), now_t)  # A container's log, or a cloud's: the line stands in it as it was.
    message = entry["MESSAGE"]
    if isinstance(message, list):
        # journalctl writes what is not text as a list of bytes.
        message = bytes(byte for byte in message if isinstance(byte, int) and 0 <= byte < 256).decode(errors="replace")
    stamp = str(entry.get("__REALTIME_TIMESTAMP") or entry.get("_SOURCE_REALTIME_TIMESTAMP") or "")
    t = int(stamp) / 1e6 if stamp.isdigit() and len(stamp) < 19 else None
    who = KERNEL if entry.get("_TRANSPORT") == "kernel" else str(entry.get("SYSLOG_IDENTIFIER") or KERNEL)
    return _Peeled(str(message)[:MOST_CHARACTERS], t, None, who, is_stamped=True, is_tagged=True)
