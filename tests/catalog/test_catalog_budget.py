"""From card bytes to cells: exact, explained, and refused with both numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.catalog import Budget, find_gpu, find_model, kv_budget, kv_bytes_per_token
from wastesim.catalog import max_full_length_requests as full_length
from wastesim.catalog.weights import weights_bytes
from wastesim.errors import ConfigError
from wastesim.units import GIB


def budget(**changes: Any) -> Budget:
    terms: dict[str, Any] = {
        "card_bytes": 1000,
        "gpu_memory_utilization": 0.9,
        "weights_bytes": 300,
        "overhead_bytes": 50,
        "bytes_per_token": 7,
    }
    return kv_budget(**(terms | changes))


def test_every_byte_has_a_place() -> None:
    found = budget()
    assert found.usable_bytes == 900
    assert found.kv_bytes == 900 - 300 - 50
    assert (found.capacity_cells, found.remainder_bytes) == (78, 4)


def test_usable_memory_is_rounded_up() -> None:
    assert budget(card_bytes=1001).usable_bytes == 901


def test_overhead_is_two_gib_by_default() -> None:
    found = kv_budget(80 * GIB, 1.0, 10 * GIB, bytes_per_token=1)
    assert found.kv_bytes == 68 * GIB


def test_stated_cache_bytes_replace_the_difference() -> None:
    found = budget(kv_cache_memory_bytes=100)
    assert (found.capacity_cells, found.remainder_bytes) == (14, 2)
    assert found.because() == (
        "capacity_cells = 14 because kv_cache_memory_bytes 100 B / 7 B per token"
    )


def test_stated_cells_replace_everything() -> None:
    found = budget(num_cells_override=5, kv_cache_memory_bytes=100)
    assert (found.capacity_cells, found.kv_bytes, found.remainder_bytes) == (5, 35, 0)
    assert found.because() == "capacity_cells = 5 because num_cells_override says so"


def test_a_cache_larger_than_the_card_is_said() -> None:
    found = budget(kv_cache_memory_bytes=1000)
    assert found.beyond_card_bytes == 350
    assert found.explain()[-1] == "the card has 350 B (350 B) less than this takes"
    assert budget().beyond_card_bytes == 0


def test_one_line_says_why() -> None:
    gpu, model = find_gpu("h100-sxm-80gb"), find_model("llama-3-8b")
    found = kv_budget(
        gpu.memory_bytes, 0.9, weights_bytes(model), bytes_per_token=kv_bytes_per_token(model)
    )
    assert found.because() == (
        "capacity_cells = 448,312 because (79.65 GiB card x 0.9 - 14.96 GiB weights"
        " - 2.00 GiB overhead) / 131,072 B per token"
    )
    assert found.explain() == [
        found.because(),
        "79.65 GiB card x 0.9 = 71.68 GiB (76,968,728,986 B) usable",
        "- 14.96 GiB (16,059,990,016 B) weights",
        "- 2.00 GiB (2,147,483,648 B) overhead",
        "= 54.73 GiB (58,761,255,322 B) for keys and values",
        "= 448,312 cells of 131,072 B",
        "+ 104,858 B that do not make a cell",
    ]


def test_weights_that_do_not_fit_are_refused_with_both_numbers() -> None:
    with pytest.raises(ConfigError, match=r"21\.60 GiB .*131\.41 GiB weights.*larger gpu"):
        kv_budget(24 * GIB, 0.9, weights_bytes(find_model("llama-3-70b")), bytes_per_token=327_680)


@pytest.mark.parametrize("key", ["kv_cache_memory_bytes", "num_cells_override"])
def test_an_override_of_nothing_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=f"'{key}' must hold at least one cell of 7 B"):
        budget(**{key: 0})


def test_full_length_requests_are_whole() -> None:
    assert full_length(8191, 4096) == 1
    assert full_length(8192, 4096) == 2
    assert full_length(10, 4096) == 0


@given(
    card=st.integers(10**6, 10**12),
    share=st.floats(0.01, 1.0),
    per_token=st.integers(1, 10**6),
    weights=st.integers(0, 10**12),
)
def test_terms_add_up_or_the_budget_is_refused(
    card: int, share: float, per_token: int, weights: int
) -> None:
    terms = {"card_bytes": card, "gpu_memory_utilization": share, "weights_bytes": weights}
    try:
        found = budget(**terms, bytes_per_token=per_token)
    except ConfigError:
        return
    cells = found.capacity_cells * found.bytes_per_token
    total = found.weights_bytes + found.overhead_bytes + cells + found.remainder_bytes
    assert total == found.usable_bytes
    assert 0 <= found.remainder_bytes < per_token
