"""The pool in motion: what the map says is what the records say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wastesim.explorer.spans import boxes
from wastesim.records import SHARES
from wastesim.report.comparison_parts import Part

from .chromium import Browser

pytestmark = pytest.mark.browser
Opened = Callable[..., Browser]
MAP = "#p-maps .map"


def said(browser: Browser) -> str:
    text: str = browser.js("document.getElementById('p-said').textContent")
    return text.replace("\u00a0", " ")


def now(browser: Browser) -> str:
    text: str = browser.js("document.querySelector('#p-maps .now').textContent")
    return text.replace("\u00a0", " ")


def point(browser: Browser, moment_s: float, cell: float, kind: str = "mouseMoved") -> None:
    """Move the mouse to a moment and a cell of the first map."""
    x, y = browser.at(MAP, 0, 0)
    place = browser.js(
        f"(() => {{ const v = wastesim.pool.view(), p = wastesim.pool.shown[0].map.plot();"
        f" return [p.x + ({moment_s} - v.from) / (v.to - v.from) * p.width,"
        f" p.y + p.height * (1 - ({cell} - v.low) / (v.high - v.low))]; }})()"
    )
    browser.mouse("mouseMoved", x + place[0], y + place[1])
    if kind == "click":
        browser.mouse("mousePressed", x + place[0], y + place[1], buttons=1)
        browser.mouse("mouseReleased", x + place[0], y + place[1])


def middle(part: Part, at: int) -> tuple[int, float, float]:
    """(request, moment, cell) in the middle of a box."""
    held = boxes(part.records).held
    request = int(part.records.spans["request_id"][at])
    moment = float(held.from_s[at] + held.to_s[at]) / 2
    return request, moment, float(held.start[at] + held.stop[at]) / 2


def test_pointing_names_the_request_that_holds_the_cell(opened: Opened, one: Part) -> None:
    browser = opened("panel=pool")
    rows = one.records.requests
    longest = np.argsort(one.records.spans["from_s"] - one.records.spans["to_s"])[:5]
    for at in longest.tolist():
        request, moment, cell = middle(one, at)
        point(browser, moment, cell)
        row = int(np.flatnonzero(rows["request_id"] == request)[0])
        prompt, output = int(rows["prompt_tokens"][row]), int(rows["output_tokens"][row])
        assert f"Request {request}, prompt {prompt:,} + output {output:,} tokens" in said(browser)
        assert "holds 2,048 cells" in said(browser)


def test_a_free_cell_is_called_so(opened: Opened, one: Part) -> None:
    browser = opened("panel=pool")
    point(browser, float(one.records.ticks["t_s"][-1]), one.records.facts.capacity_cells - 3000)
    assert "is free" in said(browser)


def test_the_numbers_of_a_moment_are_the_ledger_s(opened: Opened, one: Part) -> None:
    ticks = one.records.ticks
    for at in (10, len(ticks["t_s"]) // 3, len(ticks["t_s"]) // 2):
        moment = float(ticks["t_s"][at] + ticks["dt_s"][at] / 2)
        browser = opened(f"panel=pool&t={moment}")
        for name in SHARES:
            share = ticks[name][at] / one.records.facts.capacity_cells
            if share >= 0.001:
                assert f"{name} {100 * share:.1f} %" in now(browser)
        assert f"{ticks['running'][at]} running, {ticks['waiting'][at]} waiting" in now(browser)


def test_the_colours_of_the_map_are_the_shares_of_the_palette(opened: Opened, one: Part) -> None:
    """Summed over the column of a moment, boxes are the ledger's shares."""
    ticks = one.records.ticks
    at = len(ticks["t_s"]) // 2
    moment = float(ticks["t_s"][at] + ticks["dt_s"][at] / 2)
    browser = opened(f"panel=pool&t={moment}")
    sums = browser.js(
        f"(() => {{ const run = wastesim.runs[0], t = {moment};"
        " const view = {from: t, to: t + 1e-4, low: 0, high: run.capacity};"
        " const grids = wastesim.raster(run, view, 1, 500);"
        " return Object.values(grids).map((g) => g.reduce((a, b) => a + b, 0) / 500); })()"
    )
    for name, share in zip(("written", "future", "unused", "padding"), sums, strict=True):
        exact = ticks[name][at] / one.records.facts.capacity_cells
        assert share == pytest.approx(exact, abs=1e-4), name


def test_play_moves_the_moment_and_pauses(opened: Opened) -> None:
    browser = opened("panel=pool&t=1&speed=4")
    browser.click("#p-play")
    assert browser.js("document.getElementById('p-play').textContent") == "Pause"
    browser.wait("wastesim.pool.moment() > 3")
    browser.click("#p-play")
    assert browser.js("document.getElementById('p-play').textContent") == "Play"
    paused = browser.js("wastesim.pool.moment()")
    browser.wait("location.hash.includes('t=')")
    assert browser.js("wastesim.pool.moment()") == paused


def test_play_stops_at_the_end(opened: Opened) -> None:
    browser = opened("panel=pool&t=17&speed=4")
    browser.click("#p-play")
    browser.wait("document.getElementById('p-play').textContent === 'Play'")
    assert browser.js("wastesim.pool.moment() / wastesim.end") == pytest.approx(1, abs=1e-3)


def test_scrubbing_moves_the_moment(opened: Opened) -> None:
    browser = opened("panel=pool")
    browser.js(
        "(() => { const e = document.getElementById('p-scrub'); e.value = 250;"
        " e.dispatchEvent(new Event('input')); })()"
    )
    view = browser.js("wastesim.pool.view()")
    assert browser.js("wastesim.pool.moment()") == pytest.approx(
        view["from"] + (view["to"] - view["from"]) / 4
    )
    assert browser.js("document.getElementById('p-scrub').getAttribute('aria-valuetext')")


def test_zooming_and_showing_all(opened: Opened) -> None:
    browser = opened("panel=pool")
    whole = browser.js("wastesim.pool.view()")
    for button in ("#p-in", "#p-in", "#p-high"):
        browser.click(button)
    part = browser.js("wastesim.pool.view()")
    assert part["to"] - part["from"] == pytest.approx((whole["to"] - whole["from"]) / 4)
    assert part["high"] - part["low"] == pytest.approx(whole["high"] / 2, abs=1)
    browser.click("#p-out")
    browser.click("#p-low")
    assert browser.js("document.getElementById('p-reset').disabled") is False
    browser.click("#p-reset")
    assert browser.js("wastesim.pool.view()") == whole


def test_dragging_moves_the_part_that_is_shown(opened: Opened) -> None:
    browser = opened("panel=pool&from=5&to=10")
    x, y = browser.at(MAP)
    browser.mouse("mousePressed", x, y, buttons=1)
    for step in range(1, 6):
        browser.mouse("mouseMoved", x - 20 * step, y, buttons=1)
    browser.mouse("mouseReleased", x - 100, y)
    assert 5 < browser.js("wastesim.pool.view().from") < 10


def test_ctrl_and_wheel_zoom_about_the_pointer(opened: Opened) -> None:
    browser = opened("panel=pool")
    x, y = browser.at(MAP)
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200, modifiers=2)
    browser.wait("wastesim.pool.view().from > 0.5")


def test_a_click_marks_the_request_and_keys_go_on(opened: Opened, one: Part) -> None:
    longest = int(np.argmax(one.records.spans["to_s"] - one.records.spans["from_s"]))
    request, moment, cell = middle(one, longest)
    browser = opened("panel=pool")
    point(browser, moment, cell, "click")
    assert browser.js("wastesim.state.mark") == str(request)
    browser.js("document.querySelector('#p-maps .map').focus()")
    before = browser.js("wastesim.pool.moment()")
    browser.key("ArrowRight")
    assert browser.js("wastesim.pool.moment()") > before
    browser.key("ArrowDown")
    browser.key("ArrowUp")
    assert browser.js("wastesim.state.mark") != ""
    browser.key("+", "+")
    assert browser.js("wastesim.pool.view().from") > 0
    browser.key(" ", " ")
    assert browser.js("wastesim.pool.playing") is True
    browser.key(" ", " ")
    browser.key("Escape")
    assert browser.js("wastesim.state.mark") == ""


def test_the_curve_goes_to_any_moment_of_the_run(opened: Opened) -> None:
    browser = opened("panel=pool")
    browser.click("#p-maps .curve", 0.8)
    assert 0.6 < browser.js("wastesim.pool.moment() / wastesim.end") < 0.95


def test_policies_stand_side_by_side_on_the_same_requests(
    opened: Opened, compared: str, four: list[Part]
) -> None:
    browser = opened("panel=pool", compared)
    assert browser.js("document.querySelectorAll('#p-maps .map').length") == 4
    browser.click("#p-runs input[value='orca_pow2']")
    browser.click("#p-runs input[value='orca_oracle']")
    names = browser.js("[...document.querySelectorAll('#p-maps h3')].map((e) => e.textContent)")
    assert names == ["contiguous", "paged"]
    browser.wait("location.hash.includes('runs=contiguous%2Cpaged')")
    browser.js("wastesim.update({mark: 0, t: 1})")
    assert said(browser).startswith("contiguous: Request 0")
    assert "paged: Request 0" in said(browser)


def test_at_least_one_map_stays(opened: Opened, compared: str) -> None:
    browser = opened("panel=pool&runs=paged", compared)
    browser.click("#p-runs input[value='paged']")
    assert browser.js("document.querySelectorAll('#p-maps .map').length") == 1
