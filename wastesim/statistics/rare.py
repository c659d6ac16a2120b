"""Whether what a run says of waiting hangs on a few moments of it.

Below its limit a server has a queue rarely, and then a long one: most of the mean wait comes from a
few bursts.  A run that saw three of them, or none by luck, does not know how often they come, and
batch means of what it saw are alike only because the bursts are missing.
"""

from __future__ import annotations

import numpy as np

from wastesim.records import Array, Records
from wastesim.statistics.series import Window

#: So near the ceiling the next burst makes a queue.
NEAR = 0.9
#: In a smaller part of the batches queues are rare.
RARE = 0.5
#: Numbers that are carried by queues.
CARRIED = ("latency.ttft_s.", "memory.shares_of_pool.time.stranded")


def rare_queues(records: Records, window: Window, batches: int) -> str:
    """Where queues were too rare to say how often they come, in words; else empty."""
    ticks, edges = records.ticks, window.edges(batches)
    few = RARE * batches
    waited = _batches_with(ticks["waiting"] > 0, ticks["t_s"], edges)
    if waited:
        return f"requests waited in {waited} of {batches} batches" if waited < few else ""
    near = _batches_with(ticks["running"] >= NEAR * records.facts.ceiling, ticks["t_s"], edges)
    if 0 < near < few:
        return f"no request waited, but the ceiling was near in {near} of {batches} batches"
    return ""


def _batches_with(mask: Array, t_s: Array, edges: Array) -> int:
    inside = mask & (t_s >= edges[0]) & (t_s < edges[-1])
    return len(np.unique(np.searchsorted(edges, t_s[inside], side="right")))
