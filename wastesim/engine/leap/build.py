"""When a run can leap, and the parts of a server that does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from wastesim.allocation import Policy, Slots
from wastesim.config import Experiment
from wastesim.config.policy import ForeignPolicy
from wastesim.engine.clock import Clock
from wastesim.engine.cost import CostModel
from wastesim.engine.decorate import hint_for
from wastesim.engine.door import Door
from wastesim.engine.leap.blocks import BlockPool
from wastesim.engine.leap.by_block import BlockServer
from wastesim.engine.leap.by_job import FIELDS as NOTED
from wastesim.engine.leap.by_job import JobServer
from wastesim.engine.leap.by_slot import FIELDS, SlotServer, widen
from wastesim.engine.leap.clocks import leaping
from wastesim.engine.leap.closed import ClosedLine
from wastesim.engine.leap.gate import Gate
from wastesim.engine.leap.line import Arrivals, Line
from wastesim.engine.leap.placed import PlacedPool
from wastesim.engine.leap.pool import LeapPool
from wastesim.engine.leap.rules import LeapOrca, LeapRules, LeapVllm
from wastesim.engine.leap.running import Running
from wastesim.engine.leap.server import LeapParts, LeapServer
from wastesim.engine.leap.tables import ByTick, Ticks
from wastesim.engine.observer import Observer
from wastesim.engine.simtime import SimTime
from wastesim.engine.spanlog import SpanLog
from wastesim.engine.vllm import VllmRules
from wastesim.records import Recorder
from wastesim.rng import Streams
from wastesim.workload import Workload


def why_not(experiment: Experiment, observer: Observer) -> str | None:
    """What each tick must be looked at for; None when the run can leap."""
    server, clients = experiment.server, experiment.clients
    budget = server.token_budget
    reasons = {
        "the decode runs every tick": experiment.decode.engine != "none",
        "tokens are in flight while the next tick is planned": server.async_scheduling,
        "windows slide": any(window is not None for window in server.kv_groups),
        "there is more than one KV group": len(server.kv_groups) != 1,
        "requests are served by priority": bool(clients.priorities),
        "clients give up": clients.timeout_s is not None or clients.cancel_share > 0,
        "the clock interpolates each tick's time": experiment.clock.kind == "table",
        "prefills are cut by a threshold": server.long_prefill_token_threshold > 0,
        "a tick's tokens may be too few for all that run": server.scheduling == "vllm"
        and budget is not None
        and server.max_num_seqs > budget,
        "a request that is too long is an error": experiment.workload.too_long == "error",
        "somebody looks at every tick": observer.wants_ticks,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


@dataclass(frozen=True)
class Outfit:
    """What a leaping server shares with one that ticks."""

    policy: Policy
    block_cells: int
    door: Door
    clock: Clock
    cost: CostModel
    recorder: Recorder
    spans: SpanLog
    observer: Observer
    vllm: VllmRules | None


def leap_server(
    env: SimTime, experiment: Experiment, workload: Workload, streams: Streams, outfit: Outfit
) -> LeapServer:
    """A server for a run that can leap; its arrivals are in its line."""
    config, policy = experiment.server.policy, outfit.policy
    claim = None if isinstance(config, ForeignPolicy) else config.claim
    hint = hint_for(config, streams) if claim in ("oracle", "pow2", "predicted") else None
    gate = Gate(outfit.door, policy, known=claim is not None, hint=hint)
    blocks = gate.admit(workload.blocks())
    clock = leaping(outfit.clock)
    assert clock is not None  # `why_not` has looked
    recorder, cost = outfit.recorder, outfit.cost

    def parts(line: Arrivals, by_tick: ByTick, *narrow: Any) -> LeapParts:
        rows = Ticks(recorder, clock, cost, by_tick, line, policy.capacity_cells, *narrow)
        return LeapParts(line, clock, cost, recorder, rows, outfit.observer, policy, outfit.spans)

    closed = workload.closed_loop
    if closed is None and _only_slots(experiment, outfit):
        assert isinstance(policy, Slots)
        cells, seqs = policy.slot_cells, experiment.server.max_num_seqs
        wide = partial(widen, slot_cells=cells, max_num_seqs=seqs)
        shared = parts(Arrivals(blocks), lambda begin, end: None, FIELDS, wide)
        return SlotServer(env, shared, policy.slots, cells, seqs)
    line = Line(blocks) if closed is None else ClosedLine(blocks, closed)
    running, pool = Running(), _pool(experiment, outfit)
    rules = _rules(experiment, line, running, pool, outfit.vllm)
    shared = parts(line, pool.by_tick, (*NOTED, *pool.fields))
    if closed is None and isinstance(pool, BlockPool) and isinstance(rules, LeapVllm):
        assert outfit.vllm is not None  # they are its rules
        return BlockServer(env, shared, line, running, pool, rules, outfit.vllm)
    return JobServer(env, shared, line, running, pool, rules)


def _only_slots(experiment: Experiment, outfit: Outfit) -> bool:
    """Whether there is nothing to a request but a slot, and that whoever comes fits into one."""
    server, policy = experiment.server, outfit.policy
    return (
        isinstance(policy, Slots)
        and not outfit.spans.active
        and server.scheduling == "orca"
        and server.token_budget is None
        and server.refuse_impossible
    )


def _pool(experiment: Experiment, outfit: Outfit) -> LeapPool:
    """Numbers of blocks are enough where nobody wants to see which they are."""
    config, policy = experiment.server.policy, outfit.policy
    by_block = not isinstance(config, ForeignPolicy) and config.claim == "prompt"
    if by_block and not outfit.spans.active:  # blocks and pages are all that goes with it
        return BlockPool(policy.capacity_cells // outfit.block_cells, outfit.block_cells)
    return PlacedPool(policy, outfit.spans)


def _rules(
    experiment: Experiment,
    line: Line,
    running: Running,
    pool: LeapPool,
    vllm: VllmRules | None,
) -> LeapRules:
    if vllm is not None:
        return LeapVllm(line, running, pool, vllm)
    server = experiment.server
    return LeapOrca(
        line,
        running,
        pool,
        server.max_num_seqs,
        server.token_budget,
        batches=server.scheduling == "static",
    )
