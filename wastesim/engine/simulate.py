"""One run from an experiment to records."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wastesim.config import Experiment
from wastesim.engine import build
from wastesim.engine.arrivals import Arrivals
from wastesim.engine.counting import Counter, NoCounter, ThreeWays
from wastesim.engine.decoding import Decoding, NoDecode
from wastesim.engine.decorate import decorated, hint_for
from wastesim.engine.hindsight import Hindsight
from wastesim.engine.leap import LeapServer, leap_server, why_not
from wastesim.engine.leap.build import Outfit
from wastesim.engine.memory import Memory
from wastesim.engine.observer import Observer
from wastesim.engine.recording import recorder_for
from wastesim.engine.register import Register
from wastesim.engine.server import Parts, Server
from wastesim.engine.simtime import SimTime
from wastesim.engine.spanlog import MOST_ROWS, SpanLog
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


def run(
    experiment: Experiment,
    observer: Observer | None = None,
    *,
    leap: bool = True,
    folder: Path | None = None,
) -> Records:
    """Simulate `experiment` to its end, or until the observer says stop.

    Where nothing has to be looked at tick by tick the engine leaps; without `leap` it never does,
    and the records are the same.  Raises ConfigError or InputError for an experiment that cannot
    run and CountMismatch when the counts of written memory differ.
    """
    streams = Streams(experiment.seed)
    assembly = _assemble(experiment, streams, observer or Observer(), folder)
    env = SimTime()
    leaps = leap and why_not(experiment, assembly.parts.observer) is None
    server = _leaping(env, assembly, streams) if leaps else _ticking(env, assembly, streams)
    with _without_collector() if leaps else nullcontext():
        env.run(until=env.process(server.run()))
    return assembly.recorder.finish(_facts(assembly, server))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Leaping makes tuples by the million and no cycles: looking for some costs a tenth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _ticking(env: SimTime, assembly: _Assembly, streams: Streams) -> Server:
    """A server that goes tick by tick, and a process that brings requests to it."""
    experiment, workload = assembly.experiment, assembly.workload
    server = Server(env, assembly.parts, build.queues(experiment))
    hint = hint_for(experiment.server.policy, streams)
    requests = decorated(workload.requests(), experiment.clients, hint, streams)
    env.process(Arrivals(env, requests, server, workload.closed_loop).run())
    return server


def _leaping(env: SimTime, assembly: _Assembly, streams: Streams) -> LeapServer:
    """A server that leaps from one happening to the next."""
    experiment, parts, hardware = assembly.experiment, assembly.parts, assembly.hardware
    policy = parts.memory.policy
    vllm = build.vllm_rules(experiment, policy.capacity_cells, hardware.block_cells)
    outfit = Outfit(
        policy=policy,
        block_cells=hardware.block_cells,
        door=parts.door,
        clock=parts.clock,
        cost=parts.cost,
        recorder=assembly.recorder,
        spans=assembly.spans,
        observer=parts.observer,
        vllm=vllm if experiment.server.scheduling == "vllm" else None,
    )
    return leap_server(env, experiment, assembly.workload, streams, outfit)


def _assemble(
    experiment: Experiment, streams: Streams, observer: Observer, folder: Path | None
) -> _Assembly:
    hardware = build.hardware(experiment)
    policy = build.policy(experiment, hardware)
    workload = build_workload(experiment.workload, streams)
    decoder = build.decoder(experiment, hardware.capacity_cells, streams)
    decoding, counter = _decoding(experiment, decoder)
    recorder = recorder_for(experiment, folder)
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


def _facts(assembly: _Assembly, server: Server | LeapServer) -> Facts:
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
        copied_tokens=server.copied_tokens,
        double_residency_peak_cells=server.double_residency_peak_cells,
        explanations=[
            *build.explanations(experiment, hardware, parts.clock),
            *_left_out(assembly),
        ],
        workload=_workload_facts(assembly.workload),
        decode=_decode_facts(assembly, server),
        counted=parts.counter.result(),
        interrupted=bool(server.stopped_because),
        stopped_because=server.stopped_because,
    )


def _left_out(assembly: _Assembly) -> list[str]:
    """Spans that nothing has; a run that is streamed has no map but may have a file of them."""
    if not assembly.spans.full:
        return []
    if assembly.recorder.streams:
        written = assembly.experiment.output.records == "full"
        return [f"the file of spans has the first {MOST_ROWS:,}"] if written else []
    return [f"the memory map has the first {MOST_ROWS:,} spans: more are too many to draw"]


def _workload_facts(workload: Workload) -> dict[str, Any]:
    return {
        "description": workload.describe(),
        "counts": dict(workload.counts),
        "notes": list(workload.notes),
    }


def _decode_facts(assembly: _Assembly, server: Server | LeapServer) -> dict[str, Any]:
    decoding = assembly.parts.decoding
    facts: dict[str, Any] = {
        "engine": "numpy" if assembly.decoder else "none",
        "tokens": assembly.decoder.tokens_decoded if assembly.decoder else None,
        "wall_s": server.decode_wall.total_s if assembly.decoder else None,
    }
    if isinstance(decoding, Verifying):
        facts["verified"] = decoding.result()
    return facts
