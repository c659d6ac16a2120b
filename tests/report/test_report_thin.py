"""Fewer points with the same integrals, and areas that are covered exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.report.figures.address_grid import covered
from wastesim.report.figures.thin import bin_edges, extremes, group_means, means

T = np.array([0.0, 1.0, 3.0])
DT = np.array([1.0, 2.0, 1.0])
V = np.array([10, 20, 60])


def test_a_bin_is_the_mean_of_what_holds_in_it() -> None:
    assert means(T, DT, V, np.array([0.0, 2.0, 4.0])).tolist() == [15, 40]


def test_few_ticks_keep_their_own_edges() -> None:
    edges = bin_edges(T, DT, 10)
    assert edges.tolist() == [0, 1, 3, 4]
    assert means(T, DT, V, edges).tolist() == V.tolist()


def test_a_gap_between_ticks_counts_as_zero() -> None:
    t, dt, v = np.array([0.0, 3.0]), np.array([1.0, 1.0]), np.array([8, 4])
    edges = bin_edges(t, dt, 2)
    assert edges.tolist() == [0, 2, 4]
    assert means(t, dt, v, edges).tolist() == [4, 2]


def test_extremes_hold_somewhere_in_the_bin() -> None:
    low, high = extremes(T, DT, V, np.array([0.0, 2.0, 4.0]))
    assert (low.tolist(), high.tolist()) == ([10, 20], [20, 60])


@given(st.lists(st.tuples(st.floats(0.01, 5), st.integers(0, 1000)), min_size=1, max_size=60))
def test_the_integral_is_kept(steps: list[tuple[float, int]]) -> None:
    dt, v = (np.array(column) for column in zip(*steps, strict=True))
    t = np.concatenate([[0.0], np.cumsum(dt)[:-1]])
    edges = bin_edges(t, dt, 7)
    kept = means(t, dt, v, edges) @ np.diff(edges)
    assert kept == pytest.approx(v @ dt, rel=1e-9, abs=1e-9)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=50), st.integers(1, 60))
def test_groups_keep_the_sum(values: list[int], groups: int) -> None:
    found = group_means(np.array(values), groups)
    assert found.values @ np.diff(found.edges) == pytest.approx(sum(values))


def test_a_rectangle_covers_parts_of_cells() -> None:
    area = covered(*(np.array([x]) for x in (0.5, 2.25, 0.0, 1.5)), shape=(2, 3))
    assert area.tolist() == [[0.5, 1.0, 0.25], [0.25, 0.5, 0.125]]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 4), min_size=1, max_size=12))
def test_the_covered_area_is_the_sum_of_the_rectangles(
    corners: list[tuple[float, float, float, float]],
) -> None:
    table = np.array(corners)
    x, y = np.sort(table[:, :2]) * 9, np.sort(table[:, 2:]) * 5
    area = covered(x[:, 0], x[:, 1], y[:, 0], y[:, 1], (5, 9))
    expected = ((x[:, 1] - x[:, 0]) * (y[:, 1] - y[:, 0])).sum()
    assert area.sum() == pytest.approx(expected, abs=1e-9)
    assert area.min() >= -1e-9
