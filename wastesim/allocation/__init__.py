"""Policies that hand out cells: plain Python, no clock, no arrays."""

from __future__ import annotations

from wastesim.allocation.contiguous import Contiguous
from wastesim.allocation.protocol import Ask, Ceiling, Growth, Holding, Policy

__all__ = ["Ask", "Ceiling", "Contiguous", "Growth", "Holding", "Policy"]
