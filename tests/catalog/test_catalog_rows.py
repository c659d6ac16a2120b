"""Every row of the data files: valid, with a source, and equal to the collected facts."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from wastesim.catalog import find_gpu, find_model, gpu_names, kv_bytes_per_token, model_names
from wastesim.catalog.names import lookup
from wastesim.catalog.tables import read_table
from wastesim.catalog.weights import weights_bytes, weights_read_bytes
from wastesim.config.hardware import Gpu, ModelGeometry
from wastesim.units import MIB

FACTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "facts"
OTHER_NAMES = {
    "GPT-2 (124M)": "gpt-2",
    "Command-R v01 (35B)": "command-r-v01",
    "Command-R+ (104B)": "command-r-plus",
    "A100-SXM4-40GB": "a100-sxm-40gb",
    "RTX-PRO-6000-Server": "rtx-pro-6000",
}


def facts(file: str) -> list[dict[str, str]]:
    path = FACTS / file
    if not path.exists():
        pytest.skip(f"the collected facts are not beside the repository ({file})")
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("name", model_names())
def test_a_model_row_is_valid_and_has_sources(name: str) -> None:
    model = find_model(name)
    assert model.name == name
    assert model.max_model_len is not None
    for fact in ("params: ", "vocab: ", "tied: "):
        assert fact in model.source
    assert 0 < weights_read_bytes(model) <= 2 * model.params
    assert ModelGeometry.model_validate(model.to_tree()) == model


@pytest.mark.parametrize("name", gpu_names())
def test_a_gpu_row_is_valid_and_has_sources(name: str) -> None:
    gpu = find_gpu(name)
    assert gpu.name == name
    assert "memory: driver: " in gpu.source
    assert gpu.memory_bytes % MIB == 0
    assert Gpu.model_validate(gpu.to_tree()) == gpu


def test_no_row_is_missing() -> None:
    assert (len(model_names()), len(gpu_names())) == (64, 13)


@pytest.mark.parametrize("file", ["models.csv", "gpus.csv"])
def test_every_name_and_alias_means_its_own_row_alone(file: str) -> None:
    rows = read_table(file)
    for row in rows:
        for name in (row.name, *row.aliases, row.name.replace("-", "", 1)):
            assert lookup(name, rows) is row


def test_models_equal_the_collected_facts() -> None:
    for row in facts("models.csv"):
        model = find_model(OTHER_NAMES.get(row["model"], row["model"]))
        assert kv_bytes_per_token(model, "float16") == int(row["kv_bytes_per_tok_fp16"]), row
        assert model.params / 1e9 == pytest.approx(float(row["params_B"]), rel=0.006), row
        assert model.window_layers == int(row["window_layers"]), row
        assert model.layers - model.window_layers == int(row["global_layers"]), row
        assert model.max_model_len == int(row["max_ctx"]), row


def test_gpus_equal_the_collected_facts() -> None:
    for row in facts("gpus.csv"):
        gpu = find_gpu(OTHER_NAMES.get(row["gpu"], row["gpu"]))
        assert gpu.bandwidth_bytes_per_s == float(row["mem_bw_GBps"]) * 1e9, row
        assert gpu.flops_per_s == float(row["fp16_bf16_dense_TFLOPS"]) * 1e12, row
        assert gpu.memory_bytes == pytest.approx(float(row["mem_GB_marketing"]) * 2**30, rel=0.08)


@pytest.mark.parametrize(
    ("name", "mib"),
    [
        ("h100-sxm-80gb", 81_559),
        ("a100-sxm-80gb", 81_920),
        ("a100-sxm-40gb", 40_960),
        ("l40s-48gb", 46_068),
        ("l4-24gb", 23_034),
    ],
)
def test_memory_is_what_the_driver_reports(name: str, mib: int) -> None:
    assert find_gpu(name).memory_bytes == mib * MIB


def test_weights_published_in_eight_bits_are_counted_so() -> None:
    assert weights_bytes(find_model("deepseek-v3")) == 671 * 10**9


def test_an_h100_in_bytes() -> None:
    assert find_gpu("h100-sxm-80gb").memory_bytes == 85_520_809_984
