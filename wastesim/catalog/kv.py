"""Bytes of keys and values that one token takes, and the conventions behind the number.

Letters: `L` layers, `G` KV heads, `D` head dim of K, `V` head dim of V, `R` latent width.
"""

from __future__ import annotations

from wastesim.config.hardware import DTYPE_BYTES, ModelGeometry, canonical_dtype


def dtype_bytes(dtype: str) -> int:
    """Bytes per stored element: 4, 2 or 1; ValueError naming the valid types otherwise."""
    return DTYPE_BYTES[canonical_dtype(dtype)]


def kv_elements_per_layer(model: ModelGeometry) -> int:
    """Elements that one token adds to one layer: `G * (D + V)`, or the latent `R` once.

    K and V have `G` heads whether these are all query heads (MHA), some (GQA) or one (MQA).
    A latent (MLA) cache holds one vector for K and V together, not one for each.
    """
    if model.latent_dim is not None:
        return model.latent_dim
    return model.kv_heads * (model.head_dim + (model.v_head_dim or model.head_dim))


def kv_bytes_per_token(model: ModelGeometry, kv_cache_dtype: str = "auto") -> int:
    """Bytes of one token in all layers: `L * elements * bytes per element`.

    Window layers count like full ones, see `window_note`.  ValueError for an unknown type.
    """
    return model.layers * kv_elements_per_layer(model) * dtype_bytes(kv_cache_dtype)


def tensor_bytes_per_cell(model: ModelGeometry, kv_cache_dtype: str = "auto") -> int:
    """Bytes of one token in one layer's buffer of keys: `G * D * bytes`, or the latent's.

    Virtual-memory allocators (vAttention) map pages into one such buffer at a time.
    """
    elements = model.latent_dim or model.kv_heads * model.head_dim
    return elements * dtype_bytes(kv_cache_dtype)


def explain_kv(model: ModelGeometry, kv_cache_dtype: str = "auto") -> str:
    """`131,072 B per token = 32 layers x 8 KV heads x (128 + 128) x 2 B (float16)`."""
    dtype = canonical_dtype(kv_cache_dtype)
    parts = f"{model.kv_heads} KV heads x ({model.head_dim} + {model.v_head_dim or model.head_dim})"
    if model.latent_dim is not None:
        parts = f"one latent of {model.latent_dim}"
    product = f"{model.layers} layers x {parts} x {dtype_bytes(dtype)} B ({dtype})"
    return f"{kv_bytes_per_token(model, dtype):,} B per token = {product}"


def window_note(model: ModelGeometry) -> str | None:
    """What is said of window layers, None for models without them.

    A unified cache (vLLM's when its hybrid manager is off) keeps every token in every layer.
    """
    if model.window_layers == 0:
        return None
    return (
        f"{model.window_layers} of {model.layers} layers attend to the last {model.window:,} "
        "tokens only; every token is charged in them all the same, as in a unified cache"
    )


def kv_notes(model: ModelGeometry, kv_cache_dtype: str = "auto") -> tuple[str, ...]:
    """Everything a reader must know about the number: windows, latents, missing scales."""
    notes = [window_note(model)]
    if model.latent_dim is not None:
        notes.append("one latent per token and layer, stored once for K and V (MLA)")
    if canonical_dtype(kv_cache_dtype) == "int8":
        notes.append("int8 is the payload alone: its scales are not counted")
    return tuple(note for note in notes if note is not None)
