"""What one rank of a parallel server holds.

Tensor parallelism divides KV heads (see `layers`), pipeline parallelism layers; data parallelism
copies the server, and each copy has a pool of its own: no request can use another's.
"""

from __future__ import annotations

from wastesim.catalog.layers import layer_kinds
from wastesim.config.hardware import ModelGeometry


def stage(model: ModelGeometry, pipeline_ranks: int) -> ModelGeometry:
    """The fullest pipeline stage: `ceil(layers / ranks)` of every kind of layer.

    An upper bound where kinds alternate unevenly.  Parameters are left as they are.
    """
    if pipeline_ranks == 1:
        return model
    kinds = tuple(
        kind.model_copy(update={"layers": -(-kind.layers // pipeline_ranks)})
        for kind in layer_kinds(model)
    )
    layers = sum(kind.layers for kind in kinds)
    return model.model_copy(update={"layers": layers, "kv_layers": kinds})


def rank_weights_bytes(weights_bytes: int, tensor_ranks: int, pipeline_ranks: int = 1) -> int:
    """`ceil(weights / (tp * pp))`: as if everything were divided, tables and norms included."""
    return -(-weights_bytes // (tensor_ranks * pipeline_ranks))


def aggregate_requests(requests_per_replica: int, data_ranks: int) -> int:
    """Requests over all replicas; the longest one still has to fit into a single pool."""
    return requests_per_replica * data_ranks
