"""Progress bars in a job's own output: its progress and ETA, where it does not use the job API.

    tqdm      epochs:  45%|████▌     | 45/100 [00:04<00:05,  9.9it/s]
    rich      Downloading... ━━━━━━━━━━━━╸━━━━━━━━━━━  60% 0:00:01
    pip       ━━━━━━━━━━━━━━━━━━━╸━━━━ 76.5/191.8 MB 71.3 MB/s eta 0:00:02
    curl       26  300M   26 78.9M    0     0  59.9M      0  0:00:05  0:00:01  0:00:04 59.9M
    wget      corpus.txt   45%[====>      ] 135.00M  60.0MB/s    eta 3s
    rsync       204,079,104  21%  194.59MB/s    0:00:03
    dd        175833088 bytes (176 MB, 168 MiB) copied, 20 s, 8.8 MB/s
    ffmpeg    frame= 1820 fps=1813 q=2.0 size=    2560kB time=00:01:12.76 bitrate= 288.2kbits/s speed=72.5x

A percentage in other text is none: it must stand beside a bar. Of several bars the one that counts is the outer one:
inner bars start again and again, and of bars side by side the one that is least far decides.
"""

import re
from dataclasses import dataclass, field

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CURSOR = re.compile(r"\x1b\[[0-9;]*[A-H]")  # It moves to another line: what follows is another bar.
_END = re.compile(r"[\r\n]+")
_MOST_LINE_CHARACTERS = 1000
_MOST_BARS = 16

_TIME = r"(?:\d+:)?\d+:\d\d"
_PERCENT = re.compile(r"(?P<percent>\d{1,3}(?:\.\d+)?) ?%")
_HEAVY_LINE = re.compile(r"[━╸╺]{5,}")  # rich's, and pip's
_DRAWN = re.compile(r"\d ?%\|.*\||[━╸╺█▏▎▍▌▋▊▉▓▒░]{3,}|\d ?%\[[=>. <+-]*\]|\[[=#>.* -]{5,}\]|#{2,}")
_AMOUNTS = re.compile(r"(?P<done>\d[\d.,]*)(?P<done_unit>[kKMGTP]i?)?B?/(?P<total>\d[\d.,]*) ?(?P<unit>[kKMGTP]i?)?(?P<bytes>B)?")  # fmt: skip  # noqa: E501
_TQDM_LEFT = re.compile(rf"\[{_TIME}<(?P<left>{_TIME})")
_ETA = re.compile(rf"\beta:? +(?P<left>{_TIME}|(?:\d+[dhms] ?)+)", re.IGNORECASE)
_RICH_LEFT = re.compile(rf"% +(?P<left>{_TIME})\s*$")
_CURL = re.compile(
    rf"^ *(?P<percent>\d{{1,3}}) +(?:[\d.]+[kMGTP]? +){{7}}(?:{_TIME}|--:--:--) +(?:{_TIME}|--:--:--) +"
    rf"(?P<left>{_TIME}|--:--:--) +[\d.]+[kMGTP]?$"
)
_RSYNC = re.compile(rf"^ *(?P<done>[\d,.]+) +(?P<percent>\d{{1,3}})% +[\d.]+[kMGT]?B/s +(?P<left>{_TIME})")
_DD = re.compile(r"^(?P<done>\d+) bytes(?: \([^)]*\))? copied, ")
_FFMPEG = re.compile(r"\btime=(?P<time>\d+:\d\d:\d\d(?:\.\d+)?).*?(?:speed= *(?P<speed>[\d.]+)x|$)")
_FFMPEG_TOTAL = re.compile(r"\bDuration: (?P<time>\d+:\d\d:\d\d(?:\.\d+)?)")
_FACTORS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


@dataclass(frozen=True, slots=True)
class Bar:
    """`fraction` is None where the whole is not known: dd reports bytes alone."""

    name: str
    fraction: float | None
    left_s: float | None = None
    done_bytes: int | None = None


@dataclass(slots=True)
class _Known:
    bar: Bar
    seen: int
    restarts: int = 0


@dataclass(slots=True)
class BarReader:
    """Takes a job's output as it comes, in any pieces, and has at any moment the bar that counts."""

    _rest: str = ""
    _whole_s: float | None = None  # of what ffmpeg reads
    _bars: dict[str, _Known] = field(default_factory=dict)
    _feeds: int = 0

    def feed(self, text: str, is_cut: bool = False) -> Bar | None:
        """The bar that counts, if there is one in `text`. `is_cut`: what comes before it is missing.

        No text means that nothing came for a while.
        """
        self._feeds += 1
        if is_cut:
            self._rest, text = "", "".join(_END.split(text, 1)[1:])
        *lines, self._rest = _END.split(_CURSOR.sub("\n", self._rest + text))
        if not text:
            lines = [self._rest]  # It stands there until it is overwritten; by now it is whole.
        found = [bar for line in lines if (bar := self._bar(line[-_MOST_LINE_CHARACTERS:])) is not None]
        self._rest = self._rest[-2 * _MOST_LINE_CHARACTERS :]
        for bar in found:
            self._take(bar)
        return self._outer() if found else None

    def _bar(self, line: str) -> Bar | None:
        line = _ESCAPE.sub("", line).rstrip()
        if (total := _FFMPEG_TOTAL.search(line)) is not None:
            self._whole_s = _seconds(total["time"])
        if (at := _FFMPEG.search(line)) is not None:
            return self._encoded(_seconds(at["time"]) or 0.0, float(at["speed"] or 0))
        return bar_in(line)

    def _encoded(self, done_s: float, speed: float) -> Bar | None:
        if not self._whole_s:
            return None
        left_s = (self._whole_s - done_s) / speed if speed > 0 else None
        return Bar("ffmpeg", min(done_s / self._whole_s, 1.0), None if left_s is None else max(left_s, 0.0))

    def _take(self, bar: Bar) -> None:
        known = self._bars.get(bar.name)
        if known is None:
            if len(self._bars) >= _MOST_BARS:
                del self._bars[min(self._bars, key=lambda name: self._bars[name].seen)]
            self._bars[bar.name] = _Known(bar, self._feeds)
            return
        known.restarts += (bar.fraction or 0.0) < (known.bar.fraction or 0.0)
        known.bar, known.seen = bar, self._feeds

    def _outer(self) -> Bar:
        """The one with the fewest restarts; then one that is not finished, then the one with the least progress."""

        def rank(known: _Known) -> tuple[int, bool, float]:
            fraction = known.bar.fraction
            return known.restarts, fraction is None or fraction >= 1, 1.0 if fraction is None else fraction

        return min(self._bars.values(), key=rank).bar


def bar_in(line: str) -> Bar | None:
    """The bar in one line without escapes; None if there is none."""
    if (curl := _CURL.match(line)) is not None:
        return _bar("curl", float(curl["percent"]) / 100, curl["left"])
    if (rsync := _RSYNC.match(line)) is not None:
        return _bar("rsync", float(rsync["percent"]) / 100, rsync["left"])
    if (dd := _DD.match(line)) is not None:
        return Bar("dd", None, done_bytes=int(dd["done"]))
    percent, drawn = _PERCENT.search(line), _HEAVY_LINE.search(line)
    found = percent or drawn
    if found is None or _DRAWN.search(line) is None:
        return None
    amounts = _AMOUNTS.search(line, found.end())
    fraction = None if amounts is None else _share(amounts)
    if percent is not None:
        told = float(percent["percent"]) / 100
        # Amounts have more digits than a percentage; but they may be those of something else.
        fraction = fraction if fraction is not None and abs(fraction - told) <= 0.011 else told
    if fraction is None or fraction > 1:
        return None
    left = _TQDM_LEFT.search(line) or _ETA.search(line) or _RICH_LEFT.search(line)
    name = re.sub(r"[^\w ./:-]+", "", line[: (drawn or found).start()]).strip(" :")
    return _bar(name, fraction, None if left is None else left["left"])


def _bar(name: str, fraction: float, left: str | None) -> Bar | None:
    return Bar(name[-60:], fraction, None if left is None else _seconds(left)) if fraction <= 1 else None


def _share(amounts: "re.Match[str]") -> float | None:
    unit = amounts["unit"] or ""
    done, total = _amount(amounts["done"], amounts["done_unit"] or unit), _amount(amounts["total"], unit)
    return done / total if done is not None and total else None


def _amount(number: str, unit: str) -> float | None:
    try:
        return float(number.replace(",", "")) * 1000.0 ** _FACTORS[unit[:1].lower()]
    except ValueError:
        return None


_PARTS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def _seconds(text: str) -> float | None:
    """Seconds from '1:02:03', '02:03' or '1h 2m 3s'."""
    if text.startswith("-"):
        return None
    if ":" not in text:
        return float(sum(int(number) * _PARTS[unit] for number, unit in re.findall(r"(\d+)([dhms])", text)))
    seconds = 0.0
    for part in text.split(":"):
        seconds = 60 * seconds + float(part)
    return seconds
