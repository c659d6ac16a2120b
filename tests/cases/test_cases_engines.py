"""What other engines and tools printed (T cases)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wastesim.allocation.build import Pool, build_policy
from wastesim.allocation.freelist import RULES, FreeSpans
from wastesim.allocation.protocol import Ask
from wastesim.allocation.slots import Slots as SlotPolicy
from wastesim.allocation.spans import OneSpan
from wastesim.capacity.explain import explain_value
from wastesim.capacity.from_log import checks
from wastesim.capacity.hypotheses import block_sizes, bytes_per_token, fitting
from wastesim.capacity.logs import parse_log
from wastesim.capacity.printed import Printed, amount
from wastesim.catalog import find_gpu, find_model, kv_bytes_per_token
from wastesim.catalog.budget import available_bytes
from wastesim.catalog.engines import ENGINES
from wastesim.catalog.fit import fit, longest
from wastesim.catalog.groups import Group, blocks_per_request
from wastesim.catalog.kv import growing_bytes_per_token, kv_bytes_per_request
from wastesim.catalog.stored import bytes_per_element
from wastesim.catalog.weights import weights_bytes
from wastesim.config.policy import PRESETS
from wastesim.config.policy import Policy as PolicyConfig
from wastesim.units import GIB, MIB, parse_bytes

from .case_models import MHA_7B, geometry, load

TRT, STATIC, VLLM = ENGINES["tensorrt-llm"], ENGINES["static"], ENGINES["vllm"]


def test_t01_a_pool_takes_what_is_free_not_what_is_needed() -> None:
    log = parse_log("Allocated 64.75 GiB for max tokens in paged KV cache (132608)")
    interval = bytes_per_token(log)
    assert interval is not None
    assert fitting(interval, [MHA_7B])[0].bytes_per_token == 69_524_783_104 / 132_608 == 524_288
    one = kv_bytes_per_request(MHA_7B, 5120)
    assert (one / GIB, 5 * one / GIB) == (2.5, 12.5)


def test_t02_blocks_are_rounded_up_and_some_figures_are_impossible() -> None:
    group = Group("full", 32, 16, 16 * 16_384)
    blocks = blocks_per_request(group, 10_718, 8192)
    assert (blocks, 16 * blocks) == (670, 10_720)
    assert kv_bytes_per_request(MHA_7B, 10_718) / GIB == pytest.approx(5.2334, abs=1e-4)
    assert kv_bytes_per_request(MHA_7B, 8348) / GIB == pytest.approx(4.0762, abs=1e-4)
    log = parse_log("total_gpu_memory (24.00GiB)\n# GPU blocks: 8348, # CPU blocks: 512")
    assert any("65.22 GiB, more than the card" in line for line in checks(log))
    assert 16 not in block_sizes(8348)


def test_t05_a_contiguous_worst_case() -> None:
    assert 192 * kv_bytes_per_request(MHA_7B, 4096) / GIB == 384.0
    assert fit(STATIC, load(MHA_7B, 4096), 27 * GIB).full_length_requests == 13


def test_t06_beams_multiply_the_cache() -> None:
    pool = 65_536 * kv_bytes_per_token(MHA_7B)
    assert longest(TRT, load(MHA_7B, 1), pool, requests=256) == 256


def test_t09_pages_of_64() -> None:
    model = geometry(32, 8, 128)
    found = fit(replace(TRT, block_size=64), load(model, 4096), 6214 * 8 * MIB)
    assert (found.unit_bytes, found.units, found.tokens) == (8 * MIB, 6214, 397_696)
    assert found.units * found.unit_bytes / GIB == pytest.approx(48.5469, abs=1e-4)
    assert found.units * found.unit_bytes / 1e9 == pytest.approx(52.1268, abs=1e-4)


def test_t11_a_bug_is_not_a_shortage() -> None:
    found = fit(replace(TRT, block_size=128), load(MHA_7B, 512), 32 * 64 * MIB)
    assert (found.unit_bytes / MIB, found.units, found.tokens) == (64.0, 32, 4096)
    assert found.units_per_request == 4
    log = parse_log("[BlockManager] block_size = 64 MB, max_block_count = 32\nblock_size: 128")
    assert log.numbers["block_bytes"].value == 64 * MIB


def test_t12_a_capacity_that_no_latent_explains() -> None:
    model = geometry(47, 20, 128, latent_dim=576, latent_rope_dim=64)
    assert kv_bytes_per_token(model) == 54_144
    assert 64 in block_sizes(4928)
    assert kv_bytes_per_request(model, 4928) / MIB == pytest.approx(254.4609, abs=1e-4)
    assert fit(replace(VLLM, block_size=1), load(model, 1), 6 * GIB).units == 118_987


def test_t14_a_usage_of_two_digits() -> None:
    pools = [pool for pool in range(1920, 2560, 64) if Printed.read("0.94").allows(1920 / pool)]
    assert pools == [2048]


def test_t14_who_is_retracted_waits_and_all_are_served(toy) -> None:
    """Six of eleven requests run, 320 tokens each, five wait; then memory is full."""
    found = toy([(0, 300, 100)] * 11, cells=2048, max_model_len=1024,
                server={"policy": "token", "max_num_batched_tokens": 8192})  # fmt: skip
    ticks = found.records.ticks
    (at,) = np.flatnonzero(ticks["written"] == 1920)[:1]
    assert (ticks["running"][at], ticks["waiting"][at]) == (6, 5)
    assert Printed.read("0.94").allows(1920 / 2048)
    full = at + (2048 - 1920) // 6 + 1  # six more in each tick; 2,052 would not fit
    assert ticks["written"][full - 1] == 2046
    assert [ticks[name][full] for name in ("preempted", "running", "waiting")] == [1, 5, 6]
    assert ticks["written"][full] == 5 * 342
    assert ticks["written"].max() <= 2048
    assert found.summary["requests"]["completed"] == 11


def test_t15_a_pool_beside_its_weights() -> None:
    llama = find_model("llama-2-7b")
    held = kv_bytes_per_request(llama, 16_224)
    assert held / GIB == pytest.approx(7.9219, abs=1e-4)
    assert (held + weights_bytes(llama)) / GIB == pytest.approx(20.4719, abs=0.01)
    assert blocks_per_request(Group("full", 32, 16, 1), 16_224, 8192) == 1014


def test_t16_a_hidden_factor_is_found() -> None:
    plain = kv_bytes_per_request(MHA_7B, 18_267)
    assert plain / MIB == 9133.5
    stated = amount("9590.18 MB")
    per_token = Printed(stated.value / 18_267, stated.half / 18_267, stated.text)
    found = explain_value(per_token, MHA_7B)
    assert [mistake.what for mistake in found.likely[0]] == ["a safety factor of 5 %"]
    assert pytest.approx(23_374.69) == 12_852.51 + 9590.18 + 932.00


def test_t18_digits_that_are_printed_are_not_enough() -> None:
    model = find_model("llama-3.2-3b")
    assert kv_bytes_per_token(model) == (2702.16 - 2254.16) * MIB / 4096 == 114_688
    assert kv_bytes_per_request(model, 4096) / MIB == 448.0
    printed = amount("0.11 MB")
    assert printed.allows(114_688)
    assert printed.value * 4096 / MIB == pytest.approx(450.56)


def test_t19_the_default_is_the_whole_context() -> None:
    model = geometry(60, 8, 128)
    assert kv_bytes_per_token(model) == 245_760
    held = kv_bytes_per_request(model, 200_000)
    assert held / GIB == pytest.approx(45.7764, abs=1e-4)
    assert held / 1e9 == pytest.approx(49.152)
    assert kv_bytes_per_request(model, 200_000, "q4_0") / GIB == pytest.approx(12.8746, abs=1e-4)


def test_t20_narrower_caches_and_a_scratch_layer() -> None:
    f16, fp8, q4 = (kv_bytes_per_request(MHA_7B, 4096, d) / MIB for d in ("f16", "fp8", "q4_0"))
    assert (f16, f16 - fp8, fp8 - q4) == (2048.0, 1024.0, 448.0)
    one_layer = kv_bytes_per_request(geometry(1, 32, 128), 4096) / MIB
    assert f16 - fp8 - one_layer == 960.0
    assert fp8 - q4 - 320 == 2 * one_layer


def test_t22_a_buffer_of_max_length_for_a_greeting() -> None:
    phi = find_model("phi-3-mini-128k-instruct")
    assert kv_bytes_per_token(phi) == 393_216
    assert [kv_bytes_per_request(phi, n) / GIB for n in (131_072, 4096)] == [48.0, 1.5]
    assert fit(STATIC, load(phi, 131_072), 24 * GIB).full_length_requests == 0


def test_t24_the_last_token_is_never_stored(toy) -> None:
    result = toy([(0, 32, 16)], cells=2048, max_model_len=2048)
    assert int(result.records.ticks["written"].max()) == 32 + 16 - 1 == 47
    assert kv_bytes_per_request(geometry(16, 8, 64), 47) / MIB == pytest.approx(1.4688, abs=1e-4)


def test_t25_a_buffer_of_32_bits() -> None:
    qwen = find_model("qwen3-0.6b")
    held = [kv_bytes_per_request(qwen, n, d) / MIB for n, d in
            ((4096, "f32"), (4096, "f16"), (64, "f32"))]  # fmt: skip
    assert held == [896.0, 448.0, 14.0]
    assert held[2] / held[0] == pytest.approx(0.0156, abs=1e-4)


def test_t27_an_upper_bound_halves_the_concurrency() -> None:
    assert SlotPolicy.contiguous(2 * 4096, 4096).ceiling().requests == 2
    assert SlotPolicy.contiguous(2 * 4096, 256).ceiling().requests >= 4


def test_t27_two_of_four_clients_run_until_the_reservation_is_exact(toy) -> None:
    """256 positions are written of 4,096; the last of 57 tokens is never stored."""
    rows = [(0, 200, 57)] * 4
    bound = toy(rows, cells=2 * 4096, max_model_len=4096).summary
    exact = {"policy": {"claim": "oracle", "place": "first_fit"}}
    fitted = toy(rows, cells=2 * 4096, max_model_len=4096, server=exact).summary
    assert (bound["concurrency"]["peak"], fitted["concurrency"]["peak"]) == (2, 4)
    assert 1 - bound["memory"]["written_over_reserved"]["at_finish"] == 0.9375
    assert fitted["memory"]["written_over_reserved"]["at_finish"] > 0.99
    assert bound["time"]["horizon_s"] == 2 * fitted["time"]["horizon_s"]


def test_t29_admission_counts_pages_of_each_request() -> None:
    paged = build_policy(PRESETS["paged"], Pool(128, 256, 128, 1))
    asks = [Ask(number, 2, 1, known_tokens=2) for number in range(2)]
    assert paged.place(asks[0], 2) is not None
    assert not paged.fits(asks[1], 2)
    assert paged.place(asks[1], 2) is None


def test_t30_scales_are_part_of_the_cache() -> None:
    qwen = find_model("qwen3-1.7b")
    engine = ENGINES["sglang"]
    held = fit(engine, load(qwen, 4096), round(2.9 * GIB)).tokens
    assert held == 27_150
    assert amount("2.90 GiB").allows(27_142 * kv_bytes_per_token(qwen), slack=0.002 * GIB)
    assert 27_142 * kv_bytes_per_token(qwen) == 54_284 * kv_bytes_per_token(qwen, "fp8")
    assert bytes_per_element("int8_g32") == 1.0625
    assert 17.6 * bytes_per_element("int8_g32") / 2 == pytest.approx(9.35)
    assert pytest.approx(bytes_per_element("fp8") / 2, abs=1e-3) == 8.79 / 17.6


@pytest.mark.parametrize(
    ("model", "stated", "right", "mistake"),
    [
        ("qwen3-4b", "92160", 147_456, "head size taken as hidden / heads"),
        ("deepseek-v3", "124928", 70_272,
         "the latent counted for K and for V, without positions"),
    ],
)  # fmt: skip
def test_t31_calculators_that_are_off(model: str, stated: str, right: int, mistake: str) -> None:
    found = explain_value(Printed.read(stated), find_model(model))
    assert found.right == right
    assert [some.what for some in found.likely[0]] == [mistake]


def test_t33_a_factor_of_heads() -> None:
    for model, factor in ((MHA_7B, 8.0), (geometry(32, 8, 128, q_heads=32, hidden=4096), 32.0)):
        found = explain_value(Printed.read(str(2 * 32 * 32 * 4096 * 4 // 8)), model)
        assert found.factor == factor
    heads = [m.what for some in found.likely for m in some]
    assert any("heads" in what for what in heads)


def test_t35_kinds_of_layers_differ_in_heads_and_dims() -> None:
    kinds = [{"kind": "window", "layers": 40, "kv_heads": 8, "head_dim": 256, "window": 1024},
             {"kind": "full", "layers": 8, "kv_heads": 1, "head_dim": 512}]  # fmt: skip
    model = geometry(48, 8, 256, kv_layers=kinds)
    assert growing_bytes_per_token(model) / 1024 == 16.0
    assert kv_bytes_per_token(geometry(8, 8, 512)) / 1024 == 128.0
    assert kv_bytes_per_token(geometry(48, 8, 256)) / 1024 == 384.0
    assert kv_bytes_per_token(geometry(8, 8, 256)) / 1024 == 64.0


def test_t36_gb_that_are_gib() -> None:
    held = kv_bytes_per_request(geometry(36, 8, 128), 10_010)
    assert amount("1.3747 gb").allows(held)
    assert not amount("1.3747 gb", decimal=True).allows(held)
    assert held / 1e9 == pytest.approx(1.476, abs=1e-3)


class Steps:
    """As many steps of 256 as the tokens need."""

    grows = ahead = True

    def of(self, ask: Ask, tokens: int) -> int:
        return -(-tokens // 256) * 256


class Concatenated(OneSpan):
    """One buffer for each request; a larger one is made and filled before the old one goes."""

    def __init__(self, pool: Pool) -> None:
        free = FreeSpans(pool.capacity_cells, RULES["first_fit"])
        super().__init__("concatenated", Steps(), free)


def test_t39_the_peak_of_a_copy_is_nearly_twice_the_steady_size(toy) -> None:
    """Fifteen copies; at the last one 15 and 16 steps are held."""
    server = {"policy": f"{__name__}:Concatenated"}
    found = toy([(0, 100, 3901)], cells=16_384, max_model_len=8192, server=server)
    scheduling = found.summary["scheduling"]
    assert scheduling["double_residency_peak_cells"] == 15 * 256 + 16 * 256 == 7936
    assert scheduling["copied_tokens"] == 256 * sum(range(1, 16))
    assert scheduling["preemptions"] == 0
    assert found.records.requests["reserved_cells"].tolist() == [4096]
    steady = found.summary["memory"]["written_over_reserved"]["at_finish"]
    assert 1 - steady == pytest.approx(0.023, abs=5e-4)
    short = toy([(0, 100, 3901)], cells=7935, max_model_len=8192, server=server)
    assert short.summary["scheduling"]["preemptions"] > 0  # memory for one and the copy is short


def test_t39_growth_in_steps() -> None:
    steps = build_policy(
        PolicyConfig(claim="prompt", place="blocks", block_size=256), Pool(8192, 8192, 256, 1)
    )
    holding = steps.place(Ask(0, 4000, 1, known_tokens=4000), 4000)
    assert holding is not None
    assert holding.cells == 4096 == 16 * 256


@pytest.mark.parametrize(("head_dim", "factor"), [(80, 1.6), (96, 1.3333), (64, 1.0)])
def test_t41_heads_padded_to_64(head_dim: int, factor: float) -> None:
    padded = geometry(12, 8, head_dim, kv_layers=[{"layers": 12, "head_dim_multiple": 64}])
    plain = geometry(12, 8, head_dim)
    found = kv_bytes_per_token(padded) / kv_bytes_per_token(plain)
    assert found == pytest.approx(factor, abs=1e-4)


def test_t42_cards_in_the_drivers_bytes() -> None:
    assert find_gpu("h100-sxm-80gb").memory_bytes == 85_520_809_984
    memories = {"a100-sxm-80gb": 81_920, "a100-sxm-40gb": 40_960, "l40s-48gb": 46_068,
                "l4-24gb": 23_034}  # fmt: skip
    for name, mib in memories.items():
        assert find_gpu(name).memory_bytes == mib * MIB
    assert find_gpu("h100-sxm-80gb").memory_bytes / GIB == pytest.approx(79.6475, abs=1e-4)
    assert parse_bytes("80 GB") / GIB == pytest.approx(74.5058, abs=1e-4)


def test_t45_a_planner_that_packs_to_the_brim() -> None:
    planned = available_bytes(180 * GIB, 1.0, 147 * GIB) / GIB
    real = available_bytes(179 * GIB, 0.92, 152 * GIB) / GIB
    assert (planned, real) == (33.0, pytest.approx(12.68, abs=1e-6))
    assert planned / real == pytest.approx(2.6025, abs=1e-4)


def test_t46_tokens_that_are_called_blocks() -> None:
    qwen = find_model("qwen2.5-7b")
    assert kv_bytes_per_request(qwen, 77_088) / GIB == pytest.approx(4.1169, abs=1e-4)
    assert kv_bytes_per_request(qwen, 77_088 * 16) / GIB == pytest.approx(65.8711, abs=1e-4)
    assert 16 in block_sizes(77_088)
    assert blocks_per_request(Group("full", 28, 16, 1), 77_088, 8192) == 4818


def test_t47_weights_in_both_units() -> None:
    small = find_model("llama-3-8b").model_copy(update={"params": 8_030_000_000})
    large = find_model("llama-3-70b").model_copy(update={"params": 70_600_000_000})
    assert (weights_bytes(small) / 1e9, weights_bytes(large) / 1e9) == (16.06, 141.2)
    assert weights_bytes(small) / GIB == pytest.approx(14.957, abs=1e-3)
    assert weights_bytes(large) / GIB == pytest.approx(131.5027, abs=1e-4)
    card = find_gpu("h100-sxm-80gb").memory_bytes
    assert card / 1e9 == pytest.approx(85.5208, abs=1e-4)
    assert -(-weights_bytes(large) // int(card * 0.9)) == 2


def test_t48_articles_in_decimal_units() -> None:
    assert 8 * kv_bytes_per_request(MHA_7B, 2048) / 1e9 == pytest.approx(8.5899, abs=1e-4)
    assert 8 * kv_bytes_per_request(MHA_7B, 2048) / GIB == 8.0
    opt = find_model("opt-13b")
    found = fit(replace(STATIC), load(opt, 2048), parse_bytes("12 GB"))
    assert found.full_length_requests == 7
    assert parse_bytes("12 GB") // kv_bytes_per_token(opt) == 14_648
