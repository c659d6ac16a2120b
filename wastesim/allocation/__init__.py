"""Policies that hand out cells: plain Python, no clock, no arrays.

A policy is a claim (how much) and a place (where): see `claims`, and `slots`, `spans`, `blocks`.
"""

from __future__ import annotations

from wastesim.allocation.base import PolicyBase
from wastesim.allocation.build import Pool, block_cells, build_policy
from wastesim.allocation.protocol import (
    Ask,
    Ceiling,
    Fragmentation,
    Growth,
    Holding,
    Part,
    Policy,
)
from wastesim.allocation.slots import Slots

__all__ = [
    "Ask",
    "Ceiling",
    "Fragmentation",
    "Growth",
    "Holding",
    "Part",
    "Policy",
    "PolicyBase",
    "Pool",
    "Slots",
    "block_cells",
    "build_policy",
]
