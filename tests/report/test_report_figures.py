"""Figures are the same bytes for the same run, small for any run, and show what is there."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wastesim.metrics import summarize
from wastesim.records import Facts, Records, RequestRow, SpanRow, TickRow
from wastesim.report import figures
from wastesim.report.figures.batching import points
from wastesim.report.figures.holdings import holdings, written_at

from .report_build import Built
from .report_runs import FACTS, edited, run

NAMES = [
    "shares",
    "reservations",
    "concurrency",
    "memory_map",
    "lengths",
    "latency",
    "batching",
]
LIMIT_BYTES = 500_000


def titles(records: Records) -> dict[str, str]:
    summary = summarize(records)
    plans = {name: plan(records, summary) for name, plan in figures.PLANS.items()}
    return {name: picture.title for name, picture in plans.items() if picture is not None}


def test_every_figure_is_there_in_both_formats(example: Built) -> None:
    assert example.warnings == []
    found = sorted(path.name for path in (example.folder / "figures").iterdir())
    assert found == sorted(f"{name}.{kind}" for name in NAMES for kind in ("svg", "png"))


@pytest.mark.parametrize("name", NAMES)
def test_an_svg_is_whole_and_turns_dark(name: str, example: Built) -> None:
    text = (example.folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    assert ET.fromstring(text).tag.endswith("svg")
    assert "prefers-color-scheme: dark" in text
    assert "metadata" not in text
    assert "<text" in text  # words stay words


def test_a_run_draws_the_same_bytes_again(example: Built, tmp_path: Path) -> None:
    figures.draw_all(example.records, example.summary, tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (example.folder / "figures" / path.name).read_bytes()


def test_titles_state_what_was_found() -> None:
    found = titles(run())
    assert found["shares"].startswith("18.6 % of the KV pool is written on average")
    assert found["reservations"].startswith("Half of the requests wrote at most")
    assert found["concurrency"] == "The ceiling of 3 running requests binds for 46.2 % of the time"
    assert found["lengths"] == (
        "Half of the requests need at most 33 tokens; max_model_len allows 100"
    )


def test_nothing_is_drawn_of_nothing() -> None:
    assert titles(run(())) == {}
    assert list(titles(run(((90, 90),)))) == ["lengths"]


def test_a_picture_that_fails_is_a_warning(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(records: Records, summary: dict[str, Any]) -> None:
        raise ValueError("no ink")

    monkeypatch.setattr(figures, "PLANS", {"shares": broken})
    built = write(run(), figures=True)
    assert built.warnings == ["figure 'shares' could not be drawn: ValueError: no ink"]
    assert built.warnings[0] in built.html.replace("&#39;", "'")
    assert built.warnings[0] in built.markdown


def test_steps_of_one_batch_are_one_point() -> None:
    found = points(run())
    assert found is not None
    assert found.running.tolist() == [1, 2, 3]
    assert found.tokens_per_s == pytest.approx([100, 200, 300])


def test_a_request_fills_its_spans_in_order() -> None:
    records = run(((10, 5),))
    spans = np.array([(0, 4), (200, 204), (100, 108)])
    records.spans = {
        "request_id": np.zeros(3, dtype=np.int64),
        "start": spans[:, 0],
        "stop": spans[:, 1],
        "from_s": np.zeros(3),
        "to_s": np.full(3, 0.05),
    }
    held = holdings(records)
    assert held.first_written.tolist() == [4, 4, 2]
    assert held.last_written.tolist() == [4, 4, 6]  # 14 stored tokens
    assert written_at(held, np.array([2]), np.array([0.03])) == pytest.approx([4])
    assert set(records.spans) == set(SpanRow._fields)


def large(requests: int = 20_000, ticks: int = 300_000) -> Records:
    """A saturated run of that size, made of columns at once."""
    rng = np.random.default_rng(1)
    p, o = rng.integers(1, 900, requests), rng.integers(2, 1000, requests)
    slot = np.arange(requests) % 64
    dt_s = rng.uniform(0.01, 0.02, ticks)
    t_s = np.concatenate([[0.0], np.cumsum(dt_s)[:-1]])
    begin = (np.arange(requests) // 64) * t_s[-1] / (requests // 64 + 1)
    end = begin + 0.9 * t_s[-1] / (requests // 64 + 1)
    facts: Facts = edited(
        capacity_cells=64 * 2048, max_model_len=2048, max_num_seqs=256, ceiling=64
    )
    running = rng.integers(50, 65, ticks)
    written = running * 400 + rng.integers(0, 900, ticks)
    columns = {
        "t_s": t_s,
        "dt_s": dt_s,
        "written": written,
        "future": running * 200,
        "unused": running * 2048 - running * 200 - written,
        "padding": 0 * running,
        "stranded": facts.capacity_cells - running * 2048,
        "idle": 0 * running,
        "running": running,
        "waiting": rng.integers(0, 9000, ticks),
        "prefill_tokens": rng.integers(0, 2, ticks),
        "decode_tokens": running,
        "moved_bytes": FACTS.weights_bytes + FACTS.bytes_per_token * written,
        "flop": running * 10**9,
    }
    nothing = np.zeros(requests, dtype=np.int64)
    rows = {
        "request_id": np.arange(requests),
        "status": np.full(requests, "completed", dtype=object),
        "reason": np.full(requests, "", dtype=object),
        "arrival_s": 0.0 * begin,
        "prompt_tokens": p,
        "output_tokens": o,
        "truncated_tokens": nothing,
        "generated_tokens": o,
        "stored_tokens": p + o - 1,
        "reserved_cells": nothing + 2048,
        "admitted_s": begin,
        "first_token_s": begin + 0.01,
        "finished_s": end,
        "admitted_tick": 0.0 * begin,
        "first_token_tick": 0.0 * begin,
        "finished_tick": 0.0 * begin,
    }
    start = slot * 2048
    spans = {
        "request_id": np.arange(requests),
        "start": start,
        "stop": start + 2048,
        "from_s": begin,
        "to_s": end,
    }
    return Records(_filled(RequestRow, rows), _filled(TickRow, columns), spans, facts)


def _filled(kind: Any, columns: dict[str, Any]) -> dict[str, Any]:
    """Columns of zeros for what is not given."""
    length = len(next(iter(columns.values())))
    return {name: columns.get(name, np.zeros(length, dtype=np.int64)) for name in kind._fields}


def test_a_large_run_has_small_figures(tmp_path: Path) -> None:
    records = large()
    drawn, warnings = figures.draw_all(records, summarize(records), tmp_path)
    assert warnings == []
    assert [picture.name for picture in drawn] == NAMES
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*.svg")}
    assert {name: size for name, size in sizes.items() if size >= LIMIT_BYTES} == {}
