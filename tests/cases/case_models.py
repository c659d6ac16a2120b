"""Geometries of practitioners' models, from the few numbers that a case states."""

from __future__ import annotations

from typing import Any

from wastesim.catalog.engines import ENGINES, Engine
from wastesim.catalog.fit import Load
from wastesim.config.hardware import ModelGeometry

VLLM: Engine = ENGINES["vllm"]


def geometry(layers: int, kv_heads: int, head_dim: int, **more: Any) -> ModelGeometry:
    """A model of which only the cache matters."""
    base = {"layers": layers, "hidden": kv_heads * head_dim, "q_heads": kv_heads,
            "kv_heads": kv_heads, "head_dim": head_dim, "params": 1}  # fmt: skip
    return ModelGeometry.model_validate(base | more)


def load(model: ModelGeometry, max_model_len: int, dtype: str = "auto", tp: int = 1) -> Load:
    return Load(model, max_model_len, dtype, tp)


#: 32 layers, 32 heads of 128: any 7B of the first generation, 524,288 B per token.
MHA_7B = geometry(32, 32, 128)
