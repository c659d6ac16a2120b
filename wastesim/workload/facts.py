"""The few figures by which a workload is recognised; what tables must reproduce."""

from __future__ import annotations

import numpy as np

from wastesim.workload.pairs import Ints


def live_tokens(prompt: Ints, output: Ints) -> float:
    """Mean stored tokens of a running request: sum o (p + (o - 1) / 2) / sum o.

    A request is seen in each of its `o` ticks with p, p + 1, ..., p + o - 1 tokens; divided by a
    reservation S this is the written share of contiguous `max_seq` caches (`.step`).
    """
    p, o = prompt.astype(np.float64), output.astype(np.float64)
    return float((o * (p + (o - 1) / 2)).sum() / o.sum())


def spearman(prompt: Ints, output: Ints) -> float | None:
    """Rank correlation, ties at their mean rank; None when one side never varies."""
    return pearson(_ranks(prompt), _ranks(output))


def _ranks(values: Ints) -> Ints:
    """Twice the mean rank of each value among all, which keeps ranks whole."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    upto = np.cumsum(counts)
    return np.asarray((2 * upto - counts + 1)[place])


def pearson(prompt: Ints, output: Ints) -> float | None:
    """Linear correlation; None when one side never varies."""
    if prompt.min() == prompt.max() or output.min() == output.max():
        return None
    return float(np.corrcoef(prompt, output)[0, 1])


def facts_of(prompt: Ints, output: Ints) -> dict[str, float | int]:
    """Count, means, correlation and `live_tokens` of pairs in tokens, for a workload file."""
    facts: dict[str, float | int] = {
        "count": len(prompt),
        "prompt_mean_tokens": round(float(prompt.mean()), 4),
        "output_mean_tokens": round(float(output.mean()), 4),
        "live_tokens": round(live_tokens(prompt, output), 4),
        "max_total_tokens": int((prompt + output).max()),
    }
    correlation = spearman(prompt, output)
    return facts if correlation is None else facts | {"spearman": round(correlation, 4)}
