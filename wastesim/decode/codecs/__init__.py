"""Cache dtypes: how one vector of K or V is stored.

Implemented once, over rows: the arena's cells and the quality study both use these.
"""

from __future__ import annotations

import numpy as np

from wastesim.config.decode import GROUP_SIZE, GROUPED, CacheFormat
from wastesim.decode.codecs.floats import IntegerFloat, NativeFloat
from wastesim.decode.codecs.integers import Int4Asymmetric, Int4Block, Int4Symmetric, Int8
from wastesim.decode.codecs.narrow import BFLOAT16, FP8_E4M3
from wastesim.decode.codecs.protocol import Codec
from wastesim.decode.codecs.rotation import Rotated
from wastesim.errors import ConfigError

__all__ = ["Codec", "codec_for", "row_bytes", "stored_bytes"]

_BLOCK = 32  # of GGML


def codec_for(how: CacheFormat, dim: int) -> Codec:
    """The codec of vectors of `dim` numbers; ConfigError when they cannot be stored so."""
    inner = _inner(how, dim)
    if not how.hadamard:
        return inner
    if dim & (dim - 1):
        raise ConfigError(f"'hadamard' needs a head_dim that is a power of two (got {dim})")
    return Rotated(dim, inner)


def row_bytes(how: CacheFormat, dim: int) -> int:
    """Bytes of one vector, scales and zero points included, the newest tokens apart."""
    return codec_for(how, dim).row_bytes


def stored_bytes(how: CacheFormat, dim: int, tokens: int, halves: str = "both") -> int:
    """Bytes of one head's K and V of `tokens` tokens, each stored once: the newest in float32.

    `halves` is what the format applies to; the other half is float32 throughout.
    """
    values = how.recent_tokens if how.recent_of == "both" else 0
    newest = {"keys": how.recent_tokens, "values": values}
    applies = newest if halves == "both" else (halves,)
    plain = (2 - len(applies)) * 4 * dim * tokens
    return plain + sum(_half_bytes(how, dim, tokens, newest[half]) for half in applies)


def _half_bytes(how: CacheFormat, dim: int, tokens: int, newest: int) -> int:
    exact = min(tokens, newest)
    return (tokens - exact) * row_bytes(how, dim) + exact * 4 * dim


def _inner(how: CacheFormat, dim: int) -> Codec:
    if how.dtype in ("float32", "float16"):
        return NativeFloat(dim, np.float32 if how.dtype == "float32" else np.float16)
    if how.dtype in ("bfloat16", "fp8_e4m3"):
        return IntegerFloat(dim, BFLOAT16 if how.dtype == "bfloat16" else FP8_E4M3)
    if how.dtype == "int8":
        return Int8(dim, dim)
    return _grouped(how, dim)


def _grouped(how: CacheFormat, dim: int) -> Codec:
    usual = min(GROUP_SIZE, dim) if how.dtype in GROUPED else _BLOCK
    group = how.group_size or usual
    if dim % group:
        raise ConfigError(
            f"'kv_cache_dtype' {how.dtype} needs a head_dim that is a multiple of its groups of"
            f" {group} (the model's is {dim})"
        )
    if how.dtype == "q8_0":
        return Int8(dim, group, ggml=True)
    if how.dtype == "q4_0":
        return Int4Block(dim, group)
    return (Int4Symmetric if how.dtype == "int4_sym" else Int4Asymmetric)(dim, group)
