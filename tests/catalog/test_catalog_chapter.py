"""The numbers of the chapter this project starts from, each row quoted above its test."""

from __future__ import annotations

import pytest

from wastesim.catalog import find_gpu, find_model, kv_budget, kv_bytes_per_token
from wastesim.catalog import max_full_length_requests as full_length
from wastesim.catalog.weights import (
    decode_floor_s,
    decode_intensity,
    machine_balance,
    weights_bytes,
)
from wastesim.config.hardware import Gpu
from wastesim.units import GIB

LLAMA = find_model("llama-3-8b")
PER_TOKEN = kv_bytes_per_token(LLAMA, "float16")
REQUESTS, LENGTH = 32, 4096


def test_kv_bytes_of_one_token() -> None:
    """Llama-3-8B KV per token, fp16 | 131,072 B (131.1 kB)."""
    assert PER_TOKEN == 131_072


def test_thirty_two_requests() -> None:
    """32 requests at 4k | 16.0 GiB."""
    assert REQUESTS * LENGTH * PER_TOKEN == 16 * GIB


def test_weights() -> None:
    """weights of 8.03 B parameters, fp16 | 14.96 GiB."""
    assert round(LLAMA.params / 1e9, 2) == 8.03
    assert round(weights_bytes(LLAMA) / GIB, 2) == 14.96


def test_most_requests_on_80_gib() -> None:
    """largest number of 4k requests on 80 GiB, 2 GiB of activations and overhead | 126."""
    budget = kv_budget(
        80 * GIB, 1.0, weights_bytes(LLAMA), overhead_bytes=2 * GIB, bytes_per_token=PER_TOKEN
    )
    assert full_length(budget.capacity_cells, LENGTH) == 126


def test_share_of_the_cache() -> None:
    """KV share of weights + KV at 32 requests of 4k | 16.0 of 30.96 GiB, 52 %."""
    cache = REQUESTS * LENGTH * PER_TOKEN
    both = weights_bytes(LLAMA) + cache
    assert round(both / GIB, 2) == 30.96
    assert round(100 * cache / both) == 52


def test_cache_overtakes_the_weights() -> None:
    """cache overtakes the weights | past ~122.5k tokens, about 15 requests at 8k."""
    tokens = weights_bytes(LLAMA) / PER_TOKEN
    assert round(tokens / 1000, 1) == 122.5
    assert round(tokens / 8192) == 15


def test_gpt_3_against_llama_3_70b() -> None:
    """GPT-3 175B against Llama-3-70B, KV per token | 4,718,592 B against 327,680 B, 14.4 times."""
    large = kv_bytes_per_token(find_model("gpt-3-175b"), "fp16")
    small = kv_bytes_per_token(find_model("llama-3-70b"), "fp16")
    assert (large, small) == (4_718_592, 327_680)
    assert large / small == pytest.approx(14.4)


def test_decode_floor() -> None:
    """decode floor, 16 GB of weights at 3.3 TB/s | about 4.85 ms, about 206 tok/s at batch 1."""
    floor_s = decode_floor_s(16.0e9, 3.3e12)
    assert round(floor_s * 1000, 2) == 4.85
    assert round(1 / floor_s) == 206


def test_machine_balance() -> None:
    """machine balance of an H100 against a decode step | about 300 FLOP per byte against 1."""
    told = Gpu.model_validate({"memory": "80 GiB", "bandwidth": "3.3 TB/s", "flops": "1 PFLOP/s"})
    assert round(machine_balance(told)) == 303
    assert round(machine_balance(find_gpu("h100-sxm-80gb"))) == 295
    assert decode_intensity(LLAMA) == 1.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("opt-13b", 819_200), ("opt-66b", 2_359_296), ("opt-175b", 4_718_592)],
)
def test_table_1_bytes_per_token(name: str, expected: int) -> None:
    """KV bytes per token (fp16): 819,200 / 2,359,296 / 4,718,592."""
    assert kv_bytes_per_token(find_model(name), "float16") == expected


def test_table_1_slots() -> None:
    """OPT-13B: KV memory 12 GB, 15.7K slots; 983 blocks of 16 = 15,728 cells = 12.00 GiB."""
    budget = kv_budget(
        40 * GIB, 0.95, 26 * 10**9, bytes_per_token=819_200, kv_cache_memory_bytes=12 * GIB
    )
    assert budget.capacity_cells == 15_728
    assert budget.capacity_cells // 16 == 983


def test_table_1_slots_of_opt_175b() -> None:
    """OPT-175B on 8 x A100-80: 264 GB, 60.1K."""
    budget = kv_budget(
        640 * GIB, 0.95, 346 * 10**9, bytes_per_token=4_718_592, kv_cache_memory_bytes=264 * GIB
    )
    assert round(budget.capacity_cells / 1000, 1) == 60.1
