"""The report in a real browser: what it draws, says and fetches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM: Final = shutil.which("chromium")
PATIENCE_MS: Final = 60_000

_ARGUMENTS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH; Debian's package chromium has it")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=[(1280, "light"), (390, "dark")], ids=["wide", "narrow"])
def opened(request: pytest.FixtureRequest, browser: Browser, report: Path) -> Iterator[Page]:
    """The report with all charts drawn, on a wide light screen and a narrow dark one. Ends with what went wrong."""
    width, scheme = request.param
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: wrong.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("request", lambda sent: None if sent.url.startswith(("file:", "data:")) else wrong.append(sent.url))
    page.goto(report.as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn", timeout=PATIENCE_MS)
    yield page
    page.close()
    assert wrong == []


def test_every_chart_is_drawn(opened: Page) -> None:
    charts = opened.locator(".chart")
    assert charts.count() > 15
    for index in range(charts.count()):
        chart = charts.nth(index)
        assert chart.get_attribute("aria-label")
        marks = chart.locator("svg .mark-line path, svg .mark-symbol path")
        drawn = [marks.nth(mark).get_attribute("d") or "" for mark in range(marks.count())]
        assert any(len(path) > 10 for path in drawn), chart.get_attribute("data-spec")
        box = chart.locator("svg").bounding_box()
        assert box
        assert box["width"] > 200
        assert box["height"] > 60


def test_the_figures_are_those_of_the_result(opened: Page, folder: Path) -> None:
    seen = opened.evaluate(
        """Array.from(document.querySelectorAll("tr[data-run]"), row => [row.dataset.profile, Number(row.dataset.run),
             Object.fromEntries(Array.from(row.querySelectorAll("td"), cell => [cell.dataset.figure,
               cell.querySelector("data") && Number(cell.querySelector("data").value)]))])"""
    )
    expected = {
        (profile["profile"], run["run"]): run
        for profile in json.loads((folder / "result.json").read_text())["profiles"]
        for run in profile["runs"]
    }
    assert {(profile, run) for profile, run, _ in seen} == set(expected)
    for profile, run, figures in seen:
        assert len(figures) > 10
        assert figures == {name: expected[profile, run][name] for name in figures}


def test_figures_are_shown_rounded(opened: Page) -> None:
    pairs = opened.evaluate(
        "Array.from(document.querySelectorAll('data'), data => [Number(data.value), data.innerText])"
    )
    shown = [(value, text) for value, text in pairs if text]
    assert len(shown) > 50
    for value, text in shown:
        assert float(text.replace(",", "")) == pytest.approx(value, rel=0.006)


def test_nothing_stands_beyond_the_screen(opened: Page) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_table_behind_a_chart_opens_by_key(opened: Page) -> None:
    details = opened.locator("#percentiles details")
    details.locator("summary").focus()
    opened.keyboard.press("Enter")
    assert details.locator("table").is_visible()
    assert details.locator("tbody tr").count() > 5


def test_text_is_dark_on_light_and_light_on_dark(opened: Page) -> None:
    """The charts' too, and on paper always dark on light."""
    brightness = """place => { const [red, green, blue] = getComputedStyle(document.querySelector(place))
      [place == "body" ? "backgroundColor" : "fill"].match(/\\d+/g).map(Number); return red + green + blue }"""
    is_dark = opened.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for dark in [is_dark, False]:
        paper, ink = (opened.evaluate(brightness, place) for place in ("body", "#percentiles svg text"))
        assert (ink > paper + 300) == dark
        assert (paper > ink + 300) != dark
        opened.emulate_media(media="print")
    opened.emulate_media(media="screen")
