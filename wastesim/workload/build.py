"""From the `workload:` of an experiment to its requests."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wastesim.config.arrivals import WorkloadSpec
from wastesim.rng import Streams
from wastesim.workload.limits import with_limits
from wastesim.workload.pairs import BLOCK, Pairs, endless
from wastesim.workload.schedule import (
    describe_arrivals,
    describe_concurrency,
    drawn_times,
    own_times,
)
from wastesim.workload.sources import cut, open_lengths, trace_counts, trace_notes
from wastesim.workload.stream import Workload
from wastesim.workload.traces import Trace, read_trace


def build_workload(spec: WorkloadSpec, streams: Streams, base: Path | None = None) -> Workload:
    """The requests of `spec`; relative paths are relative to `base` (the current folder).

    Lengths and gaps have a random stream each, so drawing for one never moves the other, and
    `streams` itself is not moved.  InputError or ConfigError when a file cannot be used.
    """
    folder = base or Path()
    if spec.trace is not None:
        return _replayed(spec, folder, streams)
    assert spec.lengths is not None  # the model has one of the two
    assert spec.num_requests is not None  # the model wants it for drawn lengths
    source = open_lengths(spec.lengths, folder)
    lengths = streams.lengths
    times, notes = drawn_times(spec, streams.arrivals, spec.num_requests)
    return Workload(
        title=f"{source.title}; {describe_arrivals(spec)}",
        pairs=with_limits(
            lambda: endless(source, copy.deepcopy(lengths)), spec.max_tokens, lengths, folder
        ),
        times=times,
        num_requests=spec.num_requests,
        notes=[*source.notes, *notes],
        closed_loop=spec.max_concurrency,
        source_counts=source.counts,
    )


def _replayed(spec: WorkloadSpec, folder: Path, streams: Streams) -> Workload:
    """Rows as they are, in their own order and with their own arrivals unless a rate is given."""
    trace = _rows(spec, folder)
    number = min(spec.num_requests or len(trace), len(trace))
    if spec.replays_arrivals:
        when = f"their own arrivals{describe_concurrency(spec)}"
        times, notes = own_times(trace, spec.speed or 1.0, number)
    else:
        when = describe_arrivals(spec)
        times, notes = drawn_times(spec, streams.arrivals, number)
    return Workload(
        title=f"rows of {trace.path.name} in order; {when}",
        pairs=with_limits(lambda: _blocks(trace), spec.max_tokens, streams.lengths, folder),
        times=times,
        num_requests=number,
        notes=[*trace_notes(trace), *_too_few(spec.num_requests, len(trace)), *notes],
        closed_loop=spec.max_concurrency,
        source_counts=trace_counts(trace),
    )


def _rows(spec: WorkloadSpec, folder: Path) -> Trace:
    """The rows that are asked for."""
    assert spec.trace is not None  # the caller looked
    trace = read_trace(folder / spec.trace, arrivals=spec.replays_arrivals, reading=spec)
    if spec.from_s is None and spec.until_s is None:
        return trace
    return cut(trace, spec.from_s or 0.0, spec.until_s)


def _too_few(wanted: int | None, found: int) -> list[str]:
    if wanted is None or wanted <= found:
        return []
    return [f"num_requests is {wanted:,}, but the trace has {found:,} rows that can be used"]


def _blocks(trace: Trace) -> Iterator[Pairs]:
    for start in range(0, len(trace), BLOCK):
        rows = slice(start, start + BLOCK)
        yield Pairs(trace.prompt[rows].astype(np.int64), trace.output[rows].astype(np.int64))
