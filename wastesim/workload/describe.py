"""What a workload is like, in numbers: lengths, arrivals, families, and the waste they imply.

Symbols: a request has a prompt of p and an output of o tokens; S is `max_model_len`.  Requests
with p + o > S do not fit and are left out of the shares below.

* `contiguous_step`: sum o (p + (o - 1) / 2) / (S sum o), the written share of contiguous caches
  of S cells, over all ticks;
* `contiguous_at_finish`: sum (p + o - 1) / (n S), the same when each request finishes;
* `power_of_two_at_finish`, `paged_at_finish`: written over reserved when each request finishes,
  with reservations rounded up to a power of two, or to blocks of 16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wastesim.workload.facts import live_tokens, pearson, spearman
from wastesim.workload.families import Fit, fit_families
from wastesim.workload.pairs import Floats, Ints
from wastesim.workload.traces import Trace

LIMITS = (2048, 4096, 8192, 16_384, 32_768, 131_072)
_QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)
_BLOCK = 16
_MINUTE = 60.0


@dataclass(frozen=True)
class Lengths:
    """One kind of length, in tokens; `quantiles` by level ("p50", "p99.9")."""

    mean: float
    std: float
    least: int
    most: int
    quantiles: Mapping[str, float]


@dataclass(frozen=True)
class Gaps:
    """Arrivals; undefined figures are None.

    `gap_cv` is the gaps' coefficient of variation, `dispersion_60s` the variance of the arrivals
    in one-minute bins over their mean (1 for Poisson), `together` the share of requests that
    arrive with the one before.
    """

    span_s: float
    rate_per_s: float | None
    gap_mean_s: float | None
    gap_cv: float | None
    together: float | None
    dispersion_60s: float | None
    busiest_minute_per_s: float | None


@dataclass(frozen=True)
class AtLimit:
    """What one `max_model_len` would mean; shares are None when nothing fits."""

    max_model_len: int
    fitting: int
    too_long: int
    too_long_share: float
    contiguous_step: float | None
    contiguous_at_finish: float | None
    power_of_two_at_finish: float | None
    paged_at_finish: float | None


@dataclass(frozen=True)
class Description:
    """All of it; `to_tree` gives plain numbers and text."""

    count: int
    prompt: Lengths
    output: Lengths
    total: Lengths
    pearson: float | None
    spearman: float | None
    live_tokens: float
    arrivals: Gaps | None
    prompt_families: Sequence[Fit]
    output_families: Sequence[Fit]
    limits: Sequence[AtLimit]
    rows: int
    unusable: Mapping[str, int]
    notes: Sequence[str]

    def to_tree(self) -> dict[str, Any]:
        """Nested mappings and lists, ready for JSON."""
        return asdict(self)


def describe_trace(trace: Trace, limits: Sequence[int] = LIMITS) -> Description:
    """Describe the usable rows of a trace."""
    prompt, output = trace.prompt.astype(np.int64), trace.output.astype(np.int64)
    return Description(
        count=len(trace),
        prompt=_lengths(prompt),
        output=_lengths(output),
        total=_lengths(prompt + output),
        pearson=pearson(prompt, output),
        spearman=spearman(prompt, output),
        live_tokens=live_tokens(prompt, output),
        arrivals=None if trace.arrival_s is None else gaps_of(trace.arrival_s),
        prompt_families=fit_families(prompt),
        output_families=fit_families(output),
        limits=[at_limit(prompt, output, limit) for limit in limits],
        rows=trace.rows,
        unusable=dict(trace.unusable),
        notes=trace.notes,
    )


def _lengths(values: Ints) -> Lengths:
    levels = np.quantile(values, _QUANTILES)
    named = {f"p{100 * q:g}": float(v) for q, v in zip(_QUANTILES, levels, strict=True)}
    return Lengths(
        mean=float(values.mean()),
        std=float(values.std()),
        least=int(values.min()),
        most=int(values.max()),
        quantiles=named,
    )


def gaps_of(arrival_s: Floats) -> Gaps:
    """The figures of arrival times, which must not fall and start at 0."""
    span, gaps = float(arrival_s[-1]), np.diff(arrival_s)
    mean = float(gaps.mean()) if len(gaps) else None
    minutes = int(span // _MINUTE)
    whole = arrival_s[arrival_s < minutes * _MINUTE]
    counts = np.bincount((whole // _MINUTE).astype(np.int64), minlength=minutes)
    return Gaps(
        span_s=span,
        rate_per_s=1 / mean if mean else None,
        gap_mean_s=mean,
        gap_cv=float(gaps.std() / mean) if mean else None,
        together=float((gaps == 0).mean()) if len(gaps) else None,
        dispersion_60s=float(counts.var() / counts.mean()) if minutes > 1 else None,
        busiest_minute_per_s=float(counts.max() / _MINUTE) if minutes else None,
    )


def at_limit(prompt: Ints, output: Ints, max_model_len: int) -> AtLimit:
    """What fits into `max_model_len`, and how much of its reservation is written."""
    fits = prompt + output <= max_model_len
    p, o = prompt[fits], output[fits]
    stored, any_fits = p + o - 1, bool(fits.any())
    left_out = len(prompt) - len(p)

    def share(reserved: Ints) -> float | None:
        return float(stored.sum() / reserved.sum()) if any_fits else None

    return AtLimit(
        max_model_len=max_model_len,
        fitting=len(p),
        too_long=left_out,
        too_long_share=left_out / len(prompt),
        contiguous_step=live_tokens(p, o) / max_model_len if any_fits else None,
        contiguous_at_finish=share(np.full(len(p), max_model_len)),
        power_of_two_at_finish=share(2 ** np.ceil(np.log2(np.maximum(stored, 1))).astype(np.int64)),
        paged_at_finish=share(-(-stored // _BLOCK) * _BLOCK),
    )
