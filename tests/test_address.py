"""Spans and placements: where the cells of a request are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.address import Placement, Span, first_overlap
from wastesim.request import Request

spans = st.builds(lambda start, cells: Span(start, start + cells), st.integers(0, 60), st.integers(1, 9))  # noqa: E501  # fmt: skip


def test_a_span_is_half_open() -> None:
    assert Span(3, 5).cells == 2
    assert not Span(3, 5).overlaps(Span(5, 7))
    assert Span(3, 5).overlaps(Span(4, 5))


@given(spans, spans)
@settings(deadline=None)
def test_overlap_is_having_a_cell_in_common(one: Span, two: Span) -> None:
    common = set(range(*one)) & set(range(*two))
    assert one.overlaps(two) == two.overlaps(one) == bool(common)


@given(st.lists(spans, min_size=1, max_size=6))
@settings(deadline=None)
def test_the_nth_token_is_in_the_nth_cell_of_the_spans_in_their_order(held: list[Span]) -> None:
    placement = Placement(tuple(held))
    cells = [cell for span in held for cell in range(*span)]
    assert placement.cells == len(cells)
    assert [placement.address(token) for token in range(len(cells))] == cells


def test_a_token_beyond_the_placement_is_an_error_with_both_numbers() -> None:
    with pytest.raises(IndexError, match="token 4 is beyond the 4 cells"):
        Placement.single(10, 4).address(4)


def test_a_contiguous_placement_is_one_span() -> None:
    assert Placement.single(10, 4) == Placement((Span(10, 14),))


@given(st.lists(spans, max_size=8))
@settings(deadline=None)
def test_first_overlap_finds_one_exactly_when_there_is_one(many: list[Span]) -> None:
    ordered = sorted(many)
    found = first_overlap(many)
    shared = any(one.overlaps(two) for i, one in enumerate(ordered) for two in ordered[i + 1 :])
    assert (found is not None) == shared
    if found is not None:
        assert found[0].overlaps(found[1])
        assert found in list(pairwise(ordered))


def test_a_request_stores_all_but_its_last_token() -> None:
    request = Request(0, 0.0, prompt_tokens=7, output_tokens=3)
    assert request.total_tokens == 10
    assert request.final_stored_tokens == 9


def test_requests_are_compared_by_identity() -> None:
    alike = [Request(0, 0.0, 7, 3) for _ in range(2)]
    assert alike[0] != alike[1]
    assert len(set(alike)) == 2
