"""Bytes of keys and values of a whole model: so much per sequence, so much per token.

::

    bytes(t) = fixed + sum over kinds of  layers * bytes per token and layer * kept(t)

with kept(t) = t, or min(t, window) for window and chunked layers.  `layers` has what one layer
stores; here kinds are added up, on one tensor-parallel rank (`tp`).
"""

from __future__ import annotations

from wastesim.catalog.layers import (
    GROWING,
    LIMITED,
    STORING,
    layer_elements,
    layer_fixed_bytes,
    layer_kinds,
    layer_token_bytes,
    layer_tokens,
    replication,
)
from wastesim.catalog.stored import bytes_per_element, dtype_bytes, key_value_dtypes, stored_bytes
from wastesim.config.hardware import KvLayers, ModelGeometry, canonical_dtype

__all__ = [
    "dtype_bytes",
    "explain_kv",
    "fixed_bytes_per_request",
    "growing_bytes_per_token",
    "kv_bytes_per_request",
    "kv_bytes_per_token",
    "kv_notes",
    "tensor_bytes_per_cell",
    "window_note",
]


def kv_bytes_per_token(model: ModelGeometry, kv_cache_dtype: str = "auto", tp: int = 1) -> int:
    """Bytes of one token in all layers that store tokens, on one rank.

    Window layers count like full ones, see `window_note`: what a unified cache charges, and what
    the simulator's cells are.  ValueError for an unknown type.
    """
    return _sum_of_token_bytes(model, STORING, kv_cache_dtype, tp)


def growing_bytes_per_token(model: ModelGeometry, kv_cache_dtype: str = "auto", tp: int = 1) -> int:
    """Bytes that one more token adds once every window is full."""
    return _sum_of_token_bytes(model, GROWING, kv_cache_dtype, tp)


def fixed_bytes_per_request(model: ModelGeometry, kv_cache_dtype: str = "auto", tp: int = 1) -> int:
    """Bytes that a sequence takes however short it is: recurrent states, cross attention."""
    kinds = layer_kinds(model)
    return sum(kind.layers * layer_fixed_bytes(kind, kv_cache_dtype, tp) for kind in kinds)


def kv_bytes_per_request(
    model: ModelGeometry,
    tokens: int,
    kv_cache_dtype: str = "auto",
    tp: int = 1,
    *,
    capped: bool = True,
) -> int:
    """Bytes of a request of `tokens`: `fixed + sum layers * bytes * kept(tokens)`.

    `capped` keeps windows at their length, the least that attention needs; without it every
    layer keeps every token, as a unified cache or a buffer of `max_length` does.
    """
    kept = sum(
        kind.layers
        * layer_token_bytes(kind, kv_cache_dtype, tp)
        * layer_tokens(kind, tokens, capped=capped)
        for kind in layer_kinds(model)
    )
    return kept + fixed_bytes_per_request(model, kv_cache_dtype, tp)


def tensor_bytes_per_cell(model: ModelGeometry, kv_cache_dtype: str = "auto") -> int:
    """Bytes of one token in one layer's buffer of keys: `G * D * bytes`, or the latent's.

    Virtual-memory allocators (vAttention) map pages into one such buffer at a time; where layers
    differ, the widest one.
    """
    key_type = key_value_dtypes(kv_cache_dtype)[0]
    widths = [(layer_elements(kind)[0], kind.kv_heads or 1) for kind in layer_kinds(model)]
    return max(stored_bytes(key_type, elements, heads) for elements, heads in widths)


def explain_kv(model: ModelGeometry, kv_cache_dtype: str = "auto", tp: int = 1) -> str:
    """`131,072 B per token = 32 layers x 8 KV heads x (128 + 128) x 2 B (float16)`."""
    kinds = [kind for kind in layer_kinds(model) if kind.kind in STORING]
    products = [_product(kind, kv_cache_dtype, tp) for kind in _merged(kinds)]
    total = kv_bytes_per_token(model, kv_cache_dtype, tp)
    return f"{total:,} B per token = {' + '.join(products) or 'no layer stores tokens'}"


def window_note(model: ModelGeometry) -> str | None:
    """What is said of window layers, None for models without them.

    A unified cache (vLLM's when its hybrid manager is off) keeps every token in every layer.
    """
    limited = [kind for kind in layer_kinds(model) if kind.kind in LIMITED]
    if not limited:
        return None
    layers, spans = sum(kind.layers for kind in limited), {kind.window for kind in limited}
    window = " or ".join(f"{span:,}" for span in sorted(span or 0 for span in spans))
    return (
        f"{layers} of {model.layers} layers attend to the last {window} "
        "tokens only; every token is charged in them all the same, as in a unified cache"
    )


def kv_notes(model: ModelGeometry, kv_cache_dtype: str = "auto", tp: int = 1) -> tuple[str, ...]:
    """Everything a reader must know about the number: windows, latents, scales, copies."""
    notes = [window_note(model)]
    kinds = layer_kinds(model)
    if any(kind.kind == "latent" for kind in kinds):
        notes.append("one latent per token and layer, stored once for K and V (MLA)")
    if "int8" in key_value_dtypes(kv_cache_dtype) or "int4" in key_value_dtypes(kv_cache_dtype):
        name = canonical_dtype(kv_cache_dtype)
        notes.append(f"{name} is the payload alone: its scales are not counted")
    copies = max((replication(kind, tp) for kind in kinds if kind.kind in STORING), default=1.0)
    if copies > 1:
        notes.append(f"every token is stored {copies:g} times over the {tp} ranks")
    return tuple(note for note in notes if note is not None)


def _sum_of_token_bytes(model: ModelGeometry, kinds: tuple[str, ...], dtype: str, tp: int) -> int:
    return sum(
        kind.layers * layer_token_bytes(kind, dtype, tp)
        for kind in layer_kinds(model)
        if kind.kind in kinds
    )


def _merged(kinds: list[KvLayers]) -> list[KvLayers]:
    """Kinds that store the same per token are one term: windows do not change it."""
    terms: dict[KvLayers, int] = {}
    for kind in kinds:
        plain = kind.model_copy(update={"kind": "full", "window": None, "layers": 1})
        terms[plain] = terms.get(plain, 0) + kind.layers
    return [plain.model_copy(update={"layers": layers}) for plain, layers in terms.items()]


def _product(kind: KvLayers, dtype: str, tp: int) -> str:
    ranks = f" (of {kind.kv_heads} over {tp} ranks)" if tp > 1 else ""
    keys = layer_elements(kind, tp)[0]
    if kind.latent_dim is not None:
        parts = f"one latent of {kind.latent_dim}"
    else:
        heads = keys // max(1, _dims(kind)[0])
        parts = f"{heads} KV heads{ranks} x ({_dims(kind)[0]} + {_dims(kind)[1]})"
    each = " + ".join(_type_bytes(side) for side in dict.fromkeys(key_value_dtypes(dtype)))
    return f"{kind.layers} layers x {parts} x {each}"


def _dims(kind: KvLayers) -> tuple[int, int]:
    """Head dims as stored, padding included."""
    one = kind.model_copy(update={"kv_heads": 1})
    return layer_elements(one)


def _type_bytes(dtype: str) -> str:
    return f"{bytes_per_element(dtype):g} B ({dtype})"
