"""Engines' conventions, groups and ranks: by hand, and by properties that must always hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.catalog import find_model, model_names
from wastesim.catalog.activations import activation_bytes, explain_activations
from wastesim.catalog.budget import available_bytes, kv_budget
from wastesim.catalog.engines import ENGINES, find_engine
from wastesim.catalog.fit import Load, fit, longest
from wastesim.catalog.groups import Group, blocks_per_request, kv_groups, layer_buckets
from wastesim.catalog.kv import kv_bytes_per_request, kv_bytes_per_token
from wastesim.catalog.layers import heads_per_rank, layer_kinds, replication
from wastesim.catalog.parallel import stage
from wastesim.catalog.pool import block_bytes
from wastesim.catalog.slots import Slots
from wastesim.catalog.stored import bytes_per_element, key_value_dtypes, stored_bytes
from wastesim.config.hardware import KvLayers, ModelGeometry
from wastesim.errors import ConfigError
from wastesim.units import GIB


def geometry(**changes: Any) -> ModelGeometry:
    base = {"layers": 4, "hidden": 64, "q_heads": 8, "kv_heads": 4, "head_dim": 16, "params": 1000}
    return ModelGeometry.model_validate(base | changes)


@pytest.mark.parametrize(
    ("dtype", "elements", "heads", "size"),
    [
        ("q8_0", 64, 1, 68), ("q8_0", 33, 1, 68), ("q5_0", 32, 1, 22), ("q4_0", 32, 1, 18),
        ("int4", 3, 1, 2), ("int8_head", 128, 2, 136), ("int4_g32", 64, 1, 36),
        ("int4_g32_zp", 64, 1, 40), ("int8_g64", 64, 1, 66), ("float32", 3, 9, 12),
    ],
)  # fmt: skip
def test_bytes_with_scales(dtype: str, elements: int, heads: int, size: int) -> None:
    assert stored_bytes(dtype, elements, heads) == size


def test_keys_and_values_in_types_of_their_own() -> None:
    assert key_value_dtypes("q8_0/f16") == ("q8_0", "float16")
    assert key_value_dtypes("f16/fp16") == ("float16", "float16")
    assert bytes_per_element("fp8/float32") == 2.5
    assert kv_bytes_per_token(geometry(), "q8_0/f16") == 4 * (68 + 128)
    with pytest.raises(ValueError, match="one for K and one for V"):
        key_value_dtypes("f16/f16/f16")


@pytest.mark.parametrize(("heads", "tp", "each"), [(8, 4, 2), (8, 3, 3), (10, 4, 3), (2, 8, 1)])
def test_heads_that_do_not_divide_go_round(heads: int, tp: int, each: int) -> None:
    assert heads_per_rank(heads, tp) == each


def test_copies_over_ranks() -> None:
    assert replication(KvLayers(layers=1, kv_heads=8), 4) == 1.0
    assert replication(KvLayers(layers=1, kv_heads=2), 8) == 4.0
    assert replication(KvLayers(layers=1, kv_heads=10), 4) == 1.2


@pytest.mark.parametrize(
    ("layers", "sizes"),
    [((10, 52), [10, 9, 9, 9, 9, 8, 8]), ((12, 12), [12, 12]), ((20, 25), [20, 25]),
     ((10, 15), [10, 8, 7])],
)  # fmt: skip
def test_group_sizes(layers: tuple[int, int], sizes: list[int]) -> None:
    """The smallest bucket, or the largest when it is under 1.5 times the smallest."""
    full, window = Group("full", layers[0], 16, 64), Group("window", layers[1], 16, 64, 128)
    assert [group.layers for group in kv_groups([full, window])] == sizes


def test_groups_of_different_pages_hold_different_numbers_of_tokens() -> None:
    wide, narrow = Group("full", 4, 16, 64), Group("window", 4, 16, 16, 128)
    assert [(g.block_size, g.page_bytes) for g in kv_groups([wide, narrow])] == [(16, 64), (64, 64)]
    with pytest.raises(ConfigError, match="must be a multiple of the smaller"):
        kv_groups([wide, replace(narrow, page_bytes=48)])


def test_layers_of_one_kind_and_several_widths_are_one_group() -> None:
    kinds = [{"layers": 1, "kv_heads": 1}, {"layers": 3}]
    (group,) = kv_groups(layer_buckets(geometry(kv_layers=kinds), 16))
    assert group.block_bytes == 16 * kv_bytes_per_token(geometry(kv_layers=kinds))


def test_attention_pages_grow_until_they_hold_a_state() -> None:
    kinds = [{"layers": 1}, {"kind": "state", "layers": 3, "state_bytes": 10_000}]
    buckets = layer_buckets(geometry(kv_layers=kinds), 16)
    assert [bucket.block_size for bucket in buckets] == [48, 48]
    assert {bucket.page_bytes for bucket in buckets} == {48 * 256}
    assert blocks_per_request(buckets[1], 100_000, 8192) == 1


def test_windows_of_sglang_have_a_smaller_pool() -> None:
    model, engine = find_model("gpt-oss-20b"), ENGINES["sglang"]
    each = 12 * 2048
    found = fit(engine, Load(model, 8192), GIB)
    assert found.unit_bytes == each + int(each * 0.8)
    assert found.tokens == GIB // found.unit_bytes


def test_windows_of_llama_cpp_are_capped_unless_full() -> None:
    model = geometry(window_layers=2, window=128)
    capped, full = Slots(4096), Slots(4096, swa_full=True)
    assert capped.window_cells(128) == 768  # 128 + 512, padded to 256
    assert capped.bytes(model) == 2 * 256 * (4096 + 768)
    assert full.bytes(model) == 4 * 256 * 4096
    assert Slots(4096, 4, unified=True).window_cells(128) == 1024


def test_a_share_of_what_is_free() -> None:
    assert available_bytes(100, 0.9, 50) == 40
    assert available_bytes(100, 0.9, 50, "free") == 45
    budget = kv_budget(100, 0.9, 40, overhead_bytes=10, bytes_per_token=1, share_of="free")
    assert budget.kv_bytes == 45
    assert "x 0.9 of what is free" in budget.because()


def test_a_model_of_states_alone_has_no_cells() -> None:
    with pytest.raises(ConfigError, match="keeps nothing per token"):
        kv_budget(100, 0.9, 40, overhead_bytes=10, bytes_per_token=0)


def test_the_activation_peak_grows_with_the_step_alone() -> None:
    model = find_model("llama-3.1-8b")
    assert activation_bytes(model, 8192) == 2 * 8192 * (3 * 14_336 + 3 * 4096)
    assert activation_bytes(model, 16_384) == 2 * activation_bytes(model, 8192)
    assert activation_bytes(model, 8192, tp=2) < activation_bytes(model, 8192)
    assert explain_activations(model, 8192).startswith("864.00 MiB at 8,192 tokens a step = 2 B x")


def test_a_pipeline_stage_has_its_share_of_every_kind() -> None:
    model = stage(find_model("gemma-3-27b"), 4)
    assert {kind.kind: kind.layers for kind in layer_kinds(model)} == {"window": 13, "full": 3}


def test_unknown_engines_name_the_nearest() -> None:
    assert find_engine("vLLM 0.33").name == "vllm"
    assert find_engine("trt-llm").name == "tensorrt-llm"
    with pytest.raises(ConfigError, match="did you mean 'sglang'"):
        find_engine("sglan")


@pytest.mark.parametrize("name", model_names())
@pytest.mark.parametrize("engine", ENGINES)
def test_every_model_fits_every_engine_consistently(name: str, engine: str) -> None:
    """Whole units within the bytes, and the longest context is the last that fits."""
    model, rules = find_model(name), ENGINES[engine]
    load, size = Load(model, 1024), 40 * GIB
    found = fit(rules, load, size)
    assert 0 <= found.left_over_bytes < found.unit_bytes
    assert found.full_length_requests <= found.max_concurrency
    length = longest(rules, load, size)
    assert fit(rules, replace(load, max_model_len=length), size).full_length_requests >= 1
    if length < 2**30:
        assert fit(rules, replace(load, max_model_len=length + 1), size).full_length_requests == 0


@given(
    tokens=st.integers(1, 10**6),
    window=st.integers(1, 10**5),
    layers=st.integers(1, 60),
    limited=st.integers(0, 60),
)
def test_capped_is_never_more_than_full(
    tokens: int, window: int, layers: int, limited: int
) -> None:
    limited = min(layers, limited)
    more = {"window_layers": limited, "window": window} if limited else {}
    model = geometry(layers=layers, **more)
    capped, full = (kv_bytes_per_request(model, tokens, capped=flag) for flag in (True, False))
    assert capped <= full == tokens * kv_bytes_per_token(model)
    assert (capped == full) == (not limited or tokens <= window)


@given(layers=st.lists(st.integers(1, 90), min_size=2, max_size=3))
def test_groups_keep_every_layer(layers: list[int]) -> None:
    kinds: Any = ("full", "window", "chunked")
    buckets = [
        Group(kind, n, 16, 64, None if kind == "full" else 128)
        for kind, n in zip(kinds, layers, strict=False)
    ]
    groups = kv_groups(buckets)
    assert sum(group.layers for group in groups) == sum(layers)
    assert block_bytes(groups) == 64 * max(group.layers for group in groups)
