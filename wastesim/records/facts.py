"""What a run knew beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Facts:
    """What the run knew beforehand and cannot be read off its rows."""

    name: str
    policy: str
    scheduler: str
    model: str
    gpu: str
    executed_model: str | None
    clock: str
    max_model_len: int
    max_num_seqs: int
    capacity_cells: int
    bytes_per_token: int
    ceiling: int
    ceiling_reason: str
    bandwidth_bytes_per_s: float
    peak_flop_per_s: float
    weights_bytes: int
    block_cells: int = 1
    copied_tokens: int = 0
    double_residency_peak_cells: int = 0
    explanations: list[str] = field(default_factory=list)
    workload: dict[str, Any] = field(default_factory=dict)
    decode: dict[str, Any] = field(default_factory=dict)
    counted: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    stopped_because: str = ""
    #: The part of the run that counts, see `window`; empty for all of it.
    window: dict[str, Any] = field(default_factory=dict)
