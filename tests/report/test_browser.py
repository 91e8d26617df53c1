"""The pages in headless Chromium, as files: no error, nothing wider than a phone, search and filters, the keyboard.

Needs Playwright for Python (``pip install playwright``) and a Chromium: on the path, or named by the variable
``DPFL_CHROMIUM``. Without a browser it is skipped, and says so.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_report import REFUTED, laid_out, sample

from dpfl_theory import statements
from dpfl_theory.report.build import build

api = pytest.importorskip("playwright.sync_api", reason="the pages are not tried in a browser: Playwright is missing")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("DPFL_CHROMIUM") or next((found for name in NAMES if (found := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="the pages are not tried in a browser: there is no Chromium")
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
PHONE, DESK = {"width": 375, "height": 800}, {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all papers: the sample's evidence, and one check of each other statement."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        place = laid_out(folder)
        reported = sample()
        first = reported["evidence"][0]
        ids = {e["statement"] for e in reported["evidence"]}
        for s in statements.all_statements():
            if s.id not in ids and s.checks:
                c = s.checks[0]
                reported["evidence"].append(
                    {
                        **first,
                        "statement": s.id,
                        "method": c.method,
                        "check": c.name,
                        "verdict": c.expected,
                        "expected": c.expected,
                    }
                )
        (place / "evidence" / "check-das2022.json").write_text(json.dumps(reported))
        build(place, scripts=folder / "validations")
    return place


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of a desk's width, which fails at the end if anything was reported on its console."""
    context = browser.new_context(viewport=DESK, offline=True)
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    context.close()
    assert said == []


def shown(page: Any) -> list[str]:
    """The ids of the rows that can be seen, in their order."""
    found: list[str] = page.eval_on_selector_all(
        "#table tbody tr:not([hidden]) th a", "links => links.map(link => link.textContent)"
    )
    return found


def test_no_page_reports_an_error_or_is_wider_than_a_phone(page: Any, site: Path) -> None:
    page.set_viewport_size(PHONE)
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], file


def test_the_first_screen_tells_of_every_paper(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    rows = page.query_selector_all(".found tbody tr")
    assert len(rows) == len(statements.papers()) + 1  # and one's own
    ends = [row.bounding_box()["y"] + row.bounding_box()["height"] for row in rows]
    assert ends[len(statements.papers()) - 1] <= DESK["height"]


def test_search_filters_and_order(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    everything = shown(page)
    assert len(everything) == len(statements.all_statements()) + 1
    page.fill("#search", "theorem4b NORMALIZED".replace("NORMALIZED", "dp-normfedavg"))
    assert REFUTED in shown(page)
    assert all("theorem4b" in id_ for id_ in shown(page))
    assert "?q=" in page.url
    page.click("button[type=reset]")
    page.wait_for_function("document.querySelectorAll('#table tr[hidden]').length === 0")
    page.select_option("select[name=paper]", "das2022")
    page.select_option("select[name=verdict]", "violated")
    page.select_option("select[name=grade]", "constant")
    chosen = shown(page)
    assert REFUTED in chosen
    assert all(id_.startswith("das2022.") and statements.get(id_).erratum.grade == "constant" for id_ in chosen)
    assert page.inner_text("#found") == f"{len(chosen)} of {len(everything)} statements"
    page.reload()
    assert shown(page) == chosen, "the address keeps what was asked"
    page.click("button[type=reset]")
    page.wait_for_function("document.querySelectorAll('#table tr[hidden]').length === 0")
    page.select_option("select[name=method]", "monte-carlo")
    drawn = shown(page)
    assert drawn
    assert len(drawn) < len(everything)
    page.select_option("select[name=method]", "")
    page.click("th[data-sort=ratio] button")
    assert page.get_attribute("th[data-sort=ratio]", "aria-sort") == "descending"
    assert shown(page)[0] == REFUTED, "the largest ratio comes first"
    page.click("th[data-sort=ratio] button")
    assert shown(page)[0] != REFUTED
    page.select_option("select[name=sort]", "place-up")
    assert shown(page) == everything
    page.select_option("select[name=power]", "none")
    assert "mine.lemma" in shown(page)


def test_links_of_the_first_screen_lead_to_their_statements(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.click(".found tbody tr:nth-child(2) .ways a")
    assert {id_.split(".")[0] for id_ in shown(page)} == {statements.papers()[1]}


def test_the_keyboard(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("a/b")
    assert page.input_value("#search") == "a/b", "a stroke can be searched for"
    page.fill("#search", "theorem4")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == shown(page)[1]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_url("**/statements/*.html")
    page.keyboard.press("/")
    page.wait_for_url("**/index.html#search")
    assert page.evaluate("document.activeElement.id") == "search"


def test_without_scripts_everything_is_there(browser: Any, site: Path) -> None:
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.locator("#table tbody tr:visible").count() == len(statements.all_statements()) + 1
    assert page.locator("#find:visible").count() == 0
    context.close()


def test_light_and_dark(browser: Any, site: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        ground = "getComputedStyle(document.body).backgroundColor"
        grounds.append(page.evaluate(ground))
        page.click("#theme")
        switched = page.evaluate(ground)
        assert switched != grounds[-1]
        context.close()
    assert grounds[0] != grounds[1]
