"""What people's vLLM servers printed (V cases): each number by the functions that own it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wastesim import load_experiment, simulate
from wastesim.allocation.build import Pool, build_policy
from wastesim.allocation.protocol import Ask
from wastesim.capacity.explain import explain_value
from wastesim.capacity.from_log import budget_bytes, checks, self_consistency
from wastesim.capacity.hypotheses import bytes_per_token, fitting, tokens_of
from wastesim.capacity.logs import parse_log
from wastesim.capacity.printed import Printed, amount
from wastesim.catalog import find_model, kv_budget, kv_bytes_per_token
from wastesim.catalog.activations import activation_bytes
from wastesim.catalog.budget import usable_bytes
from wastesim.catalog.fit import fit, longest, request_bytes
from wastesim.catalog.groups import Group, blocks_per_request, layer_buckets
from wastesim.catalog.kv import growing_bytes_per_token, kv_bytes_per_request
from wastesim.catalog.layers import layer_elements, layer_kinds, replication
from wastesim.catalog.pool import BlockPool, common_blocks, stranded_blocks
from wastesim.catalog.stored import stored_bytes
from wastesim.config.hardware import ModelGeometry
from wastesim.config.policy import PRESETS
from wastesim.config.server import Server
from wastesim.units import GIB, MIB

from .case_models import MHA_7B, VLLM, geometry, load


def pool(blocks: int, length: int, model: ModelGeometry, block: int = 16) -> BlockPool:
    return BlockPool(blocks, tuple(layer_buckets(model, block)), length, 8192)


def gib(value: float) -> int:
    return round(value * GIB)


def test_v01_the_budget_of_a_start_up_log() -> None:
    llama = find_model("llama-3.1-8b")
    budget = kv_budget(gib(23.58), 0.9, gib(17.06), overhead_bytes=gib(0.35),
                       bytes_per_token=kv_bytes_per_token(llama))  # fmt: skip
    assert budget.kv_bytes / GIB == pytest.approx(3.812, abs=1e-3)
    block = pool(1952, 20_000, llama)
    assert block.bytes_per_block == 2_097_152
    assert budget.kv_bytes // block.bytes_per_block == 1951
    assert block.max_concurrency == pytest.approx(1.5616)
    assert 4 * GIB / block.bytes_per_block == 2048


def test_v02_the_activation_peak_follows_the_step_not_the_longest_context() -> None:
    """Peaks of 17.98 and 17.06 GiB at steps of 29,000 and 20,000, 15.05 at chunks of 512."""
    llama, weights = find_model("llama-3.1-8b"), 14.9888
    for batched, peak in ((29_000, 17.98), (20_000, 17.06), (512, 15.05)):
        assert weights + activation_bytes(llama, batched) / GIB == pytest.approx(peak, abs=0.02)
    refused = pool(1478, 29_000, llama)
    assert refused.num_blocks * 16 == 23_648
    assert f"{refused.max_concurrency:.2f}x" == "0.82x"
    assert refused.full_length_requests == 0
    left = kv_budget(gib(23.58), 0.9, gib(15.05), overhead_bytes=gib(0.35), bytes_per_token=131_072)
    assert left.kv_bytes / GIB == pytest.approx(5.822, abs=1e-3)
    assert left.kv_bytes // 2_097_152 * 16 == 47_680


def test_v04_weights_in_8_bits_leave_the_cache_in_16() -> None:
    llama = find_model("llama-3.1-70b").model_copy(update={"weights_dtype": "int8"})
    assert kv_bytes_per_token(llama) == 327_680
    found = pool(1381, 2048, llama)
    assert found.max_concurrency == pytest.approx(10.7891, abs=1e-4)
    assert found.num_blocks * found.bytes_per_block / GIB == pytest.approx(6.7432, abs=1e-4)


def test_v05_both_wordings_are_read() -> None:
    old = parse_log("# GPU blocks: 127626, # CPU blocks: 0x\n")
    new = parse_log("GPU KV cache size: 2,042,016 tokens\n"
                    "Maximum concurrency for 2,048 tokens per request: 997.08x")  # fmt: skip
    before, after = tokens_of(old), tokens_of(new)
    assert before is not None
    assert after is not None
    assert before.value == after.value == 2_042_016
    printed = new.numbers["concurrency"]
    assert printed.allows(pool(127_626, 2048, MHA_7B).max_concurrency)


def test_v06_cpu_blocks_give_the_geometry_away() -> None:
    log = parse_log(
        "# GPU blocks: 229, # CPU blocks: 512\nThe model's max seq len (4096) is larger than"
        " the maximum number of tokens that can be stored in KV cache (3664)."
    )
    interval, tokens = bytes_per_token(log), tokens_of(log)
    assert interval is not None
    assert interval.low == interval.high == 524_288
    assert tokens is not None
    assert tokens.value == 229 * 16 == 3664
    assert "llama-2-7b" in {found.model for found in fitting(interval, [find_model("llama-2-7b")])}
    assert 229 * 16 * interval.low / GIB == pytest.approx(1.7891, abs=1e-4)
    assert any(line.startswith("refused: 4,096 tokens") for line in checks(log))


def test_v07_each_rank_holds_its_heads() -> None:
    assert kv_bytes_per_token(MHA_7B, tp=2) == 262_144
    log = parse_log("# GPU blocks: 507, # CPU blocks: 1024")
    interval = bytes_per_token(log)
    assert interval is not None
    assert interval.low == 262_144
    assert {found.tp for found in fitting(interval, [MHA_7B]) if found.dtype == "float16"} == {2}
    assert 507 * 16 * interval.low / GIB == pytest.approx(1.9805, abs=1e-4)
    assert pool(507, 16_384, MHA_7B).full_length_requests == 0


def test_v08_the_missing_memory_of_each_rank() -> None:
    llama = find_model("llama-3.1-405b")
    each = kv_bytes_per_token(llama, tp=8)
    assert (kv_bytes_per_token(llama), each) == (516_096, 64_512)
    assert 79_392 * each / GIB == pytest.approx(4.77, abs=1e-3)
    asked = load(llama, 131_072, tp=8)
    assert request_bytes(VLLM, asked, 131_072) / GIB == 7.875
    assert fit(VLLM, asked, 79_392 * each).units == 4962


@pytest.mark.parametrize(("block", "expected"), [(16, 5808), (256, 5632), (512, 5632)])
def test_v11_the_longest_context_in_whole_pages(block: int, expected: int) -> None:
    llama = find_model("llama-3.1-8b")
    engine = replace(VLLM, block_size=block, null_blocks=0)
    assert request_bytes(engine, load(llama, 131_072), 131_072) == 16 * GIB
    assert longest(engine, load(llama, 131_072), gib(0.71)) == expected


def test_v12_an_8_bit_cache() -> None:
    model = geometry(48, 4, 128)
    assert kv_bytes_per_token(model, "fp8") == 49_152
    engine = replace(VLLM, null_blocks=0)
    assert fit(engine, load(model, 100_000, "fp8"), gib(10.55)).tokens == 230_464
    needed = request_bytes(engine, load(model, 1, "fp8"), 221_000)
    assert needed / GIB == pytest.approx(10.1169, abs=1e-4)
    assert longest(engine, load(model, 1, "fp8"), gib(5.59)) == 122_112
    assert amount("5.59 GiB").allows(122_080 * 49_152)
    assert pool(230_528 // 16, 100_000, model).max_concurrency == pytest.approx(2.3053, abs=1e-4)


def test_v13_query_heads_and_bits_for_bytes() -> None:
    qwen = find_model("qwen2.5-7b")
    found = explain_value(Printed.read("1605632"), qwen)
    assert (found.right, found.factor) == (57_344, 28.0)
    whats = [mistake.what for mistake in found.likely[0]]
    assert whats == ["query heads instead of KV heads", "8 bits taken as 8 bytes per element"]
    assert kv_bytes_per_request(qwen, 3072) / GIB == pytest.approx(0.1641, abs=1e-4)


def test_v14_a_label_of_gb_that_means_gib() -> None:
    qwen = find_model("qwen3-235b-a22b")
    assert kv_bytes_per_token(qwen, tp=4) == 48_128
    log = parse_log("KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: 8.23 GB")
    keys = 94 * 367_404 * stored_bytes("float16", layer_elements(layer_kinds(qwen)[0], 4)[0])
    assert keys / GIB == pytest.approx(8.234, abs=1e-3)
    assert keys / 1e9 == pytest.approx(8.8412, abs=1e-4)
    assert log.numbers["keys_bytes"].allows(keys)
    interval = bytes_per_token(log)
    assert interval is not None
    best = fitting(interval, [qwen])[0]
    assert (best.tp, best.units) == (4, "binary units")
    assert fit(VLLM, load(qwen, 4096, tp=4), gib(8.11)).units * 16 == 180_928
    assert pytest.approx(8.0179, abs=1e-4) == 178_880 * 48_128 / GIB


def test_v15_a_pool_that_can_never_be_filled() -> None:
    qwen = find_model("qwen3-1.7b")
    found = fit(VLLM, load(qwen, 1024), gib(18.78))
    assert found.units * 16 == 175_808
    assert amount("18.78 GiB").allows(175_856 * 114_688)
    assert kv_bytes_per_request(qwen, 1024) == 112 * MIB
    assert pytest.approx(0.0058, abs=1e-4) == 1024 / 175_856


_SPLIT = (
    "total_gpu_memory ({}GiB) x gpu_memory_utilization ({}) = {}GiB\nmodel weights take {}GiB;"
    " non_torch_memory takes {}GiB; PyTorch activation peak memory takes {}GiB"
)


@pytest.mark.parametrize(
    ("terms", "left"),
    [
        (("23.58", "0.99", "23.35", "21.21", "0.20", "0.37"), 1.57),
        (("95.22", "0.90", "85.70", "43.09", "7.33", "6.30"), 28.98),
    ],
)
def test_v17_the_four_terms(terms: tuple[str, ...], left: float) -> None:
    found = budget_bytes(parse_log(_SPLIT.format(*terms)))
    assert found is not None
    assert found / GIB == pytest.approx(left, abs=1e-6)
    assert usable_bytes(gib(float(terms[0])), float(terms[1])) / GIB == pytest.approx(
        float(terms[2]), abs=0.01
    )


def test_v17_the_poorest_rank_decides() -> None:
    ranks = [usable_bytes(gib(total), 0.9) // MIB for total in (95.22, 95.0)]
    assert common_blocks(ranks) * MIB / GIB == pytest.approx(85.5, abs=0.01)


def test_v18_expanded_and_padded_heads_against_the_latent() -> None:
    naive = {"layers": 60, "kv_heads": 128, "head_dim": 192, "v_head_dim": 128,
             "head_dim_multiple": 256}  # fmt: skip
    expanded = kv_bytes_per_token(geometry(60, 128, 128, kv_layers=[naive]), tp=8)
    latent = kv_bytes_per_token(find_model("deepseek-v2"), tp=8)
    assert (expanded, latent) == (983_040, 69_120)
    assert expanded / latent == pytest.approx(14.2222, abs=1e-4)
    assert 2368 * expanded / GIB == pytest.approx(2.168, abs=1e-3)
    asked = load(find_model("deepseek-v2"), 16_000, tp=8)
    assert fit(VLLM, asked, 2368 * expanded).units * 16 == 33_664


def test_v19_a_unified_cache_charges_window_layers_in_full() -> None:
    model = find_model("gpt-oss-120b")
    assert (kv_bytes_per_token(model), growing_bytes_per_token(model)) == (73_728, 36_864)
    unified = replace(load(model, 4096), hybrid=False)
    assert fit(VLLM, unified, gib(5.38)).units * 16 == 78_336
    assert gib(5.38) // (36_864 * 16) * 16 == 156_688
    stated = explain_value(Printed.read("36864"), model)
    assert "window layers left out" in [m.what for some in stated.likely for m in some]


def test_v21_windows_capped_or_full() -> None:
    model = find_model("gpt-oss-20b")
    full = 32 * kv_bytes_per_request(model, 8192, capped=False)
    capped = 32 * kv_bytes_per_request(model, 8192)
    assert full / GIB == 12.0
    assert capped / GIB == pytest.approx(6.0938, abs=1e-4)
    assert 100 * (capped / full - 1) == pytest.approx(-49.2188, abs=1e-4)


def test_v22_a_model_of_windows_only() -> None:
    starcoder = geometry(30, 2, 128, window_layers=30, window=4096)
    found = pool(2_198_512 // 16, 16_384, starcoder)
    assert found.num_blocks == 137_407
    assert found.blocks_per_request == 769
    assert found.max_concurrency == pytest.approx(178.6827, abs=1e-4)
    everything = pool(137_407, 16_384, geometry(30, 2, 128))
    assert everything.max_concurrency == pytest.approx(134.1865, abs=1e-4)
    assert 2_198_512 * kv_bytes_per_token(starcoder) / GIB == pytest.approx(62.8999, abs=1e-4)


def test_v23_tokens_and_concurrency_of_a_hybrid_disagree() -> None:
    log = parse_log("GPU KV cache size: 290,864 tokens\n"
                    "Maximum concurrency for 32,768 tokens per request: 33.04x")  # fmt: skip
    assert self_consistency(log) == pytest.approx(3.7222, abs=1e-4)
    assert any("3.72 times the tokens" in line for line in checks(log))


def test_v25_block_ids_are_the_scarce_unit() -> None:
    group = Group("full", 1, 2416, 1)
    found = BlockPool(643, (group,), 1_000_000, 8192)
    assert found.blocks_per_request == 414
    assert found.tokens == 1_553_140
    assert found.usable_blocks // 38 * 3584 == 57_344
    assert found.full_length_requests == 1


def test_v27_a_slip_of_a_thousand() -> None:
    log = parse_log("Available KV cache memory: 7.7 GiB\nGPU KV cache size: 150,000 tokens")
    interval = bytes_per_token(log)
    assert interval is not None
    assert interval.holds(55_118.747)
    model = geometry(27, 4, 128)  # 55,296 B, within the log's digits
    assert interval.holds(kv_bytes_per_token(model))
    found = explain_value(Printed.read("55"), model)
    assert any("read as bytes" in m.what for some in found.likely for m in some)


def test_v28_a_latent_is_on_every_rank() -> None:
    (kind,) = layer_kinds(find_model("deepseek-v3"))
    assert replication(kind, 8) == 8.0
    assert replication(layer_kinds(find_model("llama-3-70b"))[0], 8) == 1.0
    assert replication(layer_kinds(find_model("qwen3-30b-a3b"))[0], 8) == 2.0


@pytest.mark.parametrize(
    ("window_layers", "window", "length", "wasted"),
    [(21, 4096, 8192, 25.0), (27, 32_768, 131_072, 56.25)],
)
def test_v29_waste_of_storing_every_token_in_windows(
    window_layers: int, window: int, length: int, wasted: float
) -> None:
    layers = 42 if window_layers == 21 else 36
    model = geometry(layers, 8, 128, window_layers=window_layers, window=window)
    full = kv_bytes_per_request(model, length, capped=False)
    assert 100 * (1 - kv_bytes_per_request(model, length) / full) == pytest.approx(wasted)


def test_v29_waste_of_cross_attention() -> None:
    kinds = [{"kind": "full", "layers": 32}, {"kind": "cross", "layers": 8, "window": 6404}]
    needed = kv_bytes_per_request(geometry(40, 8, 128, kv_layers=kinds), 43)
    stored = kv_bytes_per_request(geometry(40, 8, 128), 43 + 6404)
    assert 100 * (1 - needed / stored) == pytest.approx(79.5998, abs=1e-4)


def test_v31_tokens_and_blocks_of_a_stated_cache() -> None:
    found = fit(VLLM, load(find_model("qwen2.5-7b"), 8192), 16 * GIB)
    assert (found.units, found.units * 16) == (18_724, 299_584)
    assert 128 * (1000 + 5000 / 2) / (found.units * 16) == pytest.approx(1.4954, abs=1e-4)


def test_v31_preemptions_fall_with_the_watermark() -> None:
    """Printed by one server: 1,065 without, then 400, 187, 168, 168, and 5.1 % more requests/s."""
    printed = {0: 1065, 0.02: 400, 0.05: 187, 0.10: 168, 0.15: 168}
    runs = {
        watermark: [_crowded(watermark, seed) for seed in range(3)]
        for watermark in printed
    }  # fmt: skip
    counts = [
        sum(run["scheduling"]["preemptions"] for run in some) / len(some) for some in runs.values()
    ]
    assert counts == pytest.approx(list(printed.values()), rel=0.2)
    assert counts[0] > 4 * counts[2]
    assert counts[2] - counts[4] < counts[0] / 10  # flat from there on
    rates = [sum(run["throughput"]["requests_per_s"] for run in runs[w]) for w in (0, 0.05)]
    assert rates[1] / rates[0] == pytest.approx(2.423 / 2.306, abs=0.02)


def _crowded(watermark: float, seed: int) -> dict[str, Any]:
    """450 requests, 128 at a time, of 1,000 + 5,000 tokens give or take a fifth, in 16 GiB."""
    lengths = {
        "prompt": {"kind": "uniform", "low": 800, "high": 1200},
        "output": {"kind": "uniform", "low": 4000, "high": 6000},
    }
    tree = {
        "seed": seed,
        "model": "qwen2.5-7b",
        "gpu": "h100-sxm-80gb",
        "workload": {"lengths": lengths, "num_requests": 450, "max_concurrency": 128},
        "server": {"policy": "paged", "max_model_len": 8192, "kv_cache_memory_bytes": "16 GiB",
                   "watermark": watermark},
        "decode": {"engine": "none"},
        "output": {"records": "none", "figures": False},
    }  # fmt: skip
    return simulate(load_experiment(tree)).summary


def _policy(name: str, cells: int, length: int, **more: object):
    return build_policy(PRESETS[name], Pool(cells, length, 16, 1, **more))  # type: ignore[arg-type]


def test_v32_a_prompt_that_does_not_fit_whole_is_not_admitted() -> None:
    paged = _policy("paged", int(4 * 100_000 / 0.9), 131_072)
    for request in range(4):
        ask = Ask(request, 100_000, 10, known_tokens=100_000)
        assert paged.fits_whole(ask)
        paged.place(ask, 100_000)
    fifth = Ask(4, 100_000, 10, known_tokens=100_000)
    assert paged.fits(fifth, 2048)  # its first chunk alone would fit
    assert not paged.fits_whole(fifth)


def test_v35_one_block_is_never_used() -> None:
    edge = BlockPool(164, (Group("full", 1, 1600, 1),), 262_144, 8192)
    assert f"{edge.max_concurrency:.2f}x" == "1.00x"
    assert edge.full_length_requests == 0
    model = geometry(36, 8, 128)
    found = pool(5385, 4096, model)
    assert kv_bytes_per_token(model) == 147_456
    assert found.num_blocks * found.bytes_per_block / MIB == 12_116.25
    assert found.usable_blocks * 16 == 86_144
    budget = kv_budget(24_112 * MIB, 0.9, 9094 * MIB, overhead_bytes=(337 + 150) * MIB,
                       bytes_per_token=147_456)  # fmt: skip
    assert int(budget.kv_bytes / MIB) == 12_119


def test_v36_the_test_and_the_taking_agree_about_windows() -> None:
    for blocks in (300, 500, 600):
        paged = _policy("paged", blocks * 16, 16_384, windows=(256 * 16,),
                        max_in_flight_tokens=8192)  # fmt: skip
        ask = Ask(0, 500 * 16, 1, known_tokens=500 * 16)
        fits = paged.fits(ask, 500 * 16)
        assert fits == (paged.place(ask, 500 * 16) is not None)
        assert fits == (blocks >= 500)


def test_v37_the_pool_is_the_minimum_over_ranks() -> None:
    assert common_blocks([100, 63]) == 63
    assert stranded_blocks([100, 63]) == 37


@pytest.mark.parametrize(("block", "tail"), [(1, 0.0), (8, 3.5), (16, 7.5), (7808, 3903.5)])
def test_v40_any_block_size_and_its_tail(block: int, tail: float) -> None:
    assert Server(max_model_len=8192, block_size=block).block_size == block
    group = Group("full", 1, block, 1)
    held = [blocks_per_request(group, tokens, 8192) * block for tokens in range(1, block + 1)]
    unwritten = [cells - tokens for tokens, cells in enumerate(held, start=1)]
    assert sum(unwritten) / block == tail
