"""Merged ticks keep integrals, counts and steps; drawn requests do not depend on their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.records import TickRow
from wastesim.records.sample import Sample
from wastesim.records.thinning import COUNTS, LEVELS, Edge, Thinned


def ticks(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 100, rows) for name in TickRow._fields}
    columns["running"] = rng.integers(0, 3, rows)
    dt_s = rng.integers(0, 4, rows) / 4
    return {**columns, "dt_s": dt_s, "t_s": np.cumsum(dt_s) - dt_s}


@settings(deadline=None)
@given(rows=st.integers(1, 200), most=st.integers(1, 20), chunk=st.integers(1, 50))
def test_integrals_and_counts_are_kept(rows: int, most: int, chunk: int) -> None:
    found, thinned = ticks(rows), Thinned(most)
    for begin in range(0, rows, chunk):
        thinned.add({name: values[begin : begin + chunk] for name, values in found.items()})
    merged, ran = thinned.columns, found["running"] > 0
    assert len(merged["t_s"]) <= most
    for name in LEVELS:
        assert merged[name] @ merged["dt_s"] == pytest.approx(found[name] @ found["dt_s"])
    for name in COUNTS:
        assert merged[name].sum() == found[name].sum()
    assert merged["dt_s"].sum() == pytest.approx(found["dt_s"].sum())
    assert (merged["rows"].sum(), merged["steps"].sum()) == (rows, ran.sum())
    assert merged["step_written"].sum() == found["written"][ran].sum()
    assert merged["reserved_end"][-1] == found["reserved_end"][-1]
    np.testing.assert_allclose(merged["t_s"] + merged["dt_s"], [*merged["t_s"][1:],
                               found["t_s"][-1] + found["dt_s"][-1]])  # fmt: skip


def test_every_row_but_the_last_stands_for_equally_many_ticks() -> None:
    thinned = Thinned(8)
    for seed in range(5):
        thinned.add(ticks(7, seed))
    assert thinned.columns["rows"].tolist() == [8, 8, 8, 8, 3]


def test_free_spans_are_averaged_where_they_are_known() -> None:
    found = ticks(4)
    found |= {"largest_free": np.array([-1, 6, -1, -1]), "dt_s": np.ones(4), "t_s": np.arange(4.0)}
    thinned = Thinned(2)
    thinned.add(found)
    assert thinned.columns["largest_free"].tolist() == [6, -1]


def test_a_correction_reaches_parts_of_merged_rows() -> None:
    """Rows of two seconds; three cells from second 1 to second 5 are 12 cell seconds."""
    found = {**ticks(8), "dt_s": np.ones(8), "t_s": np.arange(8.0)}
    thinned = Thinned(4)
    thinned.add(found)
    before = thinned.columns["future"].copy()
    thinned.correct(Edge(1, 1, 1.0), Edge(5, 5, 5.0), {"future": 3})
    assert (thinned.columns["future"] - before).tolist() == [1.5, 3, 1.5, 0]


def test_the_same_requests_are_drawn_in_any_order() -> None:
    ids = np.arange(10_000)
    one, other = Sample(500), Sample(500)
    for chunk in np.array_split(ids, 7):
        one.add({"request_id": chunk})
    for chunk in np.array_split(np.random.default_rng(0).permutation(ids), 3):
        other.add({"request_id": chunk})
    drawn = one.columns()["request_id"]
    np.testing.assert_array_equal(drawn, other.columns()["request_id"])
    assert 250 < len(drawn) <= 500
    assert np.mean(drawn) == pytest.approx(5000, rel=0.1)
