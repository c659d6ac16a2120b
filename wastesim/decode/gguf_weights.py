"""From a GGUF file to the weights that the decode runs: shape, checks, dequantised matrices.

Q and K lie in GGML's order, in which the pairs that RoPE turns are neighbours; that is the order
the decode wants (see `model`), so nothing is permuted back.  A file without `output.weight` ties
the head to the embedding: the head is then a second copy, `[E, V]`, because a product with the
transposed view is slower.

Letters are those of `arrays`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from wastesim.decode.arrays import Floats
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.gguf_file import GgufFile, read_gguf
from wastesim.decode.weights import LayerWeights, Weights
from wastesim.errors import InputError
from wastesim.units import format_bytes

ARCHITECTURE = "llama"
#: Parts of a layer in a file, in the order they are read.
_LAYER = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate",
          "ffn_up", "ffn_down")  # fmt: skip
_WORKING_BYTES = 2**30  # logits, scores, the cache of a short run


def gguf_model(path: Path, name: str | None = None) -> DecodeModel:
    """The shape in a file; InputError when this decode cannot execute it."""
    return _shape(read_gguf(path), name or path.stem)


def load_gguf(model: DecodeModel) -> Weights:
    """All weights of a model that `gguf_model` gave."""
    assert model.source is not None
    file = read_gguf(Path(model.source))
    _refuse_oversized(file, model)
    embedding = file.read("token_embd.weight")  # [V, E]
    tied = "output.weight" not in file.tensors
    head = _turned(embedding if tied else file.read("output.weight"))
    layers = tuple(_layer(file, index) for index in range(model.layers))
    return Weights(model, embedding, layers, file.read("output_norm.weight"), head)


def _layer(file: GgufFile, index: int) -> LayerWeights:
    norm, q, k, v, out, ffn_norm, gate, up, down = (
        file.read(f"blk.{index}.{part}.weight") for part in _LAYER
    )  # matrices are [out, in]
    return LayerWeights(
        attention_norm=norm,
        qkv=_turned(np.concatenate([q, k, v])),
        out=_turned(out),
        ffn_norm=ffn_norm,
        gate_up=_turned(np.concatenate([gate, up])),
        down=_turned(down),
    )


def _turned(matrix: Floats) -> Floats:
    """``[out, in]`` as C-order ``[in, out]``."""
    return np.ascontiguousarray(matrix.T)


def _shape(file: GgufFile, name: str) -> DecodeModel:
    _refuse_other_architectures(file)
    width, heads = _field(file, "embedding_length"), _field(file, "attention.head_count")
    head_dim = int(file.fields.get("llama.attention.key_length", width // heads))
    vocab = file.tensors["token_embd.weight"].shape[0] if file.tensors else 0
    model = DecodeModel(
        name,
        layers=_field(file, "block_count"),
        width=width,
        q_heads=heads,
        kv_heads=int(file.fields.get("llama.attention.head_count_kv", heads)),
        head_dim=head_dim,
        ffn=_field(file, "feed_forward_length"),
        vocab=vocab,
        rope_base=float(file.fields.get("llama.rope.freq_base", 10_000.0)),
        rms_eps=float(file.fields.get("llama.attention.layer_norm_rms_epsilon", 1e-5)),
        context=_field(file, "context_length"),
        source=str(file.path),
    )
    _check_tensors(file, model)
    return model


def _refuse_other_architectures(file: GgufFile) -> None:
    found = file.fields.get("general.architecture")
    if found != ARCHITECTURE:
        raise InputError(
            f"{file.path}: its architecture is '{found}'; only '{ARCHITECTURE}' can be executed"
        )
    fields = file.fields
    unusual = {
        "is a mixture of experts": fields.get("llama.expert_count", 0),
        "scales RoPE": fields.get("llama.rope.scaling.type", "none") != "none",
        "turns a part of each head only": _partial_rope(file),
    }
    for what in (what for what, found in unusual.items() if found):
        raise InputError(f"{file.path}: {what}, which cannot be executed")
    if "token_embd.weight" not in file.tensors:
        raise InputError(f"{file.path}: has no tensor 'token_embd.weight'")


def _partial_rope(file: GgufFile) -> bool:
    turned = file.fields.get("llama.rope.dimension_count")
    whole = _field(file, "embedding_length") // _field(file, "attention.head_count")
    return turned is not None and turned != file.fields.get("llama.attention.key_length", whole)


def _field(file: GgufFile, name: str) -> int:
    value: Any = file.fields.get(f"{ARCHITECTURE}.{name}")
    if not isinstance(value, int) or value < 1:
        raise InputError(f"{file.path}: its field '{ARCHITECTURE}.{name}' is {value!r}")
    return value


def _check_tensors(file: GgufFile, model: DecodeModel) -> None:
    """Every tensor that is wanted, in its shape, and none besides."""
    wanted = _wanted(model)
    found = {name: tensor.shape for name, tensor in file.tensors.items()}
    for name, shape in wanted.items():
        if name not in found:
            raise InputError(f"{file.path}: has no tensor '{name}'")
        if found[name] != shape:
            raise InputError(f"{file.path}: tensor '{name}' is {found[name]}, not {shape}")
    extra = sorted(found.keys() - wanted.keys() - {"output.weight"})
    if extra:
        raise InputError(f"{file.path}: tensor '{extra[0]}' is of no use to this decode")


def _wanted(model: DecodeModel) -> dict[str, tuple[int, ...]]:
    width, attended = model.width, model.q_heads * model.head_dim
    kv_width = model.kv_heads * model.head_dim
    shapes: tuple[tuple[int, ...], ...] = (
        (width,), (attended, width), (kv_width, width), (kv_width, width), (width, attended),
        (width,), (model.ffn, width), (model.ffn, width), (width, model.ffn),
    )  # fmt: skip
    parts = dict(zip(_LAYER, shapes, strict=True))
    ends = {"token_embd.weight": (model.vocab, width), "output_norm.weight": (width,)}
    layers = range(model.layers)
    return ends | {f"blk.{i}.{part}.weight": shape for i in layers for part, shape in parts.items()}


def _refuse_oversized(file: GgufFile, model: DecodeModel) -> None:
    """InputError when the weights in float32 do not fit this machine's memory."""
    needed = 4 * model.weights + 4 * model.vocab * model.width + _WORKING_BYTES
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > present:
        raise InputError(
            f"{file.path}: needs about {format_bytes(needed)} in float32, this machine has"
            f" {format_bytes(present)}; take a smaller model"
        )
