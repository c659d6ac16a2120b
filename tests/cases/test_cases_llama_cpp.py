"""What people's llama.cpp and ollama servers printed (L cases)."""

from __future__ import annotations

from math import prod

import pytest

from wastesim.allocation.claims import Doubling
from wastesim.allocation.protocol import Ask
from wastesim.capacity.explain import explain_value
from wastesim.capacity.hypotheses import bytes_per_token, fitting
from wastesim.capacity.logs import parse_log
from wastesim.capacity.printed import Printed, amount
from wastesim.catalog import find_model, kv_bytes_per_token
from wastesim.catalog.kv import fixed_bytes_per_request, kv_bytes_per_request
from wastesim.catalog.slots import Slots
from wastesim.catalog.stored import bytes_per_element, stored_bytes
from wastesim.units import GIB, MIB

from .case_models import geometry

#: DeepSeek-V3 with expanded heads: K 24,576 and V 16,384 wide.
NAIVE = geometry(61, 128, 192, v_head_dim=128)


def test_l01_blocks_of_34_bytes_and_whole_layers_per_device() -> None:
    qwen = geometry(64, 8, 128)
    slots = Slots(32_768)
    assert slots.bytes(qwen, "q8_0") == 4352 * MIB
    assert slots.bytes(qwen, "f16") == 8192 * MIB
    assert 64 * 32_768 * stored_bytes("q8_0", 1024) == 2176 * MIB
    log = parse_log(
        "llama_kv_cache_init: CUDA0 KV buffer size = 2788.00 MiB\n"
        "llama_kv_cache_init: CUDA1 KV buffer size = 1564.00 MiB\n"
        "KV self size = 4352.00 MiB, K (q8_0): 2176.00 MiB, V (q8_0): 2176.00 MiB"
    )
    each = slots.bytes(qwen, "q8_0") / qwen.layers
    assert [found.value / each for found in log.device_bytes] == [41.0, 23.0]
    assert log.numbers["keys_bytes"].value == 2176 * MIB
    assert log.types == {"K": "q8_0", "V": "q8_0"}


def test_l02_a_latent_and_its_position_part() -> None:
    parts = [61 * 32_768 * stored_bytes("f16", width) / MIB for width in (64, 512)]
    assert parts == [244.0, 1952.0]
    assert Slots(32_768).bytes(find_model("deepseek-v3")) / MIB == sum(parts)
    assert kv_bytes_per_token(NAIVE) / MIB == pytest.approx(4.7656, abs=1e-4)
    assert kv_bytes_per_request(NAIVE, 32_768) / GIB == 152.5
    # a transposed copy of the latent that the log does not count
    assert 2110.42 + 2042.34 - sum(parts) - 4.77 == pytest.approx(parts[1], abs=0.02)


def test_l03_the_context_from_the_bytes() -> None:
    model = geometry(28, 4, 128)
    log = parse_log("KV self size  =  112.00 MiB, K (f16): 56.00 MiB, V (f16): 56.00 MiB")
    kv = log.value("kv_bytes")
    assert kv is not None
    assert kv_bytes_per_token(model) == 57_344
    assert kv / kv_bytes_per_token(model) == 2048


def test_l04_a_cache_of_32_bits() -> None:
    llama = geometry(60, 52, 128)
    assert Slots(512).bytes(llama, "f32") == 1560 * MIB
    assert Slots(512).bytes(llama, "f16") == 780 * MIB
    log = parse_log("llama_context: n_ctx = 512\nKV self size = 1560.00 MB")
    interval = bytes_per_token(log)
    assert interval is not None
    assert interval.holds(1560 * MIB / 512)
    assert fitting(interval, [llama])[0].dtype == "float32"


@pytest.mark.parametrize(("slots", "cells", "mib"), [(3, 1536, 27.0), (4, 1024, 18.0)])
def test_l06_more_slots_may_take_less(slots: int, cells: int, mib: float) -> None:
    found = Slots(1024, slots)
    assert found.cells == cells
    assert found.bytes(geometry(18, 2, 128)) / MIB == mib


def test_l08_a_context_is_divided_and_k_and_v_differ() -> None:
    found = Slots(163_840, 6, pad_cells=1)
    assert (found.context_per_slot, found.unused_cells) == (27_306, 4)
    assert kv_bytes_per_token(NAIVE, "q5_0/f16") == 3_029_504
    assert Slots(163_840).bytes(NAIVE, "q5_0/f16") / GIB == pytest.approx(462.2656, abs=1e-4)
    assert found.bytes(NAIVE, "q5_0/f16") / 6 / GIB == pytest.approx(77.0424, abs=1e-4)


def test_l09_one_pool_or_parts_of_it() -> None:
    unified, split = Slots(1024, 4, unified=True), Slots(1024, 4)
    assert (unified.context_per_slot, unified.cells, unified.overcommit) == (1024, 1024, 4.0)
    assert (split.context_per_slot, split.cells, split.overcommit) == (256, 1024, 1.0)


def test_l11_slots_multiply_a_stated_context() -> None:
    qwen = find_model("qwen2.5-7b")
    found = Slots(4 * 4096, 4)
    assert (found.context_per_slot, found.cells) == (4096, 16_384)
    assert found.bytes(qwen) / MIB == 896.0
    assert found.bytes(qwen) / found.buffers / MIB == 224.0


def test_l13_block_formats_are_not_their_nominal_bits() -> None:
    llama = find_model("llama-3.1-8b")
    sizes = {dtype: kv_bytes_per_request(llama, 32_768, dtype) / GIB for dtype in
             ("f16", "q8_0", "q4_0")}  # fmt: skip
    assert sizes == {"f16": 4.0, "q8_0": 2.125, "q4_0": 1.125}
    assert bytes_per_element("q5_0") * 8 == 5.5


def test_l15_a_hand_check() -> None:
    assert kv_bytes_per_request(find_model("llama-2-70b"), 2048) / MIB == 640.0


def test_l16_a_cache_that_doubles() -> None:
    claim = Doubling(131_072, 256)
    assert claim.of(Ask(0, 100, 1), 100) == 256
    assert claim.of(Ask(0, 5000, 1), 5000) == 8192
    model = geometry(16, 8, 128)
    assert kv_bytes_per_request(model, 131_072) == 8 * GIB
    assert kv_bytes_per_request(model, 256) == 16 * MIB
    assert 100 / claim.of(Ask(0, 100, 1), 100) == pytest.approx(0.3906, abs=1e-4)


def test_l17_recurrent_states_do_not_grow() -> None:
    kinds = [{"layers": 8, "kv_heads": 4, "head_dim": 256},
             {"kind": "state", "layers": 24, "state_bytes": 50.25 * MIB / 24}]  # fmt: skip
    model = geometry(32, 4, 256, kv_layers=kinds)
    assert 8 * 262_144 * stored_bytes("f16", 1024) == 4096 * MIB
    assert Slots(262_144).bytes(model) / MIB == 8242.25
    assert fixed_bytes_per_request(model) / MIB == 50.25
    assert Slots(262_144, 2).bytes(model) / MIB == 8192 + 2 * 50.25


def test_l20_the_truth_behind_a_confused_product() -> None:
    llama = find_model("llama-3.2-3b")
    assert kv_bytes_per_request(llama, 131_072, "f32") / GIB == 28.0
    assert kv_bytes_per_request(llama, 131_072, "f32", tp=4) / GIB == 7.0
    product = 1024 * 128_256 * 2 * 4  # in the place of 28 layers and 131,072 tokens
    assert product / GIB == pytest.approx(0.9785, abs=1e-4)
    found = explain_value(Printed.read(str(product / 131_072)), llama, "f32")
    exact = [
        {mistake.what for mistake in some}
        for some in found.likely
        if prod(mistake.factor for mistake in some) == pytest.approx(found.factor, rel=1e-9)
    ]
    assert exact == [{"one layer only", "the vocabulary in place of the context"}]
    stated = amount("7.8 GB")  # of which it is the bits
    assert not stated.allows(product)
    assert stated.allows(8 * product)


def test_l21_a_hidden_slot_halves_the_context() -> None:
    assert Slots(8192, 2).context_per_slot == 4096
