"""Free spans: coalescing, and each rule by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.address import Span
from wastesim.allocation.freelist import RULES, FreeSpans, best_fit, first_fit, next_fit, worst_fit
from wastesim.errors import AllocationError

#: Free spans of 10, 4, 30, 4 and 30 cells.
FREE = [Span(0, 10), Span(20, 24), Span(40, 70), Span(80, 84), Span(100, 130)]


@pytest.mark.parametrize(
    ("rule", "cells", "index"),
    [
        (first_fit, 3, 0), (first_fit, 11, 2), (first_fit, 31, None),
        (best_fit, 3, 1), (best_fit, 5, 0), (best_fit, 11, 2), (best_fit, 31, None),
        (worst_fit, 3, 2), (worst_fit, 30, 2), (worst_fit, 31, None),
    ],
)  # fmt: skip
def test_each_rule_by_hand(rule, cells: int, index: int | None) -> None:
    """Ties go to the lowest address."""
    assert rule(FREE, cells, 0) == index


@pytest.mark.parametrize(
    ("last", "cells", "index"),
    [(0, 3, 0), (10, 3, 1), (24, 3, 2), (71, 3, 3), (71, 5, 4), (101, 3, 0), (101, 31, None)],
)
def test_next_fit_goes_on_where_it_ended_and_wraps_once(last, cells, index) -> None:
    assert next_fit(FREE, cells, last) == index


def test_next_fit_walks_through_memory_where_first_fit_stays_low() -> None:
    walking, low = FreeSpans(30, next_fit), FreeSpans(30, first_fit)
    for space in (walking, low):
        space.give_back(space.take(10))
        space.take(5)
    assert walking.spans() == [Span(5, 30)]  # the freed span was joined: one span to start in
    assert low.spans() == [Span(5, 30)]
    first = walking.take(10)
    walking.take(5)
    walking.give_back(first)
    assert walking.take(5) == Span(20, 25)
    assert walking.take(5) == Span(25, 30)
    assert walking.take(5) == Span(5, 10)


def test_what_is_taken_comes_from_the_low_end() -> None:
    space = FreeSpans(10, first_fit)
    assert space.take(4) == Span(0, 4)
    assert space.spans() == [Span(4, 10)]
    assert space.take(7) is None
    assert space.take(6) == Span(4, 10)
    assert space.spans() == []
    assert (space.cells, space.usable()) == (0, 0)


@pytest.mark.parametrize(
    "order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
)
def test_freed_spans_join_their_neighbours_in_any_order(order) -> None:
    space = FreeSpans(9, first_fit)
    spans = [space.take(3) for _ in range(3)]
    for index in order:
        space.give_back(spans[index])
    assert space.spans() == [Span(0, 9)]
    assert space.fragmentation() == (9, 1)


def test_fragmentation_counts_spans_and_the_largest() -> None:
    space = FreeSpans(20, first_fit)
    spans = [space.take(4) for _ in range(5)]
    space.give_back(spans[0])
    space.give_back(spans[2])
    space.give_back(spans[3])
    assert space.fragmentation() == (8, 2)
    assert space.take(9) is None
    assert space.cells == 12


@pytest.mark.parametrize("span", [Span(0, 2), Span(1, 3), Span(3, 5), Span(0, 8)])
def test_freeing_what_is_free_already_is_an_error(span: Span) -> None:
    space = FreeSpans(8, first_fit)
    held = space.take(8)
    space.give_back(Span(held.start + 1, held.start + 4))
    with pytest.raises(AllocationError, match="is freed while"):
        space.give_back(span)


def test_an_empty_pool_has_no_spans() -> None:
    space = FreeSpans(0, best_fit)
    assert space.spans() == []
    assert space.take(1) is None


@pytest.mark.parametrize("name", RULES)
@given(data=st.data())
def test_spans_stay_disjoint_and_never_touch(name: str, data: st.DataObject) -> None:
    space, held, capacity = FreeSpans(50, RULES[name]), [], 50
    for _ in range(data.draw(st.integers(0, 25))):
        if held and data.draw(st.booleans()):
            space.give_back(held.pop(data.draw(st.integers(0, len(held) - 1))))
        elif (span := space.take(data.draw(st.integers(1, 20)))) is not None:
            held.append(span)
        free = space.spans()
        assert all(a.stop < b.start for a, b in pairwise(free))
        assert sum(span.cells for span in free) == space.cells
        assert sorted(cell for span in (*free, *held) for cell in range(*span)) == [
            *range(capacity)
        ]
