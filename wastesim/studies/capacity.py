"""The capacity of an experiment: its model, card, server and lengths, without simulating.

`python -m wastesim.capacity EXPERIMENT.yaml` answers with the experiment's own values; options
on the command line win over them.
"""

from __future__ import annotations

import argparse
from typing import Any

from wastesim.catalog.gpus import resolve_gpu
from wastesim.catalog.kv import kv_bytes_per_token
from wastesim.catalog.models import resolve_model
from wastesim.config import Experiment
from wastesim.result import load_experiment


def with_experiment(options: argparse.Namespace) -> argparse.Namespace:
    """The options with the experiment's values where none was given; ConfigError as in a run."""
    experiment = load_experiment(options.experiment, options.overrides)
    given = {key: value for key, value in vars(options).items() if value is not None}
    return argparse.Namespace(**{**vars(options), **_values(experiment), **given})


def _values(experiment: Experiment) -> dict[str, Any]:
    """What an experiment says, under the names of the options."""
    server = experiment.server
    gpu = resolve_gpu(experiment.gpu)
    policy = getattr(server.policy, "place", "")
    paged = policy in ("blocks", "pages")
    lengths = experiment.workload.lengths
    return {
        "model": [resolve_model(experiment.model)],
        "gpu_memory": f"{gpu.memory_bytes} B",
        "engine": "vllm" if paged else "static",
        "block_size": getattr(server.policy, "block_size", None) or server.block_size,
        "max_model_len": str(server.max_model_len),
        "gpu_memory_utilization": server.gpu_memory_utilization,
        "overhead": f"{server.overhead} B",
        "kv_cache_dtype": server.kv_cache_dtype,
        "kv_cache_memory_bytes": _stated_bytes(experiment),
        "max_num_batched_tokens": server.max_num_batched_tokens,
        "async_scheduling": server.async_scheduling,
        "max_num_seqs": server.max_num_seqs,
        "parallel": getattr(server.policy, "n_parallel", 4),
        "lengths": lengths if isinstance(lengths, str) else None,
    }


def _stated_bytes(experiment: Experiment) -> str | None:
    """Bytes of the cache where they, or the number of blocks, are stated."""
    server = experiment.server
    stated = server.kv_cache_memory_bytes
    if server.num_gpu_blocks_override is not None:
        each = kv_bytes_per_token(resolve_model(experiment.model), server.kv_cache_dtype)
        size = getattr(server.policy, "block_size", None) or server.block_size
        stated = server.num_gpu_blocks_override * size * each
    return None if stated is None else f"{stated} B"
