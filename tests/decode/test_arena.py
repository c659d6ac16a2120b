"""Cells, spans and their layout; written memory counted by arrays and by pages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.address import Placement, Span, first_overlap
from wastesim.decode.arena import Arena
from wastesim.decode.geometry import DecodeModel, decode_model
from wastesim.decode.pages import PAGE
from wastesim.errors import AllocationError

TINY = decode_model("tiny")
# A cell of 288 bytes, so that rows, heads and spans all straddle pages.
ODD = DecodeModel("odd", 3, 16, 2, 1, 12, ffn=16, vocab=16)


def contents(model: DecodeModel, tokens: int, seed: int = 0) -> np.ndarray:
    shape = (model.layers, 2, model.kv_heads, tokens, model.head_dim)
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_the_row_formula_finds_every_vector_of_a_span():
    arena = Arena(TINY, 64)
    span = Span(5, 12)
    values = contents(TINY, 7)
    arena.write(Placement((span,)), values)
    for layer, half, head, i in np.ndindex(*values.shape[:4]):
        row = 5 * TINY.rows_per_cell + ((layer * 2 + half) * TINY.kv_heads + head) * 7 + i
        assert np.array_equal(arena.rows[row], values[layer, half, head, i])


def test_spans_are_never_merged():
    arena = Arena(TINY, 64)
    values = contents(TINY, 20)
    arena.write(Placement((Span(0, 10), Span(10, 20))), values)
    assert np.array_equal(arena.read(Placement((Span(0, 10), Span(10, 20))), 20), values)
    assert not np.array_equal(arena.read(Placement.single(0, 20), 20), values)


@pytest.mark.parametrize("span", [Span(-1, 3), Span(60, 65), Span(4, 4)])
def test_spans_outside_the_pool_are_refused(span):
    with pytest.raises(AllocationError, match=r"not inside the 64 cells"):
        Arena(TINY, 64).check(Placement((span,)))


def test_growing_in_place_copies_to_the_new_layout():
    arena = Arena(TINY, 64)
    old, new = Placement.single(8, 10), Placement.single(8, 20)
    values = contents(TINY, 10)
    arena.write(old, values)
    arena.copy(old, new, 10)
    assert np.array_equal(arena.read(new, 10), values)
    assert arena.count_written(new) == 10


def test_count_written_finds_cells_with_anything_in_them():
    arena = Arena(TINY, 64)
    placement = Placement((Span(3, 19), Span(40, 56)))
    arena.write(placement, contents(TINY, 21))
    assert arena.count_written(placement) == 21
    arena.view(Span(40, 56))[1, 1, 0, 15, 3] = 1e-30
    assert arena.count_written(placement) == 22


def test_release_leaves_neighbours_alone():
    arena = Arena(ODD, 100)
    left, middle, right = (Placement.single(start, 33) for start in (0, 33, 66))
    for seed, placement in enumerate((left, middle, right)):
        arena.write(placement, contents(ODD, 30, seed))
    arena.release(middle)
    assert arena.count_written(middle) == 0
    assert np.array_equal(arena.read(left, 30), contents(ODD, 30, 0))
    assert np.array_equal(arena.read(right, 30), contents(ODD, 30, 2))


needs_smaps = pytest.mark.skipif(
    Arena(TINY, 1).resident_bytes() is None, reason="this system has no smaps"
)


@needs_smaps
def test_a_large_reservation_costs_only_what_is_written():
    arena = Arena(TINY, 10_000_000)  # 5 GB of address space
    placement = Placement.single(0, 8192)
    arena.write(placement, contents(TINY, 40))
    # a page for each KV head's K and V in each layer: 40 * 64 bytes, far apart
    assert arena.resident_bytes() == 8 * PAGE == arena.page_ledger_bytes([(placement, 40)])


operations = st.lists(
    st.tuples(
        st.sampled_from(["place", "write", "write", "release", "move", "read"]),
        st.integers(0, 10**6),
        st.integers(1, 40),
    ),
    min_size=1,
    max_size=30,
)


@needs_smaps
@given(steps=operations, odd=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_page_ledger_equals_resident_memory_at_every_step(steps, odd):
    model = ODD if odd else TINY
    arena = Arena(model, 400)
    held: list[tuple[Placement, int]] = []
    for action, pick, size in steps:
        _act(arena, held, action, pick, size)
        assert arena.resident_bytes() == arena.page_ledger_bytes(held)
        assert all(arena.count_written(placement) == tokens for placement, tokens in held)


def _act(
    arena: Arena, held: list[tuple[Placement, int]], action: str, pick: int, size: int
) -> None:
    """One random operation on the spans in `held`; nothing when it is not possible."""
    if action == "place":
        fresh = _free_placement(held, pick, size)
        held += [(fresh, 0)] if fresh else []
        return
    if not held:
        return
    placement, tokens = held.pop(pick % len(held))
    if action == "write":
        tokens = min(tokens + size, placement.cells)
        arena.write(placement, contents(arena.model, tokens, pick))
    elif action == "move":
        fresh = _free_placement(held, pick, size)
        if fresh and fresh.cells >= tokens:
            arena.copy(placement, fresh, tokens)
            placement = fresh
    elif action == "read":
        arena.read(placement, placement.cells)
    if action == "release":
        arena.release(placement)
    else:
        held.append((placement, tokens))


def _free_placement(held: list[tuple[Placement, int]], pick: int, size: int) -> Placement | None:
    """One or two spans at a random place, unless they overlap others."""
    start = pick % 300
    gap = pick % 3 * 7
    spans = (Span(start, start + size), Span(start + size + gap, start + 2 * size + gap))
    fresh = Placement(spans[: 1 + pick % 2])
    taken = [span for placement, _ in held for span in placement.spans]
    return None if first_overlap([*taken, *fresh.spans]) else fresh
