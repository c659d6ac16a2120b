"""When each box fills, in steps: a decoding request writes one cell in every step that runs.

Times would not do: steps grow longer as contexts do.  Steps are counted from the end of a stay,
where the written cells are known exactly, so that what is computed again after a preemption does
not shift them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wastesim.records import Array, Records
from wastesim.report.figures.holdings import Holdings


class Growth(NamedTuple):
    """A box has its first written cells until `grows`, its last from `full` on."""

    grows: Array
    full: Array


def steps_at(records: Records, t_s: Array) -> Array:
    """Steps that ran before each moment, parts of a step included; at the mean pace outside."""
    ticks = records.ticks
    edges = np.append(ticks["t_s"], ticks["t_s"][-1] + ticks["dt_s"][-1])
    ran = np.concatenate([[0], np.cumsum(records.steps)])
    pace = ran[-1] / max(edges[-1] - edges[0], 1e-12)
    outside = (np.minimum(t_s - edges[0], 0) + np.maximum(t_s - edges[-1], 0)) * pace
    steps: Array = np.interp(t_s, edges, ran) + outside
    return steps


def growth(records: Records, held: Holdings, request: Array, offset: Array) -> Growth:
    """When each box fills."""
    end = np.rint(steps_at(records, held.to_s))
    reached = np.where(held.last_written > 0, offset + held.last_written, 0)
    full = end - (_most_of_stay(request, held.to_s, reached) - reached)
    return Growth(full - (held.last_written - held.first_written), full)


def _most_of_stay(request: Array, to_s: Array, reached: Array) -> Array:
    """Written cells at the end of the stay that each box belongs to."""
    _, stay = np.unique(np.column_stack([request, to_s]), axis=0, return_inverse=True)
    stay = stay.reshape(-1)
    most = np.zeros(int(stay.max(initial=-1)) + 1)
    np.maximum.at(most, stay, reached)
    found: Array = most[stay]
    return found


def written_at(held: Holdings, grown: Growth, steps: float) -> Array:
    """Written cells of every box when so many steps ran; the running step counts."""
    cells = held.first_written + np.ceil(steps - 1e-3 - grown.grows)
    written: Array = np.clip(cells, held.first_written, held.last_written)
    return written
