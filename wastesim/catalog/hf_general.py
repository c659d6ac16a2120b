"""A `config.json` of any other decoder: mixtures of experts, latents, hybrids, older names.

What the cache stores is read, not guessed: KV heads must be stated unless the family is known to
give every query head its own.  Parameters are computed (`hf_params`), and the note says so.
"""

from __future__ import annotations

from typing import Any

from wastesim.catalog.hf_fields import NAMES, Fields
from wastesim.catalog.hf_layers import kinds_of, state_bytes, window_of
from wastesim.catalog.hf_params import count_params, is_tied
from wastesim.config.hardware import KvLayers

#: Families in which every query head has its own keys and values.
_OWN_HEADS = (
    "gpt2", "opt", "gpt_neox", "gptj", "bloom", "mpt", "phi", "gpt_neo", "codegen", "stablelm",
    "cohere", "baichuan", "xglm",
)  # fmt: skip


def read_general(fields: Fields, kind: str) -> dict[str, Any]:
    """Values of a `ModelGeometry`; problems are left in `fields`."""
    shape = _shape(fields, kind)
    rank = fields.optional("kv_lora_rank")
    found = kinds_of(fields, shape["layers"])
    tied = is_tied(fields, kind)
    params = count_params(fields, kind, shape, tied)
    model: dict[str, Any] = dict(shape)
    model |= {"tied_embeddings": tied, "params": params.total, "active_params": params.active}
    if rank is not None:
        rope = fields.count("qk_rope_head_dim")
        values = fields.number("v_head_dim", shape["head_dim"])
        model |= {"latent_dim": rank + rope, "latent_rope_dim": rope, "v_head_dim": values}
        fields.granted.append(f"one latent of {rank} + {rope} per token and layer")
    elif set(found) != {"full"}:
        model["kv_layers"] = _listed(fields, found)
    return model


def _shape(fields: Fields, kind: str) -> dict[str, int]:
    names = ("layers", "hidden", "q_heads", "vocab", "max_model_len")
    shape = {name: fields.count(name) for name in names}
    shape["ffn"] = _ffn(fields, shape["hidden"])
    shape["kv_heads"] = _kv_heads(fields, kind, shape["q_heads"])
    shape["head_dim"] = _head_dim(fields, shape["hidden"], shape["q_heads"])
    return shape


def _ffn(fields: Fields, hidden: int) -> int:
    value = fields.optional("ffn") or fields.optional("expert_ffn")
    if value is None:
        fields.granted.append(f"no {NAMES['ffn'][0]}: 4 x hidden size")
    return value or 4 * hidden


def _kv_heads(fields: Fields, kind: str, q_heads: int) -> int:
    if kind == "falcon" and not fields.flag("new_decoder_architecture"):
        return 1 if fields.flag("multi_query", True) else q_heads
    if kind == "gpt_bigcode" and fields.flag("multi_query", True):
        return 1
    value = fields.optional("kv_heads")
    if value is None and (kind in _OWN_HEADS or fields.optional("kv_lora_rank") is not None):
        fields.granted.append("no num_key_value_heads: every query head has its own")
        return q_heads
    value = fields.count("kv_heads") if value is None else value
    if value and q_heads % value and not fields.problems:
        fields.problems.append(
            f"'num_key_value_heads' must divide num_attention_heads, which is {q_heads}"
            f" (got {value})"
        )
    return value or 1


def _head_dim(fields: Fields, hidden: int, q_heads: int) -> int:
    value = fields.optional("head_dim") or fields.optional("qk_nope_head_dim")
    if value is not None:
        return value
    if hidden % q_heads and not fields.problems:
        fields.problems.append(
            f"'head_dim' is required: hidden_size {hidden} is no multiple of"
            f" num_attention_heads {q_heads}"
        )
    fields.granted.append("no head_dim: hidden_size / num_attention_heads")
    return hidden // q_heads or 1


def _listed(fields: Fields, found: dict[str, int]) -> tuple[KvLayers, ...]:
    """The kinds as `kv_layers`; layers without a mixer store nothing."""
    return tuple(
        KvLayers(
            kind="shared" if kind == "none" else kind,  # type: ignore[arg-type]
            layers=layers,
            window=window_of(fields, kind),
            state_bytes=state_bytes(fields) if kind == "state" else None,
        )
        for kind, layers in found.items()
    )
