"""What a model's weights take, and what one decoded token costs: the terms of the roofline.

A decode step reads the weights once for the whole batch, and every token multiplies with every
weight once: 2 FLOP.  The input embedding table is looked up, not read and not multiplied, unless
it is tied, that is, also the output matrix.
"""

from __future__ import annotations

from wastesim.catalog.stored import stored_bytes
from wastesim.config.hardware import Gpu, ModelGeometry


def weights_bytes(model: ModelGeometry) -> int:
    """Bytes the weights hold: as stated, else parameters times the bytes of their type."""
    if model.weights_bytes is not None:
        return model.weights_bytes
    return stored_bytes(model.weights_dtype, model.params)


def table_params(model: ModelGeometry) -> int:
    """Parameters of an input table that is only looked up; 0 when tied or not known."""
    if model.vocab is None or model.tied_embeddings is not False:
        return 0
    return model.vocab * model.hidden


def weights_read_bytes(model: ModelGeometry) -> int:
    """Bytes of weights one step reads: all but the input table.

    With stated `weights_bytes` the table is taken as its share of the parameters.
    Every expert of a mixture is counted: true for large batches, an upper bound for small ones.
    """
    total = weights_bytes(model)
    return total - total * table_params(model) // model.params


def flop_per_token(model: ModelGeometry) -> int:
    """FLOP of one token outside attention: 2 per parameter that multiplies.

    Of a mixture of experts only the active parameters multiply.
    """
    return 2 * ((model.active_params or model.params) - table_params(model))


def attention_flop_per_cell(model: ModelGeometry) -> int:
    """FLOP of one query token against one stored token: `2 * L * H * (D + V)`.

    The scores take `D` and the weighted sum `V` multiply-adds per query head.  With a latent
    these run in the latent space (absorbed projections): its width, then its part without
    positions.  Window layers count like full ones, as in `kv`.
    """
    keys, values = model.head_dim, model.v_head_dim or model.head_dim
    if model.latent_dim is not None:
        keys, values = model.latent_dim, model.latent_dim - model.latent_rope_dim
    return 2 * model.layers * model.q_heads * (keys + values)


def attention_flop(model: ModelGeometry, context: int) -> int:
    """FLOP of attention for one token that sees `context` stored tokens, itself included."""
    return attention_flop_per_cell(model) * context


def decode_floor_s(weights_bytes: float, bandwidth_bytes_per_s: float) -> float:
    """Seconds below which no decode step gets: the weights at full bandwidth."""
    return weights_bytes / bandwidth_bytes_per_s


def machine_balance(gpu: Gpu) -> float:
    """FLOP per byte at which a GPU is busy with both arithmetic and memory (16-bit, dense)."""
    return gpu.flops_per_s / gpu.bandwidth_bytes_per_s


def decode_intensity(model: ModelGeometry, batch: int = 1) -> float:
    """FLOP per byte of weights in a decode step of `batch` requests, attention left out."""
    return batch * flop_per_token(model) / weights_read_bytes(model)


def weights_notes(model: ModelGeometry) -> tuple[str, ...]:
    """What the numbers take for granted: an unconfirmed table, all experts read."""
    notes = []
    if model.vocab is None or model.tied_embeddings is None:
        notes.append(
            "whether the input embedding table is tied, or its size, is not known: "
            "it is counted as read and multiplied"
        )
    if model.active_params is not None:
        notes.append("every expert is counted as read in every step: an upper bound")
    return tuple(notes)
