"""`clock:` of an experiment: when a tick that starts now ends, told apart by `kind`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from wastesim.config.base import Frozen
from wastesim.config.quantities import Seconds, Share


class RooflineClock(Frozen):
    """dt = max(bytes / (bandwidth * eta), FLOP / (peak * eta)) + overhead.

    Efficiencies are shares of the card's ideal; `python -m wastesim.clockfit` finds them from a
    table of measured steps.
    """

    kind: Literal["roofline"]
    bandwidth_efficiency: Share = 1.0
    flops_efficiency: Share = 1.0
    overhead_s: Seconds = 0.0


class TableClock(Frozen):
    """Measured step times, interpolated (docs/clocks.md has the columns of `file`)."""

    kind: Literal["table"]
    file: str


class FixedClock(Frozen):
    """Every tick takes `step_s`, on the grid k * step_s, also when idle."""

    kind: Literal["fixed"]
    step_s: Annotated[Seconds, Field(gt=0)]


class MeasuredClock(Frozen):
    """A tick takes as long as the NumPy decode needs for it on this machine."""

    kind: Literal["measured"]


Clock = Annotated[
    RooflineClock | TableClock | FixedClock | MeasuredClock, Field(discriminator="kind")
]
