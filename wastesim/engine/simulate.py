"""One run from an experiment to records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wastesim.config import Experiment
from wastesim.engine import build
from wastesim.engine.arrivals import Arrivals
from wastesim.engine.counting import Counter, NoCounter, ThreeWays
from wastesim.engine.decoding import Decoding, NoDecode
from wastesim.engine.decorate import decorated, hint_for
from wastesim.engine.hindsight import Hindsight
from wastesim.engine.memory import Memory
from wastesim.engine.observer import Observer
from wastesim.engine.register import Register
from wastesim.engine.server import Parts, Server
from wastesim.engine.simtime import SimTime
from wastesim.engine.spanlog import SpanLog
from wastesim.engine.verify import Verifying
from wastesim.records import Facts, Recorder, Records
from wastesim.rng import Streams
from wastesim.workload import Workload, build_workload

if TYPE_CHECKING:
    from wastesim.decode import Decoder


@dataclass(frozen=True)
class _Assembly:
    """Everything built for one run."""

    experiment: Experiment
    hardware: build.Hardware
    workload: Workload
    decoder: Decoder | None
    recorder: Recorder
    spans: SpanLog
    parts: Parts


def run(experiment: Experiment, observer: Observer | None = None) -> Records:
    """Simulate `experiment` to its end, or until the observer says stop.

    Raises ConfigError or InputError for an experiment that cannot run and CountMismatch when the
    counts of written memory differ.
    """
    streams = Streams(experiment.seed)
    assembly = _assemble(experiment, streams, observer or Observer())
    env = SimTime()
    server = Server(env, assembly.parts, build.queues(experiment))
    hint = hint_for(experiment.server.policy, streams)
    requests = decorated(iter(assembly.workload.requests()), experiment.clients, hint, streams)
    arrivals = Arrivals(env, requests, server, assembly.workload.closed_loop)
    env.process(arrivals.run())
    env.run(until=env.process(server.run()))
    return assembly.recorder.finish(_facts(assembly, server))


def _assemble(experiment: Experiment, streams: Streams, observer: Observer) -> _Assembly:
    hardware = build.hardware(experiment)
    policy = build.policy(experiment, hardware)
    workload = build_workload(experiment.workload, streams)
    decoder = build.decoder(experiment, hardware.capacity_cells, streams)
    decoding, counter = _decoding(experiment, decoder)
    recorder = Recorder()
    spans = SpanLog(recorder, active=_map_is_wanted(experiment))
    memory = Memory(policy, decoding, counter, spans, Hindsight(recorder))
    parts = Parts(
        memory=memory,
        scheduler=build.scheduler(experiment, memory, hardware.block_cells),
        door=build.door(experiment, policy),
        clock=build.clock(experiment, hardware.gpu),
        cost=build.cost_model(hardware),
        decoding=decoding,
        counter=counter,
        register=Register(recorder, observer),
        observer=observer,
        asynchronous=experiment.server.async_scheduling,
    )
    return _Assembly(experiment, hardware, workload, decoder, recorder, spans, parts)


def _map_is_wanted(experiment: Experiment) -> bool:
    """Whether anybody will see who held which cells, and one placement says it."""
    output = experiment.output
    return len(experiment.server.kv_groups) == 1 and (output.figures or output.records == "full")


def _decoding(experiment: Experiment, decoder: Decoder | None) -> tuple[Decoding, Counter]:
    if decoder is None:
        return NoDecode(), NoCounter()
    counter = ThreeWays(decoder, decoder.pages, experiment.decode.count_every)
    return (Verifying(decoder) if experiment.decode.verify else decoder), counter


def _facts(assembly: _Assembly, server: Server) -> Facts:
    experiment, hardware, parts = assembly.experiment, assembly.hardware, assembly.parts
    memory = parts.memory
    ceiling, reason = build.ceiling(memory.policy, experiment.server.max_num_seqs)
    return Facts(
        name=experiment.name,
        policy=memory.policy.name,
        scheduler=experiment.server.scheduling,
        model=hardware.model.name,
        gpu=hardware.gpu.name,
        executed_model=experiment.decode.model if assembly.decoder else None,
        clock=parts.clock.kind,
        max_model_len=experiment.server.max_model_len,
        max_num_seqs=experiment.server.max_num_seqs,
        capacity_cells=hardware.capacity_cells,
        bytes_per_token=hardware.bytes_per_token,
        ceiling=ceiling,
        ceiling_reason=reason,
        bandwidth_bytes_per_s=hardware.gpu.bandwidth_bytes_per_s,
        peak_flop_per_s=hardware.gpu.flops_per_s,
        weights_bytes=hardware.budget.weights_bytes,
        block_cells=hardware.block_cells,
        copied_tokens=memory.copied_tokens,
        double_residency_peak_cells=memory.double_residency_peak_cells,
        explanations=[
            *build.explanations(experiment, hardware, parts.clock),
            *_left_out(assembly.spans),
        ],
        workload=_workload_facts(assembly.workload),
        decode=_decode_facts(assembly, server),
        counted=parts.counter.result(),
        interrupted=bool(server.stopped_because),
        stopped_because=server.stopped_because,
    )


def _left_out(spans: SpanLog) -> list[str]:
    if not spans.left_out:
        return []
    return [f"the memory map leaves out {spans.left_out:,} later spans: too many to draw"]


def _workload_facts(workload: Workload) -> dict[str, Any]:
    return {
        "description": workload.describe(),
        "counts": dict(workload.counts),
        "notes": list(workload.notes),
    }


def _decode_facts(assembly: _Assembly, server: Server) -> dict[str, Any]:
    decoding = assembly.parts.decoding
    facts: dict[str, Any] = {
        "engine": "numpy" if assembly.decoder else "none",
        "tokens": assembly.decoder.tokens_decoded if assembly.decoder else None,
        "wall_s": server.decode_wall.total_s if assembly.decoder else None,
    }
    if isinstance(decoding, Verifying):
        facts["verified"] = decoding.result()
    return facts
