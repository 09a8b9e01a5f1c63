"""The page in a real browser: it loads nothing, complains of nothing, fits, and shows what it should."""

import re
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from memwatch.report.page import report_page
from tests.browser import Browser
from tests.report.examples import (
    PRIVATE,
    diagnosis,
    freeze,
    hostile_diagnosis,
    hostile_run,
    in_a_cgroup,
    private_diagnosis,
    private_run,
)

PANELS = ["memory", "swap", "swapping", "pressure", "gpu0"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report_page(freeze(), diagnosis(), zone=UTC))
    return path


def test_it_loads_without_the_network_and_without_a_complaint(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.requests == [page.as_uri()]
    assert browser.complaints == []
    assert browser.value("document.scripts.length") == 0
    assert browser.value("document.title") == "memwatch: python3 prepare.py"


def test_every_chart_has_every_mark_and_finding_on_it(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.value("[...document.querySelectorAll('.chart')].map(chart => chart.id)") == PANELS
    count = "[...document.querySelectorAll('.chart')].map(chart => chart.querySelectorAll({!r}).length)"
    assert browser.value(count.format("svg line.mark")) == [5] * len(PANELS)  # warn, act, pause, resume, exit
    assert browser.value(count.format("svg rect.finding")) == [2] * len(PANELS)
    assert browser.value(count.format(".gap")) == [1] * len(PANELS)
    assert browser.value("document.querySelectorAll('.badge[href]').length") == 5
    assert browser.value("document.querySelectorAll('.findings > li').length") == 2


def test_the_first_line_says_what_happened(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.value("document.querySelector('main').firstElementChild.innerText") == diagnosis().findings[0].what


def test_the_limit_that_counted_is_a_line_at_its_height(browser: Browser, tmp_path: Path) -> None:
    """8 of 8 GiB in its own chart, which comes first; its words lie inside the chart."""
    path = tmp_path / "limit.html"
    path.write_text(report_page(in_a_cgroup(), zone=UTC))
    browser.open(path)
    assert browser.value("document.querySelector('.chart').id") == "limit"

    def edge(selector: str, side: str) -> float:
        return float(browser.value(f"document.querySelector('#limit {selector}').getBoundingClientRect().{side}"))

    top, bottom = edge("svg", "top"), edge("svg", "bottom")
    assert edge("line.counted", "top") == pytest.approx(top, abs=0.02 * (bottom - top))
    assert top <= edge(".rule-label.counted", "top") < edge(".rule-label.counted", "bottom") <= bottom


def test_nothing_private_is_in_the_document(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "sent.html"
    path.write_text(report_page(private_run(), private_diagnosis(), zone=UTC, private_names=["alice", "nimbus"]))
    browser.open(path)
    document = browser.value("document.documentElement.outerHTML").lower()
    assert not [private for private in PRIVATE if private.lower() in document]
    assert browser.complaints == []


def test_lines_are_drawn_where_the_values_are(browser: Browser, page: Path) -> None:
    """The job's peak is 61.0 of 62.6 GiB: 97 % of the height of its chart."""
    browser.open(page)
    plot = "document.querySelector('#memory svg').getBoundingClientRect()"
    top = "Math.min(...[...document.querySelectorAll('#memory .line.job, #memory .band.job')]"
    top += ".map(line => line.getBoundingClientRect().top))"
    height = browser.value(f"{plot}.height")
    assert browser.value(f"({plot}.bottom - {top})") / height == pytest.approx(61.0 / 62.6, abs=0.03)


def test_a_label_at_the_right_edge_does_not_widen_a_phone(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "edge.html"
    path.write_text(report_page(in_a_cgroup(), private_diagnosis(), zone=UTC))
    browser.size(390, 900)
    browser.open(path)
    assert browser.value("document.documentElement.scrollWidth") <= 390
    assert browser.value("document.querySelectorAll('.xaxis .tick.last').length") == 1


@pytest.mark.parametrize("width", [360, 800, 1600])
def test_it_fits_from_a_phone_to_a_wall(browser: Browser, page: Path, width: int) -> None:
    browser.size(width, 900)
    browser.open(page)
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("document.querySelector('.plot svg').getBoundingClientRect().width") > 0.6 * min(width, 1000)
    small = "[...document.querySelectorAll('body *')].some(one => parseFloat(getComputedStyle(one).fontSize) < 10)"
    assert browser.value(small) is False


def test_it_is_light_or_dark_as_the_reader_likes(browser: Browser, page: Path) -> None:
    browser.size(1200, 900)
    browser.open(page)
    contrast, shown = {}, {}
    for scheme in ("light", "dark"):
        browser.colour_scheme(scheme)
        paper, ink = (browser.value(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
        contrast[scheme] = brightness(paper) - brightness(ink)
        shown[scheme] = browser.picture()
    assert contrast["light"] > 180
    assert contrast["dark"] < -180
    assert shown["light"] != shown["dark"]
    assert all(picture.startswith(b"\x89PNG") for picture in shown.values())


def test_it_prints(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.colour_scheme("dark")
    printed = browser.pdf()
    assert printed.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4


def test_nothing_hostile_comes_to_life(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(report_page(hostile_run(), hostile_diagnosis(), show_commands=True, zone=UTC))
    browser.open(path)
    assert browser.requests == [path.as_uri()]
    assert browser.complaints == []
    assert (
        browser.value("document.querySelectorAll('script, img, iframe, object, link, [onload], [onerror]').length") == 0
    )
    assert "<img src=x onerror=alert(1)>" in browser.value("document.body.innerText")


def brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
