"""The lengths that a run's requests asked for, whatever became of them."""

from __future__ import annotations

from typing import NamedTuple

from wastesim.config.workload import TooLong
from wastesim.records import Array, Records


class Lengths(NamedTuple):
    """Prompt and output tokens, request by request."""

    prompt: Array
    output: Array

    @property
    def total(self) -> Array:
        """P + O."""
        total: Array = self.prompt + self.output
        return total

    def mean_context(self) -> float:
        """Mean written cells of a running request per tick: sum o (p + (o - 1) / 2) / sum o."""
        p, o = self
        return float((o * (2 * p + o - 1)).sum()) / (2 * float(o.sum()))

    def served(self, max_model_len: int, rule: TooLong) -> Lengths:
        """What a server of this limit and rule serves: whom it lets in, and how far."""
        if rule == "truncate":
            return self.cut_at(max_model_len)
        return self.at_most(max_model_len)

    def at_most(self, max_model_len: int) -> Lengths:
        """Those that a server of this limit would not reject."""
        kept = self.total <= max_model_len
        return Lengths(self.prompt[kept], self.output[kept])

    def fitting(self, cells: int, unit_cells: int = 1) -> Lengths:
        """Those whose P + O - 1 stored tokens an empty pool of so many whole units can hold."""
        units = -(-(self.total - 1) // unit_cells)
        kept = units <= cells // unit_cells
        return Lengths(self.prompt[kept], self.output[kept])

    def cut_at(self, max_model_len: int) -> Lengths:
        """Those that a server of vLLM's rules serves, their outputs cut: P < L, O <= L - P."""
        kept = self.prompt < max_model_len
        room = max_model_len - self.prompt[kept]
        return Lengths(self.prompt[kept], self.output[kept].clip(max=room))


def asked(records: Records) -> Lengths:
    """Every request that arrived, with the output it asked for before any truncation."""
    rows = records.requests
    return Lengths(rows["prompt_tokens"], rows["output_tokens"] + rows["truncated_tokens"])
