"""How many requests fit into so many bytes, by each engine's conventions.

::

    units    = bytes // bytes of a unit            unit: block, token (page) or slot
    requests = (units - null) // units per request of max_model_len
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wastesim.catalog.engines import Engine
from wastesim.catalog.groups import Group, kv_groups, layer_buckets
from wastesim.catalog.kv import fixed_bytes_per_request, kv_bytes_per_request, kv_bytes_per_token
from wastesim.catalog.layers import LIMITED, STORING, layer_kinds, layer_token_bytes
from wastesim.catalog.pool import BlockPool, block_bytes, block_pool, in_flight_tokens
from wastesim.catalog.slots import Slots
from wastesim.config.hardware import ModelGeometry

#: No model has a context beyond this; the search for the longest ends there.
_LONGEST = 2**31


@dataclass(frozen=True, slots=True)
class Fit:
    """Units that the bytes make, units that a full-length request takes, and what follows."""

    engine: Engine
    max_model_len: int
    available_bytes: int
    unit_bytes: int
    units: int
    units_per_request: int
    tokens: int
    groups: tuple[Group, ...] = ()

    @property
    def usable_units(self) -> int:
        """Units in which something can be stored."""
        return max(0, self.units - self.engine.null_blocks)

    @property
    def max_concurrency(self) -> float:
        """Requests of `max_model_len` as a fraction, the null block counted, as engines print."""
        return self.units / self.units_per_request

    @property
    def full_length_requests(self) -> int:
        """Whole requests of `max_model_len` that run together."""
        return self.usable_units // self.units_per_request

    @property
    def left_over_bytes(self) -> int:
        """Bytes that are too few for one more unit."""
        return self.available_bytes - self.units * self.unit_bytes


@dataclass(frozen=True, slots=True)
class Load:
    """What is to be served: a model on `tp` ranks, its cache's type, and the longest request."""

    model: ModelGeometry
    max_model_len: int
    dtype: str = "auto"
    tp: int = 1
    max_num_batched_tokens: int | None = None
    async_scheduling: bool = False
    hybrid: bool = True


def fit(engine: Engine, load: Load, available_bytes: int) -> Fit:
    """What `available_bytes` (of one rank) hold."""
    if engine.windows == "grouped":
        return _grouped(engine, load, available_bytes)
    if engine.unit == "slot":
        return _slots(engine, load, available_bytes)
    return _paged(engine, load, available_bytes)


def pool_of(engine: Engine, load: Load, available_bytes: int) -> BlockPool:
    """vLLM's pool, groups and log line included."""
    buckets = layer_buckets(load.model, engine.block_size, load.dtype, load.tp)
    batched = load.max_num_batched_tokens or engine.batched_tokens
    flight = in_flight_tokens(batched, async_scheduling=load.async_scheduling)
    return block_pool(
        kv_groups(buckets, hybrid=load.hybrid),
        max_model_len=load.max_model_len + engine.lookahead_tokens,
        in_flight_tokens=flight,
        available_bytes=available_bytes,
        null_blocks=engine.null_blocks,
    )


def longest(engine: Engine, load: Load, available_bytes: int, requests: int = 1) -> int:
    """The largest `max_model_len` of which `requests` fit; 0 when not even one token does."""
    from dataclasses import replace

    def fits(length: int) -> bool:
        found = fit(engine, replace(load, max_model_len=length), available_bytes)
        return found.full_length_requests >= requests

    return _last(fits)


def request_bytes(engine: Engine, load: Load, tokens: int) -> int:
    """Bytes that a request of `tokens` takes on one rank, whole units included."""
    from dataclasses import replace

    found = fit(engine, replace(load, max_model_len=max(1, tokens)), 0)
    return found.units_per_request * found.unit_bytes


def _grouped(engine: Engine, load: Load, available_bytes: int) -> Fit:
    pool = pool_of(engine, load, available_bytes)
    tokens = pool.tokens_v0_11 if engine.name == "vllm-0.11" else pool.tokens
    return Fit(
        engine,
        load.max_model_len,
        available_bytes,
        block_bytes(pool.groups),
        pool.num_blocks,
        pool.blocks_per_request,
        tokens,
        pool.groups,
    )


def _paged(engine: Engine, load: Load, available_bytes: int) -> Fit:
    """Pages of tokens; with `ratio`, those of full layers when windows have a smaller pool."""
    page = engine.block_size * _page_token_bytes(engine, load)
    units = available_bytes // page
    length = load.max_model_len + engine.lookahead_tokens
    need = -(-length // engine.block_size)
    fixed = fixed_bytes_per_request(load.model, load.dtype, load.tp)
    need += -(-fixed // page)
    tokens = units * engine.block_size
    return Fit(engine, load.max_model_len, available_bytes, page, units, need, tokens)


def _page_token_bytes(engine: Engine, load: Load) -> int:
    """Bytes per token of the larger pool: `full + ratio * window` layers."""
    if engine.windows != "ratio":
        return kv_bytes_per_token(load.model, load.dtype, load.tp)
    kinds = [kind for kind in layer_kinds(load.model) if kind.kind in STORING]
    mixed = len({kind.kind in LIMITED for kind in kinds}) > 1
    return sum(
        int(
            kind.layers
            * layer_token_bytes(kind, load.dtype, load.tp)
            * (engine.window_ratio if mixed and kind.kind in LIMITED else 1)
        )
        for kind in kinds
    )


def _slots(engine: Engine, load: Load, available_bytes: int) -> Fit:
    """One buffer per request, as long as `max_model_len`."""
    length = load.max_model_len + engine.lookahead_tokens
    if engine.windows == "capped":
        slots = Slots(length, pad_cells=engine.pad_tokens)
        each = slots.bytes(load.model, load.dtype) // load.tp
        cells = slots.cells_per_slot
    else:
        each = kv_bytes_per_request(load.model, length, load.dtype, load.tp, capped=False)
        cells = length
    units = available_bytes // each
    return Fit(engine, load.max_model_len, available_bytes, each, units, 1, units * cells)


def _last(fits: Callable[[int], bool]) -> int:
    """The largest number that still fits, by doubling and halving; 0 for none."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high < _LONGEST and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
