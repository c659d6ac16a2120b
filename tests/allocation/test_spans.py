"""One span per request: claims that move, copies, and what fits."""

from __future__ import annotations

import pytest

from wastesim.address import Placement, Span
from wastesim.allocation import Ask
from wastesim.allocation.buddy import Buddy
from wastesim.allocation.claims import Declared, Doubling, Hinted, WholeContext
from wastesim.allocation.freelist import FreeSpans, best_fit, first_fit
from wastesim.allocation.protocol import Growth, Holding
from wastesim.allocation.spans import OneSpan
from wastesim.errors import AllocationError

L = 64


def ask(request_id: int, prompt: int = 10, limit: int = 10, hint: int | None = None) -> Ask:
    return Ask(request_id, prompt, limit, hint, prompt)


def doubling(capacity: int = 100, start: int = 16) -> OneSpan:
    return OneSpan("realloc", Doubling(L, start), FreeSpans(capacity, first_fit))


def test_a_claim_is_one_span() -> None:
    policy = OneSpan("first_fit", Declared(L), FreeSpans(100, first_fit))
    assert policy.place(ask(0), 10) == Holding.of(20, 20)
    assert policy.placement(0) == Placement.single(0, 20)
    assert (policy.free_cells, policy.grows) == (80, False)


def test_a_buddy_holds_more_than_the_claim() -> None:
    space = Buddy(128, 16, 64)
    policy = OneSpan("orca", Declared(L), space, space.round_up)
    assert policy.place(ask(0, 10, 23), 10) == Holding.of(64, 33)
    assert policy.needs_at_most(ask(1, 10, 23), 20) == (64, 64)


def test_growth_within_the_span_changes_the_claim_only() -> None:
    space = Buddy(128, 16, 64)
    policy = OneSpan("orca", Hinted(L, may_miss=True), space, space.round_up)
    policy.place(ask(0, 10, hint=10), 10)
    assert policy.grow(0, 25) == Growth(Holding.of(32, 25))


def test_growth_beyond_the_span_takes_a_larger_one_and_says_what_to_copy() -> None:
    policy = doubling()
    policy.place(ask(0), 10)
    policy.place(ask(1), 10)
    assert policy.grow(0, 17) == Growth(Holding.of(32, 32), Placement.single(0, 16))
    assert policy.placement(0) == Placement.single(32, 32)
    assert policy._space.spans() == [Span(0, 16), Span(64, 100)]


def test_old_and_new_span_are_held_at_once_so_growth_needs_room_for_both() -> None:
    """32 of 47 cells beside the old 16: one is missing, although 31 are free."""
    tight, enough = doubling(47), doubling(48)
    for policy in (tight, enough):
        policy.place(ask(0), 10)
    assert tight.grow(0, 17) is None
    assert tight.placement(0) == Placement.single(0, 16)
    assert enough.grow(0, 17) is not None


def test_a_request_that_comes_back_claims_what_it_had_grown_to() -> None:
    policy = doubling()
    policy.place(ask(0)._replace(known_tokens=33), 5)
    assert policy.placement(0).cells == 64


def test_a_buffer_that_will_have_to_double_beyond_the_pool_never_fits() -> None:
    assert doubling(40).needs_at_most(ask(0), 33) == (64, 40)
    assert doubling(40).needs_at_most(ask(0), 32) == (32, 40)


def test_a_hole_that_is_too_small_is_of_no_use() -> None:
    policy = OneSpan("best_fit", Declared(L), FreeSpans(60, best_fit))
    for k in range(3):
        policy.place(ask(k), 10)
    policy.release(0)
    policy.release(2)
    assert policy.free_cells == 40
    assert policy.fragmentation() == (20, 2)
    assert not policy.fits(ask(3, 10, 11), 10)
    assert policy.place(ask(3, 10, 11), 10) is None


def test_spare_cells_may_be_anywhere() -> None:
    policy = OneSpan("first_fit", Declared(L), FreeSpans(50, first_fit))
    assert policy.fits(ask(0), 10, spare_cells=30)
    assert not policy.fits(ask(0), 10, spare_cells=31)


def test_the_ceiling_knows_that_lengths_decide() -> None:
    reason = "memory: 100 cells in spans of 16 or more; lengths decide how many fit"
    assert doubling().ceiling() == (6, reason)
    declared = OneSpan("first_fit", Declared(L), FreeSpans(100, first_fit))
    assert declared.ceiling().requests == 50  # a token of each, prompt and output


@pytest.mark.parametrize(("limit", "most", "span"), [(40, 3, 40), (33, 3, 33)])
def test_where_all_claim_the_same_the_ceiling_is_known(limit: int, most: int, span: int) -> None:
    whole = OneSpan("whole", WholeContext(limit), FreeSpans(130, first_fit))
    assert whole.ceiling() == (most, f"memory: 130 cells hold {most} spans of {span}")
    buddy = Buddy(130, 16, 64)
    rounded = OneSpan("orca_max", WholeContext(limit), buddy, buddy.round_up)
    assert rounded.ceiling() == (2, "memory: 130 cells hold 2 spans of 64")


def test_misuse_is_told_with_the_request() -> None:
    policy = doubling()
    policy.place(ask(3), 10)
    with pytest.raises(AllocationError, match="request 3 already holds a span"):
        policy.place(ask(3), 10)
    with pytest.raises(AllocationError, match="request 9 holds no span"):
        policy.release(9)


@pytest.mark.parametrize("corrupt", ["lost", "overlap", "count"])
def test_check_has_all_the_numbers(corrupt: str) -> None:
    policy = doubling()
    policy.place(ask(0), 10)
    request, span, claim = policy._held[0]
    if corrupt == "lost":
        policy._held[0] = (request, Span(span.start, span.stop - 1), claim)
    elif corrupt == "overlap":
        policy._held[0] = (request, Span(span.start + 1, span.stop + 1), claim)
    else:
        policy._space.cells -= 1
    with pytest.raises(AllocationError, match=r"realloc: .* do not make up 100; free 84, counted"):
        policy.check()
