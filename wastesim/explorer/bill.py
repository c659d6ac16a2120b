"""The memory bill of a server, as the page shows it; every term is the catalog's function.

The page computes the same numbers in the browser.  `tests/explorer/bill_cases.csv` is the table
that both must satisfy.
"""

from __future__ import annotations

from dataclasses import dataclass

from wastesim.catalog.budget import available_bytes, max_full_length_requests, usable_bytes
from wastesim.catalog.kv import kv_bytes_per_request, kv_bytes_per_token
from wastesim.catalog.weights import weights_bytes
from wastesim.config.hardware import ModelGeometry


@dataclass(frozen=True)
class Asked:
    """What somebody wants to serve."""

    dtype: str = "float16"
    context: int = 4096
    requests: int = 32
    card_bytes: int = 80 * 2**30
    utilization: float = 1.0
    overhead_bytes: int = 2 * 2**30


@dataclass(frozen=True)
class Bill:
    """What it takes, in bytes, and how many requests there is room for.

    `windowed_*` keep window and chunked layers at their length; the other numbers charge every
    token in every layer, as the simulator's cells and a unified cache do.
    """

    bytes_per_token: int
    cache_bytes: int
    windowed_cache_bytes: int
    weights_bytes: int
    usable_bytes: int
    free_bytes: int  # usable - weights - overhead - cache: negative when it does not fit
    capacity_cells: int
    largest: int
    windowed_largest: int


def bill(model: ModelGeometry, asked: Asked) -> Bill:
    """The bill of one model."""
    per_token = kv_bytes_per_token(model, asked.dtype)
    windowed = kv_bytes_per_request(model, asked.context, asked.dtype)
    whole = kv_bytes_per_request(model, asked.context, asked.dtype, capped=False)
    weights = weights_bytes(model)
    taken = weights + asked.overhead_bytes
    room = available_bytes(asked.card_bytes, asked.utilization, taken)
    cells = max(0, room) // per_token
    return Bill(
        bytes_per_token=per_token,
        cache_bytes=asked.requests * whole,
        windowed_cache_bytes=asked.requests * windowed,
        weights_bytes=weights,
        usable_bytes=usable_bytes(asked.card_bytes, asked.utilization),
        free_bytes=room - asked.requests * whole,
        capacity_cells=cells,
        largest=max_full_length_requests(cells, asked.context),
        windowed_largest=max(0, room) // windowed,
    )
