"""One run from an experiment to records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wastesim.config import Experiment
from wastesim.engine import build
from wastesim.engine.arrivals import Arrivals
from wastesim.engine.counting import Counter, NoCounter, ThreeWays
from wastesim.engine.decoding import Decoding, NoDecode
from wastesim.engine.door import Door
from wastesim.engine.observer import Observer
from wastesim.engine.scheduler import Orca
from wastesim.engine.server import Parts, Server
from wastesim.engine.simtime import SimTime
from wastesim.engine.verify import Verifying
from wastesim.records import Facts, Recorder, Records
from wastesim.rng import Streams
from wastesim.workload import Workload, build_workload

if TYPE_CHECKING:
    from wastesim.decode import Decoder


@dataclass(frozen=True)
class _Assembly:
    """Everything built for one run."""

    hardware: build.Hardware
    workload: Workload
    decoder: Decoder | None
    parts: Parts


def run(experiment: Experiment, observer: Observer | None = None) -> Records:
    """Simulate `experiment` to its end, or until the observer says stop.

    Raises ConfigError or InputError for an experiment that cannot run, CountMismatch when the
    counts of written memory differ, and StalledError when no tick can make progress.
    """
    streams = Streams(experiment.seed)
    assembly = _assemble(experiment, streams, observer or Observer())
    env = SimTime()
    server = Server(env, assembly.parts)
    arrivals = Arrivals(env, iter(assembly.workload.requests()), server.arrive, server.close)
    env.process(arrivals.run())
    env.run(until=env.process(server.run()))
    return assembly.parts.recorder.finish(_facts(experiment, assembly, server))


def _assemble(experiment: Experiment, streams: Streams, observer: Observer) -> _Assembly:
    hardware = build.hardware(experiment)
    server = experiment.server
    policy = build.policy(experiment, hardware.capacity_cells)
    decoder = build.decoder(experiment, hardware.capacity_cells, streams)
    decoding, counter = _decoding(experiment, decoder)
    parts = Parts(
        policy=policy,
        scheduler=Orca(policy, server.max_num_seqs, server.max_num_batched_tokens),
        door=Door(
            policy,
            server.max_model_len,
            experiment.workload.too_long,
            server.max_num_batched_tokens,
        ),
        clock=build.clock(experiment, hardware.gpu),
        cost=build.cost_model(hardware),
        decoding=decoding,
        counter=counter,
        recorder=Recorder(),
        observer=observer,
    )
    return _Assembly(hardware, build_workload(experiment.workload, streams), decoder, parts)


def _decoding(experiment: Experiment, decoder: Decoder | None) -> tuple[Decoding, Counter]:
    if decoder is None:
        return NoDecode(), NoCounter()
    counter = ThreeWays(decoder, decoder.pages, experiment.decode.count_every)
    return (Verifying(decoder) if experiment.decode.verify else decoder), counter


def _facts(experiment: Experiment, assembly: _Assembly, server: Server) -> Facts:
    parts, hardware = assembly.parts, assembly.hardware
    ceiling, reason = build.ceiling(parts.policy, experiment.server.max_num_seqs)
    return Facts(
        name=experiment.name,
        policy=parts.policy.name,
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
        explanations=build.explanations(experiment, hardware, parts.clock.kind),
        workload=_workload_facts(assembly.workload),
        decode=_decode_facts(assembly, server),
        counted=parts.counter.result(),
        interrupted=server.stopped,
        stopped_because="stopped before all requests were served" if server.stopped else "",
    )


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
