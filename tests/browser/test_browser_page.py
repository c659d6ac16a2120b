"""The page as a whole: tabs, fragment, schemes, widths, names, contrast, speed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.request import url2pathname

import pytest

from wastesim.explorer import explorer_page

from .chromium import Browser
from .conftest import saved, simulated

pytestmark = pytest.mark.browser
Opened = Callable[..., Browser]
PANELS = ("mechanism", "bill", "pool", "quiz")
FULL = {"quiz": "panel=quiz&answers=0-1-2", "bill": "panel=bill&requests=500&model=gemma-2-9b"}
CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


def visible(browser: Browser) -> list[str]:
    found: list[str] = browser.js(
        "[...document.querySelectorAll('[role=tabpanel]:not([hidden])')].map((e) => e.id)"
    )
    return found


@pytest.mark.parametrize("panel", PANELS)
def test_a_tab_shows_its_panel_alone(opened: Opened, panel: str) -> None:
    browser = opened()
    browser.click(f"#tab-{panel}")
    assert visible(browser) == [panel]
    assert browser.js(f"document.getElementById('tab-{panel}').getAttribute('aria-selected')") == (
        "true"
    )


def test_arrows_go_from_tab_to_tab(opened: Opened) -> None:
    browser = opened("panel=mechanism")
    browser.js("document.getElementById('tab-mechanism').focus()")
    browser.key("ArrowRight")
    assert visible(browser) == ["bill"]
    browser.key("ArrowLeft")
    browser.key("ArrowLeft")
    assert visible(browser) == ["quiz"]


def test_a_page_with_a_run_of_a_report_begins_with_its_pool(opened: Opened) -> None:
    browser = opened()
    assert visible(browser) == ["pool"]
    assert browser.js("document.querySelector('#foot a').getAttribute('href')") == "report.html"


def test_the_fragment_brings_the_same_state_back(opened: Opened) -> None:
    browser = opened("panel=bill&requests=77&step=3&cache=0")
    assert browser.js("document.getElementById('b-requests').value") == "77"
    browser.js("location.hash = 'panel=mechanism&step=2'")
    browser.wait("document.getElementById('mechanism').hidden === false")
    assert "Step 3 of" in browser.js("document.getElementById('m-said').textContent")


def test_unknown_words_in_the_fragment_do_no_harm(opened: Opened) -> None:
    browser = opened("panel=nonsense&model=gpt-9&t=x&step=-5&runs=none&from=9&to=1&evil=1")
    assert visible(browser) == ["mechanism"]
    browser.click("#tab-bill")
    browser.click("#tab-pool")
    assert browser.js("wastesim.pool.view().from") == browser.js("wastesim.data.recorded.from_s")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("panel", PANELS)
def test_text_has_the_contrast_of_aa(opened: Opened, panel: str, dark: bool) -> None:
    browser = opened(FULL.get(panel, f"panel={panel}"))
    browser.show(1280, 900, dark=dark)
    assert browser.js(CONTRAST) == []


@pytest.mark.parametrize("width", [360, 390, 820, 1280])
@pytest.mark.parametrize("panel", PANELS)
def test_nothing_sticks_out_at_any_width(opened: Opened, panel: str, width: int) -> None:
    browser = opened(FULL.get(panel, f"panel={panel}"))
    browser.show(width, 800, phone=width < 500)
    assert browser.js("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("panel", PANELS)
def test_everything_that_takes_focus_has_a_name_and_a_role(opened: Opened, panel: str) -> None:
    browser = opened(FULL.get(panel, f"panel={panel}"))
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    focusable = [
        node for node in nodes
        if any(p["name"] == "focusable" and p["value"]["value"] for p in node.get("properties", []))
        and node["role"]["value"] not in ("RootWebArea", "tabpanel", "option", "MenuListPopup")
    ]  # fmt: skip
    assert len(focusable) > 5
    nameless = [node["role"]["value"] for node in focusable if not node["name"]["value"].strip()]
    assert nameless == []
    assert not [node for node in focusable if node["role"]["value"] in ("generic", "none")]


def test_every_control_is_reached_by_the_tab_key(opened: Opened) -> None:
    browser = opened("panel=pool")
    browser.js("document.getElementById('tab-pool').focus()")
    reached = set()
    for _ in range(14):
        browser.key("Tab")
        reached.add(browser.js("document.activeElement.id || document.activeElement.className"))
    assert {"p-play", "p-speed", "p-in", "p-out", "p-high", "p-low", "p-scrub", "map"} <= reached


def test_the_first_paint_comes_within_a_second(opened: Opened, compared: str, page: str) -> None:
    for uri in (page, compared):
        assert first_paint_ms(opened("", uri)) < 1000


def test_a_default_run_stays_under_two_megabytes(page: str, compared: str) -> None:
    for uri in (page, compared):
        assert size(uri) < 2e6


@pytest.mark.parametrize("policy", ["contiguous", "paged"])
def test_ten_thousand_requests_stay_under_ten_megabytes_and_a_second(
    opened: Opened, tmp_path_factory: pytest.TempPathFactory, policy: str
) -> None:
    uri = saved(tmp_path_factory, f"{policy}.html", [simulated(10_000, policy)])
    assert size(uri) < 10e6
    browser = opened("", uri)
    assert first_paint_ms(browser) < 1000
    assert "10,000 requests" in browser.js("document.getElementById('kicker').textContent")


def test_a_page_without_a_run_works_too(
    opened: Opened, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("empty") / "page.html"
    target.write_text(explorer_page([]), encoding="utf-8")
    browser = opened("panel=pool", target.as_uri())
    assert "No run is recorded" in browser.js("document.getElementById('p-lead').textContent")
    for panel in PANELS:
        browser.click(f"#tab-{panel}")
        assert visible(browser) == [panel]


def first_paint_ms(browser: Browser) -> float:
    browser.wait("performance.getEntriesByName('first-contentful-paint').length > 0")
    found: float = browser.js("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return found


def size(uri: str) -> int:
    return Path(url2pathname(uri.removeprefix("file://"))).stat().st_size
