"""What can be seen in a picture: nothing printed upon a title, nothing beyond an edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pytest

from wastesim.metrics import summarize
from wastesim.records import Records
from wastesim.report.comparison_parts import Part
from wastesim.report.figures import batching, capacity, concurrency, quality
from wastesim.report.figures.address_grid import Window, grid
from wastesim.report.figures.canvas import NARROW_PX, WIDE_PX, Picture, blank, style
from wastesim.report.figures.comparison_maps import maps
from wastesim.report.figures.holdings import Holdings, holdings
from wastesim.report.figures.memory_map import _closer_look
from wastesim.report.figures.render import _titled

from .report_runs import FACTS, run

GIB = 2**30


def drawn(picture: Picture, *, narrow: bool = False) -> Any:
    figure = blank(NARROW_PX if narrow else WIDE_PX, picture.height_px)
    with matplotlib.rc_context(style()):
        picture.draw(figure, narrow)
        figure.canvas.draw()
    return figure


def titled(picture: Picture) -> Any:
    with matplotlib.rc_context(style()):
        figure = _titled(picture)
        figure.canvas.draw()
    return figure


def apart(figure: Any, *artists: Any) -> bool:
    boxes = [artist.get_window_extent(figure.canvas.get_renderer()) for artist in artists]
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def picture_of(plan: Any, records: Records) -> Picture:
    found = plan(records, summarize(records))
    assert found is not None
    return found


def test_the_key_of_the_maps_is_not_printed_upon_the_title() -> None:
    records = run()
    picture = maps([Part("one", records, summarize(records))], "name: x\n")
    assert picture is not None
    figure = titled(picture)
    assert apart(figure, figure.legends[0], figure._suptitle)


def bars(**changed: Any) -> capacity.Bars:
    known = {
        "model": "m", "context": 2048, "card_bytes": 80 * GIB, "weights_bytes": 20 * GIB,
        "overhead_bytes": 2 * GIB, "kv_bytes": 50 * GIB, "request_bytes": GIB // 4, "most": 200,
        "asked": 1,
    }  # fmt: skip
    return capacity.Bars(**{**known, **changed})


@pytest.mark.parametrize("narrow", [False, True])
def test_capacity_shows_the_limit_that_the_red_begins_at(narrow: bool) -> None:
    picture = capacity.capacity_picture(bars())
    figure = drawn(picture, narrow=narrow)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == [
        "card 80.00 GiB", "usable 72.00 GiB = 0.9 of the card",
    ]  # fmt: skip
    assert sorted(line.get_ydata()[0] for line in axes.lines) == [72, 80]
    assert apart(figure, figure.legends[0], *axes.texts)
    assert picture.title.endswith("fit on 80.00 GiB")
    assert "usable 72.00 GiB" in picture.caption


def test_a_card_that_may_be_used_whole_has_one_line() -> None:
    figure = drawn(capacity.capacity_picture(bars(kv_bytes=58 * GIB)))
    assert len(figure.axes[0].lines) == 1


def row(name: str, low: float, change: float, high: float) -> dict[str, Any]:
    return {
        "cache": name, "dtype": "int8", "window": None, "sinks": None, "change": change,
        "change_low": low, "change_high": high, "bytes_per_token": 100, "bytes_per_element": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("which", ["costs", "pareto"])
def test_every_cache_is_inside_the_picture_also_one_that_improves(which: str) -> None:
    rows = [row("a", -0.11, -0.0448, 0.02), row("b", 0.4, 0.7, 0.9), row("c", -0.002, 0, 0.002)]
    rows = [{**row("float32", 0, 0, 0), "bytes_per_element": 4.0}, *rows]
    plan = quality._costs(rows[1:]) if which == "costs" else quality._pareto(
        {"cells": rows, "tokens": 600})  # fmt: skip
    (axes,) = drawn(plan).axes
    low, high = axes.get_xlim() if which == "costs" else axes.get_ylim()
    assert low < -11
    assert high > 90
    ticks = axes.get_xticks() if which == "costs" else axes.get_yticks()
    assert {-10, -0.5, 0, 0.5, 50} <= set(ticks)


def test_where_nobody_waits_there_is_no_panel_of_waiting() -> None:
    alone, crowd = run(((10, 5),)), run()
    assert len(drawn(picture_of(concurrency, alone)).axes) == 1
    assert len(drawn(picture_of(concurrency, crowd)).axes) == 2
    far = run(((10, 5),), facts=replace(FACTS, ceiling=76))
    assert picture_of(concurrency, far).title == (
        "At most 1 request runs at once; the ceiling is 76"
    )


def test_batches_are_whole_numbers() -> None:
    (axes,) = drawn(picture_of(batching, run(((10, 5),)))).axes
    assert all(float(tick).is_integer() for tick in axes.get_xticks())


def many(spans: int) -> Holdings:
    """Blocks of 16 cells, one after another in time, and few at once."""
    starts = np.arange(spans) * 16
    since = np.linspace(0, 90, spans)
    sizes = np.full(spans, 16)
    columns = {
        "start": starts, "stop": starts + 16, "from_s": since, "grows_s": since,
        "full_s": since + 9, "to_s": since + 9,
    }  # fmt: skip
    return Holdings(*(columns.get(name, sizes) for name in Holdings._fields))


@pytest.mark.parametrize("spans", [100, 9000])
def test_the_outline_of_the_closer_look_is_never_a_line(spans: int) -> None:
    window = Window(0.0, 100.0, 160_000)
    with matplotlib.rc_context(style()):
        panels = list(blank(WIDE_PX, 400).subplots(1, 2))
        _closer_look(panels, many(spans), 50.0, window, (40, 60))
    (outline,) = panels[0].patches
    assert outline.get_height() >= 0.025 * window.cells
    assert outline.get_width() >= 0.025 * 100.0


def test_a_part_of_the_grid_is_what_the_whole_has_there() -> None:
    held = holdings(run())
    end_s, cells = float(held.to_s.max()), 320
    whole = grid(held, Window(0.0, end_s, cells), (32, 40))
    part = grid(held, Window(end_s / 4, end_s / 2, 160, 80), (16, 10))
    for one, other in zip(whole, part, strict=True):
        np.testing.assert_allclose(one[8:24, 10:20], other, atol=0.02)
