"""From the bytes of a card to the cells of the KV pool, with every term kept.

::

    kv_bytes       = ceil(card_bytes * gpu_memory_utilization) - weights_bytes - overhead_bytes
    capacity_cells = kv_bytes // bytes_per_token           (the rest is the remainder)

`kv_cache_memory_bytes` replaces the first line, `num_cells_override` both, as in vLLM.  Engines
that take a share of what is free, as TensorRT-LLM does, have as the first line
``floor((card_bytes - weights_bytes - overhead_bytes) * share)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NoReturn

from wastesim.errors import ConfigError
from wastesim.units import GIB, format_bytes

#: Activations, graphs and everything else that is neither weights nor keys and values.
DEFAULT_OVERHEAD_BYTES = 2 * GIB

ShareOf = Literal["total", "free"]
Basis = Literal["gpu_memory_utilization", "kv_cache_memory_bytes", "num_cells_override"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Where the memory of a card goes, and how many cells are left (all bytes are integers)."""

    card_bytes: int
    gpu_memory_utilization: float
    weights_bytes: int
    overhead_bytes: int
    bytes_per_token: int
    kv_bytes: int
    capacity_cells: int
    basis: Basis
    share_of: ShareOf = "total"

    @property
    def usable_bytes(self) -> int:
        """What the server may use: the share of the card, rounded up as vLLM does."""
        if self.share_of == "free":
            return self.card_bytes
        return usable_bytes(self.card_bytes, self.gpu_memory_utilization)

    @property
    def remainder_bytes(self) -> int:
        """Bytes of the KV budget that are too few for one more cell: outside the pool."""
        return self.kv_bytes - self.capacity_cells * self.bytes_per_token

    @property
    def beyond_card_bytes(self) -> int:
        """Bytes by which weights, overhead and cache exceed the card; 0 when they fit."""
        used = self.weights_bytes + self.overhead_bytes + self.kv_bytes
        return max(0, used - self.card_bytes)

    def because(self) -> str:
        """`capacity_cells = 155,987 because ...`, the arithmetic in one line."""
        reasons = {
            "num_cells_override": "num_cells_override says so",
            "kv_cache_memory_bytes": f"kv_cache_memory_bytes {_bytes(self.kv_bytes)}"
            f" / {self.bytes_per_token:,} B per token",
            "gpu_memory_utilization": f"{self._rest()} / {self.bytes_per_token:,} B per token",
        }
        return f"capacity_cells = {self.capacity_cells:,} because {reasons[self.basis]}"

    def explain(self) -> list[str]:
        """The same, term by term; the first line is `because()`."""
        lines = [self.because()]
        if self.basis == "gpu_memory_utilization":
            lines.append(f"{self._share()} = {_exact(self.usable_bytes)} usable")
            lines.append(f"- {_exact(self.weights_bytes)} weights")
            lines.append(f"- {_exact(self.overhead_bytes)} overhead")
        lines.append(f"= {_exact(self.kv_bytes)} for keys and values")
        lines.append(f"= {self.capacity_cells:,} cells of {self.bytes_per_token:,} B")
        lines.append(f"+ {self.remainder_bytes:,} B that do not make a cell")
        if self.beyond_card_bytes:
            lines.append(f"the card has {_exact(self.beyond_card_bytes)} less than this takes")
        return lines

    def _share(self) -> str:
        if self.share_of == "free":
            return f"{_bytes(self.card_bytes)} card"
        return f"{_bytes(self.card_bytes)} card x {self.gpu_memory_utilization:g}"

    def _rest(self) -> str:
        taken = f"{_bytes(self.weights_bytes)} weights - {_bytes(self.overhead_bytes)} overhead"
        rest = f"({self._share()} - {taken})"
        free = self.share_of == "free"
        return f"{rest} x {self.gpu_memory_utilization:g} of what is free" if free else rest


def usable_bytes(card_bytes: int, share: float) -> int:
    """`ceil(card_bytes * share)`, rounded up as vLLM does."""
    return math.ceil(card_bytes * share)


def available_bytes(
    card_bytes: int, share: float, taken_bytes: int, share_of: ShareOf = "total"
) -> int:
    """Bytes left for the cache: `ceil(card * share) - taken`, or `floor((card - taken) * share)`.

    Negative when what is taken is more than what may be used.
    """
    if share_of == "free":
        return math.floor((card_bytes - taken_bytes) * share)
    return usable_bytes(card_bytes, share) - taken_bytes


def kv_budget(
    card_bytes: int,
    gpu_memory_utilization: float,
    weights_bytes: int,
    *,
    bytes_per_token: int,
    overhead_bytes: int = DEFAULT_OVERHEAD_BYTES,
    kv_cache_memory_bytes: int | None = None,
    num_cells_override: int | None = None,
    share_of: ShareOf = "total",
) -> Budget:
    """The budget of one GPU; ConfigError with the numbers when not one cell is left."""
    if bytes_per_token < 1:
        raise ConfigError("'model' keeps nothing per token: states only, no pool of cells")
    basis: Basis = "gpu_memory_utilization"
    taken = weights_bytes + overhead_bytes
    kv_bytes = available_bytes(card_bytes, gpu_memory_utilization, taken, share_of)
    if num_cells_override is not None:
        basis, kv_bytes = "num_cells_override", num_cells_override * bytes_per_token
    elif kv_cache_memory_bytes is not None:
        basis, kv_bytes = "kv_cache_memory_bytes", kv_cache_memory_bytes
    terms = (card_bytes, gpu_memory_utilization, weights_bytes, overhead_bytes, bytes_per_token)
    budget = Budget(*terms, kv_bytes, kv_bytes // bytes_per_token, basis, share_of)
    return budget if budget.capacity_cells >= 1 else _refuse(budget)


def max_full_length_requests(capacity_cells: int, max_model_len: int) -> int:
    """How many requests of the longest allowed length fit, one cell per token."""
    return capacity_cells // max_model_len


def _refuse(budget: Budget) -> NoReturn:
    if budget.basis != "gpu_memory_utilization":
        raise ConfigError(
            f"'{budget.basis}' must hold at least one cell of {budget.bytes_per_token:,} B "
            f"(got {budget.kv_bytes:,} B): raise it"
        )
    needed = budget.weights_bytes + budget.overhead_bytes + budget.bytes_per_token
    raise ConfigError(
        f"no memory is left for keys and values: {budget._share()} = {_exact(budget.usable_bytes)}"
        f" usable, but {_bytes(budget.weights_bytes)} weights + {_bytes(budget.overhead_bytes)} "
        f"overhead and one token need {_exact(needed)}; raise gpu_memory_utilization, take a "
        "larger gpu, a smaller model, or weights of fewer bytes (weights_dtype, weights)"
    )


def _bytes(value: int) -> str:
    return format_bytes(value)


def _exact(value: int) -> str:
    return f"{format_bytes(value)} ({value:,} B)"
