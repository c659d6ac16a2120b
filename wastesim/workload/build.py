"""From the `workload:` of an experiment to its requests."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from wastesim.config.arrivals import WorkloadSpec
from wastesim.rng import Streams
from wastesim.workload.arrivals import arrival_times
from wastesim.workload.pairs import BLOCK, Floats, Pairs, endless
from wastesim.workload.sources import open_lengths, trace_counts, trace_notes
from wastesim.workload.stream import Workload
from wastesim.workload.traces import Trace, read_trace


def build_workload(spec: WorkloadSpec, streams: Streams, base: Path | None = None) -> Workload:
    """The requests of `spec`; relative paths are relative to `base` (the current folder).

    Lengths and gaps have a random stream each, so drawing for one never moves the other, and
    `streams` itself is not moved.  InputError or ConfigError when a file cannot be used.
    """
    folder = base or Path()
    if spec.trace is not None:
        return _replayed(spec, folder / spec.trace, streams)
    assert spec.lengths is not None  # the model has one of the two
    source = open_lengths(spec.lengths, folder)
    lengths = streams.lengths
    return Workload(
        title=f"{source.title}; {describe_arrivals(spec)}",
        pairs=lambda: endless(source, copy.deepcopy(lengths)),
        times=_drawn_times(spec, streams),
        num_requests=spec.num_requests,
        notes=list(source.notes),
        source_counts=source.counts,
    )


def describe_arrivals(spec: WorkloadSpec) -> str:
    """When requests arrive, in a few words."""
    if math.isinf(spec.rate):
        return "all at t = 0"
    shape = "Poisson" if spec.burstiness == 1 else f"gamma gaps of shape {spec.burstiness:g}"
    return f"{shape}, {spec.rate:g} per second"


def _drawn_times(spec: WorkloadSpec, streams: Streams) -> Callable[[], Iterator[Floats]]:
    arrivals = streams.arrivals
    return lambda: arrival_times(spec, copy.deepcopy(arrivals))


def _replayed(spec: WorkloadSpec, path: Path, streams: Streams) -> Workload:
    """Rows as they are, in their own order and with their own arrivals unless a rate is given."""
    own = spec.replays_arrivals
    trace = read_trace(path, arrivals=own, columns=spec.columns, time_unit=spec.time_unit)
    wanted = spec.num_requests or len(trace)
    notes = list(trace_notes(trace))
    if wanted > len(trace):
        notes.append(f"num_requests is {wanted:,}, but the trace has {len(trace):,} usable rows")
    when = "their own arrivals" if own else describe_arrivals(spec)
    return Workload(
        title=f"rows of {path.name} in order; {when}",
        pairs=lambda: _row_blocks(trace),
        times=(lambda: _time_blocks(trace)) if own else _drawn_times(spec, streams),
        num_requests=min(wanted, len(trace)),
        notes=notes,
        source_counts=trace_counts(trace),
    )


def _row_blocks(trace: Trace) -> Iterator[Pairs]:
    for start in range(0, len(trace), BLOCK):
        rows = slice(start, start + BLOCK)
        yield Pairs(trace.prompt[rows].astype(np.int64), trace.output[rows].astype(np.int64))


def _time_blocks(trace: Trace) -> Iterator[Floats]:
    assert trace.arrival_s is not None  # asked for when the trace was read
    for start in range(0, len(trace), BLOCK):
        yield trace.arrival_s[start : start + BLOCK]
