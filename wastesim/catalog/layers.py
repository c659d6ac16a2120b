"""What each kind of layer stores, on each rank: the geometry of a cache, once.

Letters: `G` KV heads, `D` and `V` head dims of K and V, `R` latent width, `tp` tensor-parallel
ranks.  One token takes in one layer, on one rank::

    ceil(G / tp) * (pad(D) + pad(V))   full, window, chunked, cross
    R                                  latent (MLA): once for K and V, and on every rank
    0                                  state (fixed bytes per sequence) and shared

Heads that do not divide go round: a rank has `ceil(G / tp)` of them, so 8 KV heads on 16 ranks
are stored twice over.
"""

from __future__ import annotations

from wastesim.catalog.stored import key_value_dtypes, stored_bytes
from wastesim.config.hardware import KvLayers, ModelGeometry

#: Kinds that keep tokens of the request itself.
STORING = ("full", "window", "chunked", "latent")
#: Kinds whose cache grows with every token for ever.
GROWING = ("full", "latent")
LIMITED = ("window", "chunked")


def layer_kinds(model: ModelGeometry) -> tuple[KvLayers, ...]:
    """The model's layers kind by kind, every head filled in; window layers come first."""
    if model.kv_layers:
        return tuple(_filled(kind, model) for kind in model.kv_layers)
    return tuple(kind for kind in _flat(model) if kind is not None)


def heads_per_rank(heads: int, tp: int = 1) -> int:
    """`ceil(heads / tp)`: at least one, and the fullest rank's share when they do not divide."""
    return -(-heads // tp)


def replication(kind: KvLayers, tp: int = 1) -> float:
    """Copies of each token over all ranks: 1 when heads divide, `tp` for a latent."""
    if kind.kind == "latent":
        return float(tp)
    heads = kind.kv_heads or 1
    return heads_per_rank(heads, tp) * tp / heads


def layer_elements(kind: KvLayers, tp: int = 1) -> tuple[int, int]:
    """Elements of K and of V that one token adds to one layer on one rank."""
    if kind.kind in ("state", "shared"):
        return 0, 0
    if kind.latent_dim is not None:
        return kind.latent_dim, 0
    heads, keys = heads_per_rank(kind.kv_heads or 1, tp), kind.head_dim or 1
    return heads * _padded(keys, kind), heads * _padded(kind.v_head_dim or keys, kind)


def layer_token_bytes(kind: KvLayers, dtype: str = "auto", tp: int = 1) -> int:
    """Bytes of one token in one layer on one rank, K and V in their own types."""
    keys, values = layer_elements(kind, tp)
    key_type, value_type = key_value_dtypes(dtype)
    vectors = heads_per_rank(kind.kv_heads or 1, tp) if kind.latent_dim is None else 1
    return stored_bytes(key_type, keys, vectors) + stored_bytes(value_type, values, vectors)


def layer_fixed_bytes(kind: KvLayers, dtype: str = "auto", tp: int = 1) -> int:
    """Bytes per sequence in one layer, however long it is: states, and tokens of other inputs."""
    if kind.kind == "cross":
        return (kind.window or 0) * layer_token_bytes(kind, dtype, tp)
    return -(-(kind.state_bytes or 0) // tp)


def layer_tokens(kind: KvLayers, tokens: int, *, capped: bool = True) -> int:
    """Tokens that a layer of this kind keeps of a request of `tokens`.

    `capped` is what attention needs: a window keeps its newest `window` tokens at most.  Without
    it every storing layer keeps all, as a unified cache does.
    """
    if kind.kind not in STORING:
        return 0
    limit = kind.window if capped and kind.kind in LIMITED else None
    return tokens if limit is None else min(tokens, limit)


def _flat(model: ModelGeometry) -> tuple[KvLayers | None, ...]:
    """The kinds that the flat fields describe."""
    limited, full = model.window_layers, model.layers - model.window_layers
    other = "latent" if model.latent_dim is not None else "full"
    fields = {"layers": full, "kind": other, "latent_dim": model.latent_dim}
    window = {"layers": limited, "kind": model.window_kind, "window": model.window}
    return (
        _filled(KvLayers.model_validate(window), model) if limited else None,
        _filled(KvLayers.model_validate(fields), model) if full else None,
    )


def _filled(kind: KvLayers, model: ModelGeometry) -> KvLayers:
    values = kind.v_head_dim or (model.v_head_dim if kind.head_dim is None else None)
    return kind.model_copy(
        update={
            "kv_heads": kind.kv_heads or model.kv_heads,
            "head_dim": kind.head_dim or model.head_dim,
            "v_head_dim": values or kind.head_dim or model.head_dim,
        }
    )


def _padded(dim: int, kind: KvLayers) -> int:
    return -(-dim // kind.head_dim_multiple) * kind.head_dim_multiple
