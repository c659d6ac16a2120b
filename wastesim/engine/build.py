"""From an experiment to the parts of a server, each decision with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wastesim.allocation import Policy, Pool, block_cells, build_policy
from wastesim.catalog import Budget, kv_budget, kv_bytes_per_token, resolve_gpu, resolve_model
from wastesim.catalog.kv import explain_kv, kv_notes, tensor_bytes_per_cell
from wastesim.catalog.weights import (
    attention_flop_per_cell,
    flop_per_token,
    weights_bytes,
    weights_notes,
    weights_read_bytes,
)
from wastesim.config import Experiment
from wastesim.config.clocks import FixedClock as FixedClockConfig
from wastesim.config.clocks import RooflineClock as RooflineClockConfig
from wastesim.config.clocks import TableClock as TableClockConfig
from wastesim.config.hardware import Gpu, ModelGeometry
from wastesim.config.server import NEVER_PREEMPT, needs_preemption
from wastesim.config.workload import too_long_rule
from wastesim.engine.clock import Clock, FixedClock, MeasuredClock, RooflineClock, TableClock
from wastesim.engine.clock_steps import read_steps
from wastesim.engine.clock_table import StepTable
from wastesim.engine.cost import CostModel
from wastesim.engine.door import Door
from wastesim.engine.memory import Memory
from wastesim.engine.queues import ByPriority, FirstComeFirstServed, Queues
from wastesim.engine.scheduler import Orca, Scheduler, Static
from wastesim.engine.vllm import Vllm, VllmRules
from wastesim.errors import ConfigError
from wastesim.units import format_count, format_seconds

if TYPE_CHECKING:
    from wastesim.decode import Decoder
    from wastesim.rng import Streams


@dataclass(frozen=True)
class Hardware:
    """The accounted model on the accounted card, and what that leaves for the cache."""

    model: ModelGeometry
    gpu: Gpu
    bytes_per_token: int
    budget: Budget
    block_cells: int

    @property
    def capacity_cells(self) -> int:
        """Cells of the pool: one group, all layers."""
        return self.budget.capacity_cells


def hardware(experiment: Experiment) -> Hardware:
    """Resolve names and compute the KV budget; ConfigError when nothing is left for it."""
    server = experiment.server
    model, gpu = resolve_model(experiment.model), resolve_gpu(experiment.gpu)
    per_token = kv_bytes_per_token(model, server.kv_cache_dtype)
    pool = _pool(experiment, model, 0)
    cells = block_cells(server.policy, pool)
    blocks = server.num_gpu_blocks_override
    budget = kv_budget(
        gpu.memory_bytes,
        server.gpu_memory_utilization,
        weights_bytes(model),
        overhead_bytes=server.overhead,
        bytes_per_token=per_token,
        kv_cache_memory_bytes=server.kv_cache_memory_bytes,
        # One of vLLM's blocks is the null block: nothing is ever stored in it.
        num_cells_override=None if blocks is None else (blocks - 1) * cells,
    )
    return Hardware(model, gpu, per_token, budget, cells)


def policy(experiment: Experiment, parts: Hardware) -> Policy:
    """The allocation policy over the pool; ConfigError where one grows and must not."""
    server = experiment.server
    built = build_policy(server.policy, _pool(experiment, parts.model, parts.capacity_cells))
    if built.grows and server.scheduling in NEVER_PREEMPT:  # of somebody's own: known only now
        message = needs_preemption(server.policy.name, server.scheduling)
        raise ConfigError(f"'server': {message}")
    return built


def _pool(experiment: Experiment, model: ModelGeometry, capacity_cells: int) -> Pool:
    server = experiment.server
    budget = server.token_budget or server.max_model_len
    return Pool(
        capacity_cells=capacity_cells,
        max_model_len=server.max_model_len,
        block_cells=server.block_size,
        tensor_bytes_per_cell=tensor_bytes_per_cell(model, server.kv_cache_dtype),
        windows=server.kv_groups,
        max_in_flight_tokens=2 * budget if server.async_scheduling else budget,
    )


def queues(experiment: Experiment) -> Queues:
    """First come first served, or by priority where clients have any."""
    return Queues(ByPriority() if experiment.clients.priorities else FirstComeFirstServed())


def scheduler(experiment: Experiment, memory: Memory, block: int) -> Scheduler:
    """The scheduler that the experiment asks for."""
    server = experiment.server
    if server.scheduling == "static":
        return Static(memory, server.max_num_seqs, server.token_budget)
    if server.scheduling == "orca":
        return Orca(memory, server.max_num_seqs, server.token_budget)
    return Vllm(memory, vllm_rules(experiment, memory.policy.capacity_cells, block))


def vllm_rules(experiment: Experiment, capacity_cells: int, block: int) -> VllmRules:
    """The options of vLLM's scheduler; the watermark is a share of the pool's blocks."""
    server = experiment.server
    units = server.num_gpu_blocks_override or capacity_cells // block
    return VllmRules(
        max_num_seqs=server.max_num_seqs,
        max_num_batched_tokens=server.token_budget or 0,
        enable_chunked_prefill=server.enable_chunked_prefill,
        long_prefill_token_threshold=server.long_prefill_token_threshold,
        watermark_cells=int(server.watermark * units) * block,
        scheduler_reserve_full_isl=server.scheduler_reserve_full_isl,
        by_priority=bool(experiment.clients.priorities),
    )


def door(experiment: Experiment, memory: Policy) -> Door:
    """Who is let in."""
    server = experiment.server
    whole = server.scheduling != "vllm" or not server.enable_chunked_prefill
    return Door(
        memory,
        server.max_model_len,
        too_long_rule(experiment.workload.too_long, server.scheduling),
        server.token_budget if whole else None,
        server.refuse_impossible,
    )


def clock(experiment: Experiment, gpu: Gpu) -> Clock:
    """The clock that the experiment asks for."""
    config = experiment.clock
    if isinstance(config, FixedClockConfig):
        return FixedClock(config.step_s)
    if isinstance(config, RooflineClockConfig):
        return RooflineClock(
            gpu.bandwidth_bytes_per_s * config.bandwidth_efficiency,
            gpu.flops_per_s * config.flops_efficiency,
            config.overhead_s,
            _efficiencies(config),
        )
    if isinstance(config, TableClockConfig):
        path = Path(config.file)
        return TableClock(StepTable.of(read_steps(path)), path.name)
    return MeasuredClock()


def _efficiencies(config: RooflineClockConfig) -> str:
    """What the roofline is of."""
    if (config.bandwidth_efficiency, config.flops_efficiency, config.overhead_s) == (1, 1, 0):
        return "times come from a roofline of ideal hardware: no real server reaches them"
    return (
        f"times come from a roofline at {100 * config.bandwidth_efficiency:g} % of the card's"
        f" bandwidth and {100 * config.flops_efficiency:g} % of its arithmetic, and"
        f" {format_seconds(config.overhead_s)} of overhead in each tick"
    )


def cost_model(parts: Hardware) -> CostModel:
    """Integer coefficients of a tick's bytes and FLOP."""
    return step_costs(parts.model, parts.bytes_per_token)


def step_costs(model: ModelGeometry, bytes_per_token: int) -> CostModel:
    """The same of any model."""
    return CostModel(
        weights_read_bytes=weights_read_bytes(model),
        kv_bytes_per_token=bytes_per_token,
        flop_per_token=flop_per_token(model),
        attention_flop_per_context=attention_flop_per_cell(model),
    )


def decoder(experiment: Experiment, capacity_cells: int, streams: Streams) -> Decoder | None:
    """The NumPy transformer over an arena of `capacity_cells`, or None to account only."""
    config = experiment.decode
    if config.engine == "none":
        return None
    from wastesim.decode import Decoder, decode_model

    return Decoder(decode_model(config.model), capacity_cells, streams, config.kv_cache_dtype)


def ceiling(memory: Policy, max_num_seqs: int) -> tuple[int, str]:
    """The largest number of requests that can run at once, and what binds it."""
    held = memory.ceiling()
    if held.requests <= max_num_seqs:
        return held.requests, held.reason
    return max_num_seqs, f"max_num_seqs: {format_count(max_num_seqs)} ({held.reason})"


def explanations(experiment: Experiment, parts: Hardware, clock: Clock) -> list[str]:
    """The run's decisions in words, arithmetic included; the run is over."""
    lines = [
        parts.budget.because(),
        explain_kv(parts.model, experiment.server.kv_cache_dtype),
        f"{parts.budget.remainder_bytes:,} B of the KV budget do not make a cell",
        clock.explain(),
    ]
    return [
        *lines,
        *kv_notes(parts.model, experiment.server.kv_cache_dtype),
        *weights_notes(parts.model),
    ]
