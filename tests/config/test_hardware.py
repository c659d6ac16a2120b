"""Inline geometry and GPUs: units, both names of a key, and messages that say what to write."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from wastesim.config.hardware import Gpu, ModelGeometry, canonical_dtype

GPU = {"memory": "80 GiB", "bandwidth": "3.3 TB/s", "flops": "1000 TFLOP/s"}
MODEL = {"layers": 32, "hidden": 4096, "q_heads": 32, "kv_heads": 8, "head_dim": 128}
COUNTED = MODEL | {"params": 8.03e9}


def problems(kind: type[Gpu | ModelGeometry], tree: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(tree)
    errors = caught.value.errors(include_url=False)
    return {str(item["loc"][0]): item["msg"].removeprefix("Value error, ") for item in errors}


def test_short_keys_carry_units() -> None:
    gpu = Gpu.model_validate(GPU)
    assert gpu.memory_bytes == 80 * 2**30
    assert gpu.bandwidth_bytes_per_s == 3.3e12
    assert gpu.flops_per_s == 1e15
    assert gpu.fp8_flops_per_s is None


def test_long_names_carry_their_unit_and_take_numbers() -> None:
    numbers = {"memory_bytes": 80 * 2**30, "bandwidth_bytes_per_s": 3.3e12, "flops_per_s": 10**15}
    assert Gpu.model_validate(numbers) == Gpu.model_validate(GPU)
    assert Gpu.model_validate(GPU | {"fp8_flops": "2 PFLOP/s"}).fp8_flops_per_s == 2e15


@pytest.mark.parametrize("key", ["memory", "bandwidth", "flops"])
def test_a_bare_number_is_unclear(key: str) -> None:
    assert "must carry a unit, such as" in problems(Gpu, GPU | {key: 80})[key]


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("memory", "80 G", "'G' alone is unclear"),
        ("memory", "80 gib", "did you mean 'GiB'?"),
        ("bandwidth", "3.3 TB", "one of the units"),
        ("flops", "fast", "must be a number and a unit"),
        ("memory", "0 B", "greater than 0"),
    ],
)
def test_unclear_quantities_say_what_to_write(key: str, text: str, expected: str) -> None:
    assert expected in problems(Gpu, GPU | {key: text})[key]


def test_unknown_keys_are_refused() -> None:
    assert "extra" in problems(Gpu, GPU | {"extra": 1})
    assert "heads" in problems(ModelGeometry, COUNTED | {"heads": 1})


@pytest.mark.parametrize("tree", [GPU, GPU | {"fp8_flops": "2 PFLOP/s", "name": "mine"}])
def test_a_gpu_reads_back(tree: dict[str, Any]) -> None:
    gpu = Gpu.model_validate(tree)
    assert Gpu.model_validate(gpu.model_dump()) == gpu
    assert Gpu.model_validate(gpu.to_tree()) == gpu
    assert Gpu.model_validate_json(gpu.model_dump_json()) == gpu


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"weights": "16 GB", "max_model_len": "8Ki", "v_head_dim": 64},
        {"window_layers": 4, "window": 128, "tied_embeddings": False, "vocab": 50257},
        {"latent_dim": 576, "latent_rope_dim": 64, "weights_dtype": "bf16"},
    ],
)
def test_a_geometry_reads_back(more: dict[str, Any]) -> None:
    model = ModelGeometry.model_validate(COUNTED | more)
    assert ModelGeometry.model_validate(model.model_dump()) == model
    assert ModelGeometry.model_validate(model.to_tree()) == model
    assert ModelGeometry.model_validate_json(model.model_dump_json()) == model


def test_geometry_takes_whole_floats_units_and_other_names() -> None:
    tree = {"hidden_size": 64} | {key: value for key, value in COUNTED.items() if key != "hidden"}
    model = ModelGeometry.model_validate(tree | {"weights_bytes": 5, "weights_dtype": "half"})
    assert (model.hidden, model.params, model.weights_bytes) == (64, 8_030_000_000, 5)
    assert model.weights_dtype == "float16"


@pytest.mark.parametrize(
    ("more", "key", "expected"),
    [
        ({"kv_heads": 5}, "kv_heads", "must divide q_heads, which is 32"),
        ({"kv_heads": 64}, "kv_heads", "must divide q_heads, which is 32"),
        ({"kv_heads": 0}, "kv_heads", "greater than or equal to 1"),
        ({"window_layers": 33, "window": 8}, "window_layers", "must be <= layers, which is 32"),
        ({"window_layers": 4}, "window", "must be a number of tokens, because window_layers is 4"),
        ({"window": 8}, "window", "must be left out, because window_layers is 0"),
        ({"active_params": 9e9}, "active_params", "must be <= params, which is 8,030,000,000"),
        ({"latent_rope_dim": 4}, "latent_rope_dim", "must be left out"),
        ({"latent_dim": 4, "latent_rope_dim": 5}, "latent_rope_dim", "must be <= latent_dim"),
        ({"weights": 16}, "weights", "must carry a unit"),
        ({"weights_dtype": "q4_0"}, "weights_dtype", "must be one of float32, float16"),
        ({"params": 8.5}, "params", "valid integer"),
        ({"layers": "32"}, "layers", "valid integer"),
        ({"layers": True}, "layers", "valid integer"),
    ],
)
def test_geometry_that_makes_no_sense(more: dict[str, Any], key: str, expected: str) -> None:
    assert expected in problems(ModelGeometry, COUNTED | more)[key]


def test_what_memory_depends_on_is_required() -> None:
    assert set(problems(ModelGeometry, {})) == {*COUNTED}


def test_head_dim_is_never_guessed() -> None:
    tree = {key: value for key, value in COUNTED.items() if key != "head_dim"}
    assert problems(ModelGeometry, tree) == {"head_dim": "Field required"}


def test_objects_are_frozen_and_pass_through() -> None:
    gpu = Gpu.model_validate(GPU)
    assert Gpu.model_validate(gpu) is gpu
    with pytest.raises(ValidationError):
        gpu.name = "other"  # type: ignore[misc]


def test_auto_is_sixteen_bits() -> None:
    assert canonical_dtype("auto") == "float16"
    with pytest.raises(ValueError, match="must be one of"):
        canonical_dtype("int3")
