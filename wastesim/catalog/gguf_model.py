"""A GGUF file as a model: `model: path/to/model.gguf`.

Geometry comes from the metadata under the file's own architecture (`llama.block_count`, ...),
weights from the tensors themselves: their exact bytes, whatever mixture of types they have.
Per-layer lists (`head_count_kv`, window patterns) are followed layer by layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wastesim.catalog.gguf_header import Header, read_header
from wastesim.config.hardware import KvLayers, ModelGeometry
from wastesim.errors import ConfigError, InputError, Problem

ENDING = ".gguf"
_FLOAT32 = 4
#: Every n-th layer sees everything where the file has a window and no pattern.
_PERIODS = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "cohere2": 4, "llama4": 4}


def is_gguf(model: str) -> bool:
    """Whether a model's name is the path of such a file."""
    return model.lower().endswith(ENDING)


def read_gguf(path: Path) -> ModelGeometry:
    """The geometry of a GGUF file; ConfigError naming every key that is missing or wrong."""
    try:
        header = read_header(path)
    except InputError as error:
        raise ConfigError(str(error)) from None
    keys = _Keys(header.metadata)
    model = _geometry(keys, header)
    if keys.problems:
        raise ConfigError([Problem(str(path), text) for text in keys.problems])
    source = {"source": f"GGUF header of a {keys.architecture} model"}
    return ModelGeometry.model_validate({"name": path.stem, **model, **source})


class _Keys:
    """Reads `ARCHITECTURE.key`, and remembers what is wrong."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.metadata = metadata
        self.architecture = str(metadata.get("general.architecture", ""))
        self.problems: list[str] = []
        if not self.architecture:
            self.problems.append("'general.architecture' is required")

    def get(self, key: str) -> Any:
        """The value, or None."""
        return self.metadata.get(f"{self.architecture}.{key}")

    def count(self, key: str, otherwise: int | None = None) -> int:
        """A whole number >= 1; a problem when it is missing and nothing stands in for it."""
        value = self.get(key)
        value = otherwise if value is None else value
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        name = f"'{self.architecture}.{key}'"
        what = "is required" if value is None else f"must be a whole number >= 1 (got {value!r})"
        if self.architecture:
            self.problems.append(f"{name} {what}")
        return 1

    def per_layer(self, key: str, layers: int, otherwise: int) -> list[int]:
        """A number per layer, from a list or from one number for all."""
        value = self.get(key)
        if isinstance(value, list) and len(value) == layers:
            return [int(item) for item in value]
        return [otherwise if value is None or isinstance(value, list) else int(value)] * layers


def _geometry(keys: _Keys, header: Header) -> dict[str, Any]:
    layers, hidden = keys.count("block_count"), keys.count("embedding_length")
    heads = max(keys.per_layer("attention.head_count", layers, 0) or [0])
    q_heads = heads or keys.count("attention.head_count")
    names = {tensor.name for tensor in header.tensors}
    model: dict[str, Any] = {
        "layers": layers,
        "hidden": hidden,
        "q_heads": q_heads,
        "head_dim": keys.count("attention.key_length", hidden // q_heads or 1),
        "v_head_dim": keys.count("attention.value_length", hidden // q_heads or 1),
        "max_model_len": keys.count("context_length"),
        "vocab": _vocab(keys, header),
        "tied_embeddings": "output.weight" not in names if names else None,
        "params": sum(tensor.elements for tensor in header.tensors) or 1,
        "weights_bytes": sum(tensor.bytes for tensor in header.tensors) or None,
    }
    ffn = keys.per_layer("feed_forward_length", layers, 0)
    return model | {"ffn": max(ffn) or None} | _cache(keys, layers, q_heads)


def _vocab(keys: _Keys, header: Header) -> int | None:
    size = keys.get("vocab_size")
    if isinstance(size, int) and size:
        return size
    table = next((t for t in header.tensors if t.name == "token_embd.weight"), None)
    return table.shape[-1] if table and len(table.shape) == 2 else None


def _cache(keys: _Keys, layers: int, q_heads: int) -> dict[str, Any]:
    """KV heads, latents, windows and states."""
    own = keys.per_layer("attention.head_count_kv", layers, q_heads)
    own = own if keys.get("full_attention_interval") is None else _interval(keys, own)
    rank = keys.get("attention.kv_lora_rank")
    heads = {"kv_heads": max(own) or 1}
    if isinstance(rank, int) and rank:
        rope = keys.count("rope.dimension_count")
        return {"kv_heads": q_heads, "latent_dim": rank + rope, "latent_rope_dim": rope}
    window = keys.get("attention.sliding_window")
    limited = _windows(keys, layers) if isinstance(window, int) and window else [False] * layers
    found: dict[tuple[int, bool], int] = {}
    for kind in zip(own, limited, strict=True):
        found[kind] = found.get(kind, 0) + 1
    if len(found) == 1 and not limited[0] and own[0]:
        return heads
    return heads | {"kv_layers": tuple(_kind(keys, *kind, n) for kind, n in found.items())}


def _interval(keys: _Keys, own: list[int]) -> list[int]:
    """Every n-th layer attends, the others are recurrent (0 KV heads)."""
    period = keys.count("full_attention_interval")
    return [heads if (layer + 1) % period == 0 else 0 for layer, heads in enumerate(own)]


def _windows(keys: _Keys, layers: int) -> list[bool]:
    pattern = keys.get("attention.sliding_window_pattern")
    if isinstance(pattern, list) and pattern:
        return [bool(pattern[layer % len(pattern)]) for layer in range(layers)]
    usual = _PERIODS.get(keys.architecture, 0)
    period = pattern if isinstance(pattern, int) and pattern > 1 else usual
    return [not period or (layer + 1) % period != 0 for layer in range(layers)]


def _kind(keys: _Keys, heads: int, limited: bool, layers: int) -> KvLayers:
    if not heads:
        return KvLayers(kind="state", layers=layers, state_bytes=_state_bytes(keys))
    if not limited:
        return KvLayers(kind="full", layers=layers, kv_heads=heads)
    chunked = keys.architecture == "llama4"
    window = keys.count("attention.sliding_window")
    return KvLayers(
        kind="chunked" if chunked else "window", layers=layers, kv_heads=heads, window=window
    )


def _state_bytes(keys: _Keys) -> int:
    """`I S + (K - 1)(I + 2 C S)` float32 numbers: inner width, state, kernel, groups of `ssm.*`."""
    inner, size = keys.count("ssm.inner_size"), keys.count("ssm.state_size")
    kernel, groups = keys.count("ssm.conv_kernel"), keys.count("ssm.group_count", 1)
    return _FLOAT32 * (inner * size + (kernel - 1) * (inner + 2 * groups * size))
