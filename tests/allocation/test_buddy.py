"""The buddy system against its textbook, and against one that keeps a bitmap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.address import Span
from wastesim.allocation.buddy import Buddy
from wastesim.errors import AllocationError


def test_a_chunk_is_split_in_halves_and_the_lower_one_is_used() -> None:
    space = Buddy(64, granule_cells=4, largest_cells=64)
    assert space.take(3) == Span(0, 4)
    assert space.spans() == [Span(4, 8), Span(8, 16), Span(16, 32), Span(32, 64)]
    assert space.take(5) == Span(8, 16)
    assert space.take(4) == Span(4, 8)
    assert space.fragmentation() == (32, 2)


def test_buddies_join_as_far_as_they_can_and_others_do_not() -> None:
    space = Buddy(64, 4, 64)
    a, b, c, d = (space.take(4) for _ in range(4))
    space.give_back(b)
    space.give_back(c)
    assert space.spans()[:2] == [Span(4, 8), Span(8, 12)]  # neighbours, not buddies
    space.give_back(a)
    assert space.spans()[:2] == [Span(0, 8), Span(8, 12)]
    space.give_back(d)
    assert space.spans() == [Span(0, 64)]


def test_the_papers_pool_has_seven_chunks_and_a_tail_of_smaller_ones() -> None:
    """983 blocks of 16, chunks of 128 blocks: 896 blocks for whole contexts, then what is left."""
    space = Buddy(983 * 16, 16, 2048)
    assert [span.cells // 16 for span in space.spans()] == [128] * 7 + [64, 16, 4, 2, 1]
    taken = [space.take(2048) for _ in range(8)]
    assert taken[7] is None
    assert space.cells == 87 * 16


@pytest.mark.parametrize("capacity", [0, 1, 3])
def test_a_pool_below_a_granule_is_all_tail(capacity: int) -> None:
    space = Buddy(capacity, 4, 64)
    assert (space.cells, space.usable(), space.take(1)) == (capacity, 0, None)
    assert sum(span.cells for span in space.spans()) == capacity


@pytest.mark.parametrize(("cells", "chunk"), [(1, 16), (16, 16), (17, 32), (33, 64), (2048, 2048)])
def test_claims_are_rounded_up_to_a_power_of_two_of_granules(cells: int, chunk: int) -> None:
    assert Buddy(4096, 16, 2048).round_up(cells) == chunk


def test_freeing_twice_is_an_error() -> None:
    space = Buddy(64, 4, 64)
    kept, span = space.take(4), space.take(16)
    space.give_back(span)
    with pytest.raises(AllocationError, match="is freed while it is free already"):
        space.give_back(span)
    assert kept == Span(0, 4)


class Naive:
    """The same rules over a set of free granules: every aligned chunk is tried in turn."""

    def __init__(self, granules: int, largest: int) -> None:
        self.tops, start = [], 0
        while start < granules:
            size = min(largest, 1 << ((granules - start).bit_length() - 1))
            self.tops.append((start, size))
            start += size
        self.free = {(start, size) for start, size in self.tops}

    def take(self, granules: int) -> tuple[int, int] | None:
        fitting = sorted((size, start) for start, size in self.free if size >= granules)
        if not fitting:
            return None
        size, start = fitting[0]
        self.free.remove((start, size))
        wanted = 1 << (granules - 1).bit_length()
        while size > wanted:
            size //= 2
            self.free.add((start + size, size))
        return start, size

    def give_back(self, start: int, size: int) -> None:
        top, top_size = max(chunk for chunk in self.tops if chunk[0] <= start)
        other = start - size if (start - top) // size % 2 else start + size
        if size < top_size and (other, size) in self.free:
            self.free.remove((other, size))
            self.give_back(min(start, other), size * 2)
        else:
            self.free.add((start, size))


@given(granules=st.integers(0, 70), exponent=st.integers(0, 6), data=st.data())
def test_it_does_what_a_naive_one_does(granules: int, exponent: int, data: st.DataObject) -> None:
    space, naive = Buddy(granules * 4 + 3, 4, 4 << exponent), Naive(granules, 1 << exponent)
    held: list[tuple[int, int]] = []
    for _ in range(data.draw(st.integers(0, 30))):
        if held and data.draw(st.booleans()):
            start, size = held.pop(data.draw(st.integers(0, len(held) - 1)))
            naive.give_back(start, size)
            space.give_back(Span(start * 4, (start + size) * 4))
        else:
            wanted = data.draw(st.integers(1, 40))
            chunk, span = naive.take(wanted), space.take(wanted * 4)
            assert span == (chunk and Span(chunk[0] * 4, sum(chunk) * 4))
            held += [chunk] if chunk else []
        ours = {(span.start // 4, span.cells // 4) for span in space.spans()[:-1]}
        assert ours == naive.free
        assert space.cells == 4 * (granules - sum(size for _, size in held)) + 3
