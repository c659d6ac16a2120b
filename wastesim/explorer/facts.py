"""What the page's formulas need of the catalog: geometry, types and cards, no results."""

from __future__ import annotations

from typing import Any

from wastesim.catalog import find_gpu, find_model, gpu_names, model_names
from wastesim.catalog.layers import LIMITED, layer_fixed_bytes, layer_kinds
from wastesim.config.dtypes import FORMATS, dtype_format
from wastesim.config.hardware import KvLayers, ModelGeometry

#: Types of the cache that the page offers, with what to call them.
CACHE_DTYPES = {
    "float16": "16 bits (fp16, bf16)",
    "fp8": "8 bits (fp8)",
    "int8_head": "8 bits and a scale per head",
    "q8_0": "q8_0",
    "q8_0/q4_0": "K in q8_0, V in q4_0",
    "int4_g32_zp": "4 bits in groups of 32",
    "q4_0": "q4_0",
    "float32": "32 bits",
}


def catalog_tree() -> dict[str, Any]:
    """Models, types and cards, as the page reads them."""
    return {
        "models": [model_tree(find_model(name)) for name in model_names()],
        "formats": {name: list(dtype_format(name)) for name in _formats()},
        "dtypes": CACHE_DTYPES,
        "gpus": {name: find_gpu(name).memory_bytes for name in gpu_names()},
    }


def model_tree(model: ModelGeometry) -> dict[str, Any]:
    """One model; `weights` are stated bytes, null where they follow from `params`."""
    return {
        "name": model.name,
        "params": model.params,
        "weights": model.weights_bytes,
        "weights_dtype": model.weights_dtype,
        "longest": model.max_model_len,
        "kinds": [_kind_tree(kind) for kind in layer_kinds(model)],
    }


def _kind_tree(kind: KvLayers) -> dict[str, Any]:
    """Layers of one kind: heads and padded head dims, or the width of a latent."""
    keys = kind.head_dim or 1
    return {
        "kind": kind.kind,
        "layers": kind.layers,
        "heads": kind.kv_heads or 1,
        "k": _padded(keys, kind),
        "v": _padded(kind.v_head_dim or keys, kind),
        "latent": kind.latent_dim,
        "window": kind.window if kind.kind in LIMITED else None,
        "fixed": layer_fixed_bytes(kind) if kind.kind in ("cross", "state") else 0,
    }


def _padded(dim: int, kind: KvLayers) -> int:
    return -(-dim // kind.head_dim_multiple) * kind.head_dim_multiple


def _formats() -> list[str]:
    sides = {side for name in CACHE_DTYPES for side in name.split("/")}
    return sorted({*FORMATS, *sides})
