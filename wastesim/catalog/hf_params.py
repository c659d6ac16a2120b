"""Parameters of models that are not Llama-like: experts, latents, plain feed-forward parts.

Letters as in `hf_config`, and `X` experts of width `M`, `U` of them used, latent width `R` with a
position part `Q`, low-rank queries of width `B`, head dims `N` (without positions) and `V`::

    attention   2 E H D + 2 E G D
    latent      E B + B H (N + Q)  (or E H (N + Q))  +  E (R + Q) + R H (N + V) + H V E
    experts     3 E M (X + shared) + E X             of which active  3 E M (U + shared) + E X

Feed-forward parts have three matrices where they are gated, else two.  Biases and norms are left
out.  Recurrent layers are counted like attention of the same width: an estimate, and said so.
"""

from __future__ import annotations

from typing import NamedTuple

from wastesim.catalog.hf_fields import Fields

#: Families whose feed-forward part has no gate.
_PLAIN = (
    "gpt2", "opt", "gpt_neox", "gptj", "gpt_bigcode", "bloom", "falcon", "phi", "starcoder2", "mpt",
    "gpt_neo", "codegen", "nemotron", "nemotron_h",
)  # fmt: skip
#: Families with a learned vector per position.
_POSITIONS = ("gpt2", "opt", "gpt_bigcode", "gpt_neo")
#: Families whose output matrix is the embedding unless the file says otherwise.
_TIED = ("gpt2", "opt", "gpt_bigcode", "bloom", "falcon", "mpt", "starcoder2", "cohere", "cohere2")


class Params(NamedTuple):
    """All parameters, and those that one token multiplies with (None: all)."""

    total: int
    active: int | None


def is_tied(fields: Fields, kind: str) -> bool:
    """Whether the output matrix is the embedding."""
    return fields.flag("tie_word_embeddings", kind in _TIED)


def count_params(fields: Fields, kind: str, shape: dict[str, int], tied: bool) -> Params:
    """Parameters by the formulas above; `shape` has our names."""
    tables = (1 if tied else 2) * shape["vocab"] * shape["hidden"]
    if kind in _POSITIONS:
        tables += shape["max_model_len"] * shape["hidden"]
    width = fields.optional("intermediate_size_mlp") or shape["ffn"]
    dense = (2 if kind in _PLAIN else 3) * shape["hidden"] * width
    attention = shape["layers"] * _attention(fields, shape)
    experts = fields.optional("experts") or 0
    if experts < 2:
        return Params(tables + attention + shape["layers"] * dense, None)
    sparse = _sparse_layers(fields, shape["layers"])
    base = tables + attention + (shape["layers"] - sparse) * dense
    total = base + sparse * _experts(fields, shape, experts, experts)
    active = base + sparse * _experts(fields, shape, experts, fields.count("experts_used"))
    return Params(total, min(active, total))


def _attention(fields: Fields, shape: dict[str, int]) -> int:
    hidden, heads = shape["hidden"], shape["q_heads"]
    rank = fields.optional("kv_lora_rank")
    if rank is None:
        return 2 * hidden * shape["head_dim"] * (heads + shape["kv_heads"])
    plain, rope = fields.count("qk_nope_head_dim"), fields.count("qk_rope_head_dim")
    values, low = fields.count("v_head_dim"), fields.optional("q_lora_rank")
    width = heads * (plain + rope)
    queries = hidden * low + low * width if low else hidden * width
    keys = hidden * (rank + rope) + rank * heads * (plain + values)
    return queries + keys + heads * values * hidden


def _experts(fields: Fields, shape: dict[str, int], experts: int, counted: int) -> int:
    """Feed-forward parameters of one layer of which `counted` experts are looked at."""
    width = fields.optional("expert_ffn") or shape["ffn"]
    shared = (fields.optional("shared_experts") or 0) * width
    shared = max(shared, fields.optional("shared_ffn") or 0)
    if fields.optional("intermediate_size_mlp"):  # Llama 4 always has one shared expert
        shared = width
    return 3 * shape["hidden"] * (counted * width + shared) + shape["hidden"] * experts


def _sparse_layers(fields: Fields, layers: int) -> int:
    """Layers that have experts; the others have one dense feed-forward part."""
    dense = fields.optional("first_k_dense_replace") or 0
    step = next(
        (
            fields.count(name)
            for name in ("interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq")
            if isinstance(fields.content.get(name), int)
        ),
        1,
    )
    return (layers - dense) // step
