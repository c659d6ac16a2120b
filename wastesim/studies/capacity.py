"""The capacity of an experiment: its model, card, server and lengths, without simulating.

`python -m wastesim.capacity EXPERIMENT.yaml` answers with the experiment's own values; options
on the command line win over them.  With `study: capacity` in it `wastesim run` answers too.
"""

from __future__ import annotations

import argparse
from typing import Any

from wastesim.catalog.kv import kv_bytes_per_token
from wastesim.catalog.models import resolve_model
from wastesim.config import Experiment
from wastesim.config.arrivals import WorkloadSpec
from wastesim.config.hardware import Gpu
from wastesim.config.lengths import Lengths, Resample, TraceReading
from wastesim.config.workload import TooLong, too_long_rule
from wastesim.result import load_experiment


def with_experiment(options: argparse.Namespace) -> argparse.Namespace:
    """The options with the experiment's values where none was given; ConfigError as in a run."""
    return with_values(options, load_experiment(options.experiment, options.overrides))


def with_values(options: argparse.Namespace, experiment: Experiment) -> argparse.Namespace:
    """The same for an experiment that has been read."""
    given = {key: value for key, value in vars(options).items() if value is not None}
    values = _values(experiment)
    if "gpu" in given:  # another card has its own memory
        values.pop("gpu_memory", None)
    return argparse.Namespace(**{**vars(options), **values, **given})


def _values(experiment: Experiment) -> dict[str, Any]:
    """What an experiment says, under the names of the options."""
    server = experiment.server
    policy = getattr(server.policy, "place", "")
    paged = policy in ("blocks", "pages")
    return {
        "model": [resolve_model(experiment.model)],
        **_card(experiment.gpu),
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
        "lengths": _lengths(experiment.workload),
        "too_long": _too_long(experiment),
    }


def _lengths(workload: WorkloadSpec) -> Lengths:
    """Lengths that are drawn, or the rows of the trace that is replayed."""
    if workload.trace is None:
        assert workload.lengths is not None  # a workload has one of the two
        return workload.lengths
    reading = {name: getattr(workload, name) for name in TraceReading.model_fields}
    return Resample(file=workload.trace, **reading)


def _too_long(experiment: Experiment) -> TooLong | None:
    """The rule where it, or the scheduler, is stated; None: each policy has its own."""
    stated, scheduler = experiment.workload.too_long, experiment.server.scheduler
    return stated or (too_long_rule(None, scheduler) if scheduler == "vllm" else None)


def _card(gpu: str | Gpu) -> dict[str, str]:
    """A card of the catalog by its name, any other by its memory."""
    return {"gpu": gpu} if isinstance(gpu, str) else {"gpu_memory": f"{gpu.memory_bytes} B"}


def _stated_bytes(experiment: Experiment) -> str | None:
    """Bytes of the cache where they, or the number of blocks, are stated."""
    server = experiment.server
    stated = server.kv_cache_memory_bytes
    if server.num_gpu_blocks_override is not None:
        each = kv_bytes_per_token(resolve_model(experiment.model), server.kv_cache_dtype)
        size = getattr(server.policy, "block_size", None) or server.block_size
        stated = server.num_gpu_blocks_override * size * each
    return None if stated is None else f"{stated} B"
