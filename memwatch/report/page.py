"""The page: what is known, in words, then the charts, then what happened one by one.

Swap thrashing: python3 hog.py grew ...                 what happened
python3 hog.py · 2026-11-16 07:23:54 to 07:24:20, 26 s  the job, or the machine, and when
most of the job · least available · limit · swap        tiles
A  Swap thrashing: ...                                  findings, what is ruled out, what is not known
memory, swap, pressure, GPU on one time axis            charts.py
1  07:24:01  WARN  RAM is full in about 2.3 s ...       events
programs                                                the biggest
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import tzinfo

from memwatch import __version__
from memwatch.diagnose.findings import Diagnosis, Finding, Held
from memwatch.journal.events import Event
from memwatch.model.programs import as_given, is_tokenizer, program_name
from memwatch.model.units import format_duration, format_number, format_size
from memwatch.model.wording import clock_time, ending
from memwatch.report.charts import charts
from memwatch.report.html import STYLE, Html, element, joined, text, with_code
from memwatch.report.panels import absent, counted_limit
from memwatch.report.privacy import Redactor
from memwatch.report.run_story import GapKind, RunStory, read_story

# Nothing but its own style may be used, whatever should ever slip into it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LOG_NOTE = f"Evidence: this log only, nothing of the machine that read it. memwatch {__version__}"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def report_page(
    events: Iterable[Event],
    diagnosis: Diagnosis | None = None,
    show_commands: bool = False,
    zone: tzinfo | None = None,
    private_names: Iterable[str] = (),
) -> str:
    """One page in HTML that needs no network and no script. `zone` is its time zone; None is the local one.

    `events` are read once and not held. Without `show_commands` only the names of programs are shown, and no path and
    none of `private_names` (of users and hosts): the page can be sent to somebody else.
    """
    story = read_story(events, show_commands)
    is_of_log = diagnosis is not None and diagnosis.is_pasted
    if not show_commands:
        redact = Redactor(private_names)
        _make_shareable(story, redact)
        diagnosis = None if diagnosis is None else redact.diagnosis(diagnosis)
    lettered = list(zip(_LETTERS, diagnosis.findings if diagnosis else (), strict=False))
    title = "Log of a machine" if is_of_log else _title(story, show_commands)
    first = element("h1", with_code(_what_happened(story, diagnosis, title)))
    if diagnosis is not None and is_of_log:
        parts = [element("p", f"{title} · {_parts_at_fault(diagnosis)}", class_="soft")]
        parts += [_diagnosed(diagnosis, lettered, zone), element("footer", _LOG_NOTE)]
    else:
        parts = [
            element("p", f"{title} · {_when(story, zone)}", class_="soft"),
            _tiles(story, zone),
            _diagnosed(diagnosis, lettered, zone),
            charts(story, lettered, zone),
            _events(story, zone),
            _programs(story, zone),
            _footer(story, zone),
        ]
    body = joined([first, *parts])
    head = joined(
        [
            Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">'),
            element("title", f"memwatch: {title}"),
            element("style", Html(STYLE)),
        ]
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{element("main", body)}</body></html>\n'


def _parts_at_fault(diagnosis: Diagnosis) -> str:
    parts = dict.fromkeys(finding.part for finding in diagnosis.findings)
    return f"at fault: {', '.join(parts)}" if parts else "no fault was found"


def _make_shareable(story: RunStory, redact: Redactor) -> None:
    """The path of a cgroup names users, containers and jobs; reasons may name folders."""
    if story.limit is not None:
        story.limit = replace(story.limit, path="")
    story.marks = [replace(mark, kind=redact(mark.kind), text=redact(mark.text)) for mark in story.marks]
    story.gpus = {index: replace(gpu, name=redact(gpu.name)) for index, gpu in story.gpus.items()}
    story.programs.rename(redact)


def _what_happened(story: RunStory, diagnosis: Diagnosis | None, title: str) -> str:
    """The first line of the page: what happened, for a reader who reads no further."""
    if diagnosis is not None and diagnosis.findings:
        return diagnosis.findings[0].what
    if diagnosis is not None:
        return f"No freeze and no killed job was found{' in this log' if diagnosis.is_pasted else ''}."
    counted = counted_limit(story)
    room = ""
    if counted is not None:
        left = max(counted.left_bytes, 0)
        room = f"; {format_size(left)} was left of {format_size(counted.limit_bytes)} ({counted.words})"
    if story.peak_job_bytes is None:
        return f"{title}: {story.worst_level} at worst{room}."
    end = "its end was not recorded" if story.exit is None else ending(story.exit)
    return f"{title}: {end}; peak memory {format_size(story.peak_job_bytes)}{room}."


def _title(story: RunStory, show_commands: bool) -> str:
    command = (story.start or {}).get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    if not words or (not story.is_of_a_job and words[:2] == ["memwatch", "record"]):
        return "This machine"
    if show_commands:
        return as_given(words)
    return "tokenize" if is_tokenizer(words) else program_name(" ".join(words))


def _when(story: RunStory, zone: tzinfo | None) -> str:
    if story.begin_x is None or story.end_x is None:
        return "Nothing was recorded."
    same_day = clock_time(story.begin_x, zone, True)[:10] == clock_time(story.end_x, zone, True)[:10]
    begin, end = clock_time(story.begin_x, zone, True), clock_time(story.end_x, zone, not same_day)
    words = [f"{begin} to {end}", format_duration(story.span_s)]
    if story.is_of_a_job:
        words.append("no end was recorded" if story.exit is None else ending(story.exit))
    return " · ".join(words)


def _tiles(story: RunStory, zone: tzinfo | None) -> Html:
    tiles = []
    if story.peak_job_bytes is not None:
        tiles.append(("Peak memory of the job", format_size(story.peak_job_bytes), "in RAM and swap"))
    if story.least_available_bytes is not None and story.total_bytes is not None:
        at = clock_time(story.least_available_t or 0, zone, story.spans_days)
        when = f"of {format_size(story.total_bytes)}, at {at}"
        tiles.append(("Lowest available memory", format_size(story.least_available_bytes), when))
    if (counted := counted_limit(story)) is not None:
        name = "Limit that counted" if counted.was_near else "Nearest limit"
        tiles.append((name, format_size(counted.level_bytes), counted.words))
    if story.swap_total_bytes:
        used = story.levels.highest("swap") or 0
        tiles.append(("Peak swap", format_size(used), f"of {format_size(story.swap_total_bytes)}"))
    if (some := story.rates.highest("some")) is not None:
        tiles.append(("Highest memory pressure", f"{100 * some:.0f} %", "of the time stalled (PSI)"))
    if stalls := [gap.seconds for gap in story.gaps if gap.kind == GapKind.NO_SAMPLES]:
        tiles.append(("Longest gap", format_duration(max(stalls)), "without samples"))
    tiles.append(("Highest level", story.worst_level, "of calm, watch, warn, act"))
    cells = [joined([element("dt", name), element("dd", value, element("small", of))]) for name, value, of in tiles]
    return element("dl", *(element("div", cell) for cell in cells), class_="tiles")


def _diagnosed(diagnosis: Diagnosis | None, lettered: list[tuple[str, Finding]], zone: tzinfo | None) -> Html:
    if diagnosis is None:
        return Html("")
    parts = []
    if lettered:
        parts.append(element("h2", "Findings"))
        parts.append(element("ul", *(_finding(letter, found, zone) for letter, found in lettered), class_="findings"))
    facts = [("Ruled out", diagnosis.ruled_out), ("Not known", diagnosis.not_known)]
    facts.append(("Sources", tuple(f"{each.name}: {each.found}" for each in diagnosis.sources if each.found)))
    facts.append(
        ("Missing sources", tuple(f"{each.name}: {each.missing}" for each in diagnosis.sources if each.missing))
    )
    rows = [joined([element("dt", name), element("dd", _list(items))]) for name, items in facts if items]
    return joined([*parts, element("dl", *rows, class_="facts")])


def _finding(letter: str, finding: Finding, zone: tzinfo | None) -> Html:
    rows = [("Why", with_code(finding.why)), ("Confidence", text(finding.confidence))]
    if finding.start_t is not None:
        rows.insert(0, ("When", text(_between(finding, zone))))
    if finding.held is not None:
        rows.append(("Memory", _held(finding.held)))
    if finding.evidence:
        rows.append(("Evidence", _list(finding.evidence)))
    if finding.advice:
        rows.append(("Advice", element("ol", *(element("li", with_code(item)) for item in finding.advice))))
    facts = joined(joined([element("dt", name), element("dd", inside)]) for name, inside in rows)
    headline = element("h3", element("span", letter, class_="letter"), with_code(finding.what))
    return element("li", headline, element("dl", facts), id=f"finding-{letter}")


def _held(held: Held) -> Html:
    """Bars against the limit that counted, which is the line at their right end."""
    most = max(held.limit_bytes, *(size for _, size in held.parts))
    bars = [
        element(
            "li",
            element("i", style=f"width: {100 * size / most:.1f}%"),
            element("span", f"{name} · {format_size(size)}"),
        )
        for name, size in held.parts
    ]
    line = element(
        "b",
        f"limit: {held.limit}, {format_size(held.limit_bytes)}",
        style=f"width: {100 * held.limit_bytes / most:.1f}%",
    )
    return element("ul", *bars, element("li", line, class_="limit"), class_="held")


def _between(finding: Finding, zone: tzinfo | None) -> str:
    assert finding.start_t is not None
    begin = clock_time(finding.start_t, zone, True)
    if finding.end_t is None or finding.end_t <= finding.start_t:
        return begin
    length = format_duration(finding.end_t - finding.start_t)
    return f"{begin} to {clock_time(finding.end_t, zone)} ({length})"


def _list(items: Iterable[str]) -> Html:
    return element("ul", *(element("li", with_code(item)) for item in items))


def _events(story: RunStory, zone: tzinfo | None) -> Html:
    if not story.marks:
        return Html("")
    rows = [
        element(
            "tr",
            element("td", element("span", str(number), class_=f"badge {mark.css}")),
            element("td", clock_time(mark.t, zone, story.spans_days), class_="time"),
            element("td", element("span", mark.kind.upper(), class_="word")),
            element("td", mark.text),
            id=f"event-{number}",
            class_=mark.css,
        )
        for number, mark in enumerate(story.marks, 1)
    ]
    parts = [element("h2", "Events"), element("table", element("tbody", *rows))]
    if story.lost_marks:
        parts.append(element("p", f"{story.lost_marks} earlier events are not shown.", class_="soft"))
    return joined(parts)


def _programs(story: RunStory, zone: tzinfo | None) -> Html:
    programs = story.programs.biggest()
    if not programs:
        return Html("")
    heads = [element("th", "Program"), element("th", "Process", class_="number"), element("th", "")]
    heads += [element("th", head, class_="number") for head in ("At first", "At most", "When")]
    rows = [
        element(
            "tr",
            element("td", program.name),
            element("td", str(program.pid), class_="number"),
            element("td", "job" if program.is_jobs else "", class_="soft"),
            element("td", format_size(program.first_bytes), class_="number"),
            element("td", format_size(program.peak_bytes), class_="number"),
            element("td", clock_time(program.peak_t, zone, story.spans_days), class_="number"),
        )
        for program in programs
    ]
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows), class_="programs")
    return joined([element("h2", "Largest programs, in RAM and swap"), table])


def _footer(story: RunStory, zone: tzinfo | None) -> Html:
    from datetime import datetime

    where = datetime.fromtimestamp(min(max(story.begin_x or 0.0, 0.0), 4e9), zone).astimezone(zone).strftime("UTC%z")
    sentences = [f"{format_number(story.samples, 'sample')}; times are {where[:6]}:{where[6:8]}."]
    if story.set_back_s:
        back = format_duration(story.set_back_s)
        sentences.append(f"The clock was set back by {back} during this time; the charts ignore that.")
    sentences += absent(story)
    sentences.append("Where many samples share a column of pixels, it spans the lowest to the highest.")
    return element("footer", element("p", " ".join(sentences)), element("p", f"memwatch {__version__}"))
