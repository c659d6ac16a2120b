"""Files of mixtures, latents, hybrids and older families, against what is known of the models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wastesim.catalog import find_model, kv_bytes_per_token, read_hf_config
from wastesim.catalog.kv import fixed_bytes_per_request, growing_bytes_per_token
from wastesim.catalog.layers import layer_kinds
from wastesim.config.hardware import ModelGeometry
from wastesim.errors import ConfigError
from wastesim.units import MIB

MIXTRAL = {
    "model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
    "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000,
    "max_position_embeddings": 32768, "sliding_window": None, "torch_dtype": "bfloat16",
}  # fmt: skip
QWEN3_MOE = {
    "model_type": "qwen3_moe", "num_hidden_layers": 48, "hidden_size": 2048,
    "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
    "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
    "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
    "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": False,
    "sliding_window": None, "use_sliding_window": False,
}  # fmt: skip
DEEPSEEK = {
    "model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168,
    "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432,
    "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1,
    "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "vocab_size": 129280, "max_position_embeddings": 163840,
    "quantization_config": {"quant_method": "fp8"},
}  # fmt: skip
GPT_OSS = {
    "model_type": "gpt_oss", "num_hidden_layers": 24, "hidden_size": 2880,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
    "intermediate_size": 2880, "num_local_experts": 32, "num_experts_per_tok": 4,
    "vocab_size": 201088, "max_position_embeddings": 131072, "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
}  # fmt: skip
LLAMA_4 = {
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text", "num_hidden_layers": 48, "hidden_size": 5120,
        "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 16,
        "num_experts_per_tok": 1, "attention_chunk_size": 8192, "vocab_size": 202048,
        "max_position_embeddings": 10485760, "interleave_moe_layer_step": 1,
        "no_rope_layers": [1, 1, 1, 0] * 12,
    },
}  # fmt: skip
#: 8 of 32 layers attend (head dim 256), 24 are recurrent.
QWEN_HYBRID = {
    "model_type": "qwen3_next", "num_hidden_layers": 32, "hidden_size": 4096,
    "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 256,
    "intermediate_size": 12288, "vocab_size": 248320, "max_position_embeddings": 262144,
    "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
}  # fmt: skip
GPT_2 = {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024,
         "vocab_size": 50257}  # fmt: skip
MAMBA = {
    "model_type": "nemotron_h", "num_hidden_layers": 8, "hidden_size": 64,
    "hybrid_override_pattern": "M-M*M-M-", "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 16, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 4096,
    "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 32, "n_groups": 2,
    "mamba_d_conv": 4,
}  # fmt: skip


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def model(content: dict[str, Any], **changes: Any) -> ModelGeometry:
        path = tmp_path / "config.json"
        kept = {key: value for key, value in (content | changes).items() if value is not None}
        path.write_text(json.dumps(kept))
        return read_hf_config(path)

    return model


@pytest.mark.parametrize(
    ("content", "name", "tolerance"),
    [
        (MIXTRAL, "mixtral-8x7b", 1e-3),
        (QWEN3_MOE, "qwen3-30b-a3b", 1e-3),
        (DEEPSEEK, "deepseek-v3", 5e-3),
        (GPT_OSS, "gpt-oss-20b", 1e-2),
        (LLAMA_4, "llama-4-scout-17b-16e", 3e-2),
        (GPT_2, "gpt-2", 1e-3),
    ],
)
def test_parameters_and_cache_are_those_of_the_catalog(
    content: dict[str, Any], name: str, tolerance: float, read: Any
) -> None:
    found, known = read(content), find_model(name)
    assert found.params == pytest.approx(known.params, rel=tolerance)
    assert kv_bytes_per_token(found) == kv_bytes_per_token(known)
    assert growing_bytes_per_token(found) == growing_bytes_per_token(known)


@pytest.mark.parametrize(
    ("content", "active"), [(MIXTRAL, 12.9e9), (QWEN3_MOE, 3.35e9), (DEEPSEEK, 37e9)]
)
def test_active_parameters(content: dict[str, Any], active: float, read: Any) -> None:
    assert read(content).active_params == pytest.approx(active, rel=0.02)


def test_a_multimodal_file_is_read_through_its_text_part(read: Any) -> None:
    kinds = {kind.kind: (kind.layers, kind.window) for kind in layer_kinds(read(LLAMA_4))}
    assert kinds == {"chunked": (36, 8192), "full": (12, None)}


def test_recurrent_layers_have_a_state_and_no_tokens(read: Any) -> None:
    """K 4,096 MiB at 262,144 cells; R 2.25 + S 48.00 MiB whatever the length."""
    model = read(QWEN_HYBRID)
    assert kv_bytes_per_token(model) * 262_144 == 2 * 4096 * MIB
    assert fixed_bytes_per_request(model) == 50.25 * MIB


def test_a_pattern_of_letters(read: Any) -> None:
    model = read(MAMBA)
    kinds = {kind.kind: kind.layers for kind in layer_kinds(model)}
    assert kinds == {"state": 4, "shared": 3, "full": 1}
    assert kv_bytes_per_token(model) == 2 * (16 + 16) * 2
    state = 8 * 16 * 32 + 3 * (8 * 16 + 2 * 2 * 32)
    assert fixed_bytes_per_request(model) == 4 * 4 * state


@pytest.mark.parametrize(
    ("content", "changes", "problem"),
    [
        (MIXTRAL, {"num_key_value_heads": None}, "'num_key_value_heads' is required"),
        (MIXTRAL, {"num_experts_per_tok": None}, "'num_experts_per_tok' is required"),
        (DEEPSEEK, {"qk_rope_head_dim": None}, "'qk_rope_head_dim' is required"),
        (DEEPSEEK, {"kv_lora_rank": "wide"}, "'kv_lora_rank' must be a whole number >= 0"),
        (GPT_OSS, {"layer_types": ["other"] * 24}, "the layers' kinds must be 24 of"),
        (GPT_2, {"n_layer": None}, "'num_hidden_layers' is required (or n_layer, n_layers"),
    ],
)
def test_a_missing_field_is_named(
    content: dict[str, Any], changes: dict[str, Any], problem: str, read: Any
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(content, **changes)
    assert problem in str(caught.value)
