"""KV bytes, weights and FLOP, against cases of practitioners and by hand."""

from __future__ import annotations

from typing import Any

import pytest

from wastesim.catalog import find_model, kv_bytes_per_token
from wastesim.catalog.kv import dtype_bytes, explain_kv, kv_notes, window_note
from wastesim.catalog.weights import (
    attention_flop,
    flop_per_token,
    table_params,
    weights_bytes,
    weights_notes,
    weights_read_bytes,
)
from wastesim.config.hardware import ModelGeometry
from wastesim.units import GIB, MIB


def geometry(**changes: Any) -> ModelGeometry:
    base = {"layers": 2, "hidden": 8, "q_heads": 4, "kv_heads": 2, "head_dim": 3, "params": 1000}
    return ModelGeometry.model_validate(base | changes)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("auto", 2),
        ("fp16", 2),
        ("BF16", 2),
        ("float32", 4),
        ("fp8", 1),
        ("fp8_e4m3", 1),
        ("int8", 1),
    ],
)
def test_bytes_per_element(dtype: str, size: int) -> None:
    assert dtype_bytes(dtype) == size


def test_an_unknown_dtype_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="must be one of float32, float16, bfloat16, fp8, int8"):
        dtype_bytes("q3_0")
    with pytest.raises(ValueError, match="whole bytes per element"):
        dtype_bytes("q4_0")


def test_head_dim_is_not_hidden_over_heads() -> None:
    """Qwen3-4B: 147,456 B, not the 92,160 B of hidden / heads."""
    model = find_model("qwen3-4b")
    assert model.hidden // model.q_heads == 80
    assert kv_bytes_per_token(model, "fp16") == 147_456


def test_a_latent_is_stored_once() -> None:
    """DeepSeek-V3, 32,768 cells at f16: 244 + 1,952 = 2,196 MiB, not twice the latent."""
    model = find_model("deepseek-v3")
    assert kv_bytes_per_token(model, "fp16") == 61 * (512 + 64) * 2 == 70_272
    assert kv_bytes_per_token(model, "fp16") * 32_768 == 2_196 * MIB
    assert kv_bytes_per_token(find_model("deepseek-v2"), "fp16") == 69_120


def test_window_layers_are_charged_for_every_token() -> None:
    """gpt-oss-120b on 5.38 GiB: all layers charged, as vLLM's 78,384 tokens show."""
    model = find_model("gpt-oss-120b")
    per_token = kv_bytes_per_token(model, "bf16")
    assert per_token == 73_728
    assert int(5.38 * GIB / (per_token * 16)) * 16 == 78_336
    note = window_note(model)
    assert note is not None
    assert "18 of 36 layers attend to the last 128 tokens" in note


def test_the_cache_dtype_is_not_that_of_the_weights() -> None:
    """Llama-3.1-70B in 8 bits keeps 327,680 B per token."""
    model = find_model("llama-3.1-70b").model_copy(update={"weights_dtype": "int8"})
    assert weights_bytes(model) == model.params
    assert kv_bytes_per_token(model, "auto") == 327_680


def test_keys_and_values_may_differ_in_width() -> None:
    assert kv_bytes_per_token(geometry(v_head_dim=5), "float32") == 2 * 2 * (3 + 5) * 4


def test_the_product_is_spelled_out() -> None:
    assert explain_kv(find_model("llama-3-8b"), "auto") == (
        "131,072 B per token = 32 layers x 8 KV heads x (128 + 128) x 2 B (float16)"
    )
    assert "61 layers x one latent of 576 x 1 B (fp8)" in explain_kv(find_model("kimi-k2"), "fp8")


def test_notes_say_what_is_left_out() -> None:
    assert kv_notes(find_model("llama-3-8b")) == ()
    assert "scales are not counted" in kv_notes(find_model("llama-3-8b"), "int8")[0]
    assert "stored once" in kv_notes(find_model("deepseek-v2"))[0]


def test_weights_of_llama_3_in_both_units() -> None:
    """fp16, 8B: 16.06 GB / 14.96 GiB."""
    held = weights_bytes(find_model("llama-3-8b"))
    assert (round(held / 1e9, 2), round(held / GIB, 2)) == (16.06, 14.96)


def test_the_input_table_is_not_read_unless_it_is_tied() -> None:
    untied = geometry(vocab=10, tied_embeddings=False)
    assert table_params(untied) == 80
    assert (weights_bytes(untied), weights_read_bytes(untied)) == (2000, 1840)
    assert flop_per_token(untied) == 2 * 920
    tied = geometry(vocab=10, tied_embeddings=True)
    assert weights_read_bytes(tied) == weights_bytes(tied) == 2000
    assert flop_per_token(tied) == 2000


@pytest.mark.parametrize("known", [{}, {"vocab": 10}, {"tied_embeddings": False}])
def test_an_unconfirmed_table_is_kept_and_said_so(known: dict[str, Any]) -> None:
    model = geometry(**known)
    assert weights_read_bytes(model) == weights_bytes(model)
    assert "is not known" in weights_notes(model)[0]


def test_stated_weights_win_over_the_count() -> None:
    model = geometry(weights="500 B", vocab=10, tied_embeddings=False)
    assert weights_bytes(model) == 500
    assert weights_read_bytes(model) == 500 - 500 * 80 // 1000


def test_only_active_experts_multiply_and_all_are_read() -> None:
    model = geometry(active_params=400, vocab=10, tied_embeddings=True)
    assert flop_per_token(model) == 800
    assert weights_read_bytes(model) == 2000
    assert weights_notes(model) == (
        "every expert is counted as read in every step: an upper bound",
    )


def test_attention_flop_is_linear_in_the_context() -> None:
    model = geometry()
    assert attention_flop(model, 1) == 2 * 2 * 4 * (3 + 3)
    assert attention_flop(model, 100) == 100 * attention_flop(model, 1)


def test_attention_in_the_latent_space() -> None:
    model = geometry(latent_dim=6, latent_rope_dim=2)
    assert attention_flop(model, 10) == 10 * 2 * 2 * 4 * (6 + 4)
