"""From `lengths:` to something that pairs of lengths can be drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wastesim.config.lengths import Joint, Lengths, Marginals, Mixed, Resample
from wastesim.errors import InputError
from wastesim.workload.joint import JointSource, read_table
from wastesim.workload.library import read_workload_file, unknown, workload_file
from wastesim.workload.marginals import MarginalSource
from wastesim.workload.mixed import MixedSource
from wastesim.workload.pairs import Pairs, PairSource
from wastesim.workload.traces import Trace, read_trace

if TYPE_CHECKING:
    from numpy.random import Generator

#: Workload files may refer to workload files, but not in a circle.
_DEEPEST = 8


@dataclass(frozen=True, eq=False)
class TraceSource:
    """Draws whole rows of a trace, with replacement."""

    trace: Trace

    @property
    def title(self) -> str:
        """What is drawn from."""
        return f"pairs resampled from {len(self.trace):,} rows of {self.trace.path.name}"

    @property
    def counts(self) -> Mapping[str, int]:
        """Rows that could not be used, by reason."""
        return trace_counts(self.trace)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the report says about the file."""
        return trace_notes(self.trace)

    def draw(self, rng: Generator, size: int) -> Pairs:
        """`size` rows."""
        row = rng.integers(len(self.trace), size=size)
        return Pairs(self.trace.prompt[row].astype("int64"), self.trace.output[row].astype("int64"))


def open_lengths(
    lengths: Lengths, base: Path, title: str | None = None, depth: int = 0
) -> PairSource:
    """The source that `lengths` describes; relative paths are relative to `base`.

    InputError or ConfigError when a file is missing or cannot be used.
    """
    if isinstance(lengths, Marginals):
        return MarginalSource.open(lengths, base, title)
    if isinstance(lengths, Joint):
        table = read_table(base / lengths.table, lengths.max_total)
        return JointSource(table, title or f"the joint table {lengths.table}")
    if isinstance(lengths, Resample):
        return TraceSource(read_trace(base / lengths.file, arrivals=False, reading=lengths))
    if isinstance(lengths, Mixed):
        weights = np.array([part.weight for part in lengths.parts])
        parts = [open_lengths(part.of, base, None, depth) for part in lengths.parts]
        return MixedSource(weights / weights.sum(), parts)
    return _named(lengths, base, depth)


def _named(text: str, base: Path, depth: int) -> PairSource:
    path = workload_file(text, base)
    if path is None:
        if not (base / text).exists():
            raise InputError(f"lengths: {unknown(text)}")
        return TraceSource(read_trace(base / text, arrivals=False))
    if depth == _DEEPEST:
        raise InputError(f"lengths: {path} refers to itself over {depth} workload files")
    file = read_workload_file(path)
    return open_lengths(file.lengths, path.parent, file.title, depth + 1)


def _part(start_s: float, stop_s: float | None) -> str:
    """What was asked for, and only that."""
    begin = [f"at or after 'from_s' {start_s:g}"] if start_s else []
    end = [] if stop_s is None else [f"before 'until_s' {stop_s:g}"]
    return " and ".join([*begin, *end])


def cut(trace: Trace, start_s: float, stop_s: float | None) -> Trace:
    """The rows that arrive in [start, stop) seconds; the others are counted.

    InputError when none do.
    """
    assert trace.arrival_s is not None  # config asks for it only where arrivals are replayed
    first, last = np.searchsorted(trace.arrival_s, [start_s, np.inf if stop_s is None else stop_s])
    if first == last:
        raise InputError(
            f"{trace.path}: no row arrives {_part(start_s, stop_s)}; the last arrives after"
            f" {trace.arrival_s[-1]:g} s"
        )
    outside = len(trace) - int(last - first)
    rows = slice(first, last)
    return replace(
        trace,
        prompt=trace.prompt[rows],
        output=trace.output[rows],
        arrival_s=trace.arrival_s[rows] - trace.arrival_s[first],
        unasked=outside,
    )


def trace_counts(trace: Trace) -> dict[str, int]:
    """Rows left out, as counts of a workload: `row_output_zero`."""
    counts = {f"row_{reason}": count for reason, count in trace.unusable.items()}
    return counts | ({"row_outside_the_asked_time": trace.unasked} if trace.unasked else {})


#: What a note says of rows that are left out; `wastesim run` warns of them.
UNUSABLE = "rows cannot be used"


def trace_notes(trace: Trace) -> tuple[str, ...]:
    """Rows left out, in words, and what else the reader noticed."""
    reasons = ", ".join(
        f"{reason} {count:,} (first at line {trace.first_line[reason]})"
        for reason, count in trace.unusable.items()
    )
    left_out = sum(trace.unusable.values())
    note = f"{trace.path.name}: {left_out:,} of {trace.rows:,} {UNUSABLE}: {reasons}"
    return (*([note] if left_out else []), *(f"{trace.path.name}: {n}" for n in trace.notes))
