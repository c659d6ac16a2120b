"""The SimPy model: arrivals, scheduler, clock, the tick.  Start reading at `server`."""

from __future__ import annotations

from wastesim.engine.observer import Observer
from wastesim.engine.simulate import run

__all__ = ["Observer", "run"]
