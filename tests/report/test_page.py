"""The page as text: what is told, what is kept to ourselves, and what becomes of hostile names."""

import re
from dataclasses import replace
from datetime import UTC
from html.parser import HTMLParser
from pathlib import Path

import pytest

from memwatch.diagnose.collect.pasted_log import pasted_evidence
from memwatch.diagnose.conclude import diagnose
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Diagnosis, Held
from memwatch.diagnose.logs.log_events import read_log
from memwatch.diagnose.logs.log_lines import LogLine
from memwatch.journal.events import sample_event
from memwatch.report.page import report_page
from tests.journal.examples import sample
from tests.report.examples import (
    BEGIN_T,
    HOSTILE,
    PRIVATE,
    diagnosis,
    freeze,
    hostile_diagnosis,
    hostile_run,
    in_a_cgroup,
    private_diagnosis,
    private_run,
)

VOID = ("meta", "line", "rect", "path")


class Checker(HTMLParser):
    """Every element is closed, and where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data + "\n"


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


def test_findings_are_told_with_evidence_and_advice() -> None:
    text = checked(report_page(freeze(), diagnosis(), zone=UTC)).text
    for found in diagnosis().findings:
        assert found.what in text
        assert found.why in text
        assert all(item in text for item in (*found.evidence, *found.advice))
    assert "disk full (212 GiB free)" in text
    assert "memray run prepare.py would tell" in text
    assert "kernel log: you may not read it" in text
    assert "2025-11-16 14:26:58 to 14:31:30 (4 min 32 s)" in text


def test_the_first_line_says_what_happened() -> None:
    assert f"<h1>{diagnosis().findings[0].what}</h1>" in report_page(freeze(), diagnosis(), zone=UTC)
    alone = checked(report_page(freeze(), zone=UTC)).text
    assert "python3 prepare.py: the job was killed by SIGKILL (not sent by memwatch); peak memory 61.0 GiB" in alone
    assert "was left of 62.6 GiB (all of RAM)." in alone
    assert "<h1>No freeze and no killed job was found.</h1>" in report_page(freeze(), Diagnosis())


def test_the_limit_that_counted_is_drawn() -> None:
    page = report_page(freeze(), diagnosis(), zone=UTC)
    assert "limit: all of RAM, 62.6 GiB" in page
    assert page.count('class="rule counted"') == 1
    confined = report_page(in_a_cgroup(), zone=UTC)
    assert confined.index('id="limit"') < confined.index('id="memory"')
    assert "limit: memory limit of the job&#x27;s cgroup, 8.0 GiB" in confined
    assert confined.count('class="rule counted"') == 1
    stopped = report_page(in_a_cgroup(by="guard"), zone=UTC)
    assert "less the reserve of 1.0 GiB" in stopped
    assert "Limit that counted" in stopped


def test_the_reserve_is_drawn_only_below_the_limit_it_is_kept_from() -> None:
    """A reserve of the cgroup's 8 GiB is no line in the chart of the machine's RAM."""
    page = report_page(in_a_cgroup(by="guard"), zone=UTC)
    limit, memory = page.split('id="memory"')
    assert "reserve of 1 GiB starts" in limit.partition('id="limit"')[2]
    assert "reserve of" not in memory


def test_commands_in_findings_are_set_as_code() -> None:
    finding = replace(
        diagnosis().findings[0], why="`<b>` grew", advice=("Run `memwatch diagnose last`.",), evidence=("`a` and `b`",)
    )
    page = report_page(freeze(), replace(diagnosis(), findings=(finding,)), zone=UTC)
    for shown in ("<code>memwatch diagnose last</code>", "<code>&lt;b&gt;</code>", "<code>a</code> and <code>b</code>"):
        assert shown in page
    assert "`" not in page.partition("<body")[2]


def test_the_page_can_be_sent_to_somebody_else() -> None:
    """No path, no command line, no user and no host, in the whole file; all of it where that is asked for."""
    page = report_page(private_run(), private_diagnosis(), zone=UTC, private_names=["alice", "nimbus"])
    for private in PRIVATE:
        assert private.lower() not in page.lower(), private
    assert "/proc/sys/vm/compact_memory" in page
    asked = report_page(private_run(), private_diagnosis(), show_commands=True, zone=UTC)
    assert "/home/alice/corpus" in asked
    assert "nimbus" in asked


def test_lines_of_logs_and_names_that_people_chose_are_not_on_a_page_that_is_sent() -> None:
    """Of another machine's log nobody knows the names, so what is shown is only what was read from its lines."""
    log = [
        LogLine(BEGIN_T, "kernel", "nfs: server crown-jewels not responding, still trying"),
        LogLine(BEGIN_T + 1, "kernel", "WARNING: Pool 'bobs-tank' has encountered an uncorrectable I/O failure"),
        LogLine(BEGIN_T + 2, "rsync", "write failed on bobs-thesis.tex: No space left on device (28)"),
        LogLine(BEGIN_T + 3, "kernel", "amdgpu 0000:03:00.0: amdgpu: ring bobs-ring timeout, signaled seq=1"),
        LogLine(
            BEGIN_T + 4, "systemd", "bobs-secret.service: A process of this unit has been killed by the OOM killer."
        ),
        LogLine(
            BEGIN_T + 400, "systemd-oomd", "Killed /user.slice/bobs-app.scope due to memory pressure for /user.slice"
        ),
    ]
    found = diagnose(Evidence(now_t=BEGIN_T + 900, log=read_log(log), is_pasted=True))
    causes = {Cause.DISK_FAULT, Cause.DISK_FULL, Cause.GPU_HANG, Cause.OOM_UNKNOWN_LIMIT, Cause.OOMD_KILL}
    assert {finding.cause for finding in found.findings} == causes
    page = report_page(freeze(), found, zone=UTC)
    assert "bobs" not in page
    assert "crown-jewels" not in page
    asked = report_page(freeze(), found, show_commands=True, zone=UTC)
    for name in ("bobs-tank", "bobs-thesis", "bobs-ring", "bobs-secret", "bobs-app", "crown-jewels"):
        assert name in asked


def test_names_in_the_bars_of_memory_are_not_on_a_page_that_is_sent() -> None:
    held = Held(100, "the machine's RAM", (("alice-train", 90), ("/home/bob/run", 10)))
    told = diagnosis()
    told = replace(told, findings=(replace(told.findings[0], held=held),))
    page = report_page(freeze(), told, zone=UTC, private_names=["alice"])
    assert "[name]-train · 90 B" in page
    assert not {"alice", "bob"} & set(re.findall(r"[a-z]+", page))


def test_nothing_found_is_said() -> None:
    assert "No freeze and no killed job was found." in report_page(freeze(), Diagnosis())


def test_what_happened_is_told_with_times() -> None:
    text = checked(report_page(freeze(), zone=UTC)).text
    assert "14:26:12" in text
    assert "RAM is full in about 12 s at this rate (the job grows 156.0 MiB/s)" in text
    assert "you resumed the job" in text
    assert "the job was killed by SIGKILL (not sent by memwatch)" in text
    assert "Findings" not in text


def test_only_names_of_programs_are_told_unless_asked() -> None:
    assert "hf_SECRET" not in report_page(freeze(), diagnosis())
    assert "/home/me" not in report_page(freeze(), diagnosis())
    assert "hf_SECRET" in report_page(freeze(), show_commands=True)


@pytest.mark.parametrize("show_commands", [False, True])
def test_nothing_hostile_gets_through(show_commands: bool) -> None:
    page = report_page(hostile_run(), hostile_diagnosis(), show_commands=show_commands, zone=UTC)
    checker = checked(page)
    assert not {"script", "img", "iframe"} & set(checker.tags)
    assert checker.tags.count("style") == 1
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert HOSTILE[:20] in checker.text


def test_the_page_needs_nothing_but_itself() -> None:
    page = report_page(freeze(), diagnosis())
    assert not re.search(r"https?:|src=|url\(|@import|<script|<link", page)


def test_what_is_not_known_is_said_and_not_drawn() -> None:
    page = report_page([sample_event(sample(1000.0 + second)) for second in range(5)], zone=UTC)
    text = checked(page).text
    assert "Swap: none." in text
    assert "no end was recorded" in text
    assert 'id="swap"' not in page
    assert 'id="limit"' in page


@pytest.mark.parametrize("events", [[], [{"t": 1.0, "event": "start"}], [{"t": 1e300, "event": "exit"}]])
def test_an_empty_or_absurd_journal_is_a_page_too(events: list[dict[str, object]]) -> None:
    checked(report_page(events, zone=UTC))


def test_one_sample_is_enough() -> None:
    page = report_page([sample_event(sample())], zone=UTC)
    assert "nan" not in page.lower().replace("nanoseconds", "")
    checked(page)


def test_a_week_makes_a_page_no_bigger_than_an_hour() -> None:
    def record(count: int) -> str:
        return report_page((sample_event(sample(1e9 + 5.0 * number)) for number in range(count)), zone=UTC)

    hour, days = record(720), record(20_000)
    assert len(days) < 3 * len(hour)
    assert len(days) < 1_000_000


@pytest.mark.parametrize("folder", ["fresh_7", "fresh_8"])
def test_no_page_of_a_posted_log_names_its_units_containers_or_homes(folder: str) -> None:
    """Nobody wrote down which names are in these: whatever looks like one must be gone."""
    names = re.compile(r"[\w@.-]+\.(?:service|scope|slice)\b|kubepods\S*|/home/\S+|/docker/\S+|pod[0-9a-f]{8}\S*")
    for path in sorted((Path(__file__).parent.parent / "diagnose" / "excerpts" / folder).glob("*.log")):
        page = report_page((), diagnose(pasted_evidence(str(path), BEGIN_T)))
        assert names.findall(page.partition("</style>")[2]) == [], path.name
