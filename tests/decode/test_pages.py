"""Memory whose resident pages are counted by the operating system."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.decode.pages import PAGE, PagedMemory, distinct_pages
from wastesim.errors import ConfigError

pytestmark = pytest.mark.skipif(
    PagedMemory(1).resident_bytes() is None, reason="this system has no smaps"
)


def test_reserved_memory_is_not_resident_until_written():
    memory = PagedMemory(1000 * PAGE)
    assert memory.resident_bytes() == 0
    memory.bytes[5 * PAGE + 7] = 1
    assert memory.resident_bytes() == PAGE


def test_reading_untouched_pages_leaves_the_count_alone():
    memory = PagedMemory(100 * PAGE)
    assert not memory.bytes.any()
    assert memory.resident_bytes() == 0


def test_neighbouring_mappings_are_counted_apart():
    memories = [PagedMemory(16 * PAGE) for _ in range(8)]
    for number, memory in enumerate(memories):
        memory.bytes[: number * PAGE] = 1
    assert [memory.resident_bytes() for memory in memories] == [n * PAGE for n in range(8)]


def test_clearing_gives_whole_pages_back_and_zeroes_the_edges():
    memory = PagedMemory(8 * PAGE)
    memory.bytes[:] = 1
    memory.clear(PAGE // 2, 4 * PAGE + 10)
    assert memory.resident_bytes() == 5 * PAGE
    assert not memory.bytes[PAGE // 2 : 4 * PAGE + 10].any()
    assert memory.bytes[: PAGE // 2].all()
    assert memory.bytes[4 * PAGE + 10 :].all()


def test_a_shared_page_goes_back_with_its_last_user():
    memory = PagedMemory(PAGE)
    memory.bytes[:20] = 1
    memory.clear(0, 10)
    assert memory.resident_bytes() == PAGE
    memory.clear(10, 20)
    assert memory.resident_bytes() == 0


def test_clearing_an_untouched_range_touches_nothing():
    memory = PagedMemory(4 * PAGE)
    memory.clear(10, 3 * PAGE + 5)
    memory.clear(10, 20)
    assert memory.resident_bytes() == 0


def test_more_than_there_are_addresses_for_is_refused():
    with pytest.raises(ConfigError, match=r"reserve addresses for .* TiB: set 'decode.engine'"):
        PagedMemory(10**18)


def test_distinct_pages_counts_a_shared_page_once():
    starts = np.array([PAGE - 1, 0, 10 * PAGE, 10 * PAGE + 5])
    stops = np.array([PAGE + 1, 10, 10 * PAGE + 1, 10 * PAGE + 6])
    assert distinct_pages(starts, stops) == 3
    assert distinct_pages(np.array([], int), np.array([], int)) == 0
