"""`workload:` of an experiment: where requests come from, and when they arrive."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, model_validator

from wastesim.config.base import Frozen
from wastesim.config.lengths import Lengths, TimeUnit, TraceColumns
from wastesim.config.quantities import Count, RequestRate


class Arrivals(Frozen):
    """When requests arrive: a renewal process with gamma gaps, as vLLM's load generator has it.

    `request_rate` is per second, `inf` puts every arrival at t = 0.  `burstiness` is the gamma
    shape: 1 is Poisson, below 1 is burstier; the gaps' coefficient of variation is
    `burstiness ** -0.5`.
    """

    request_rate: RequestRate | None = None
    burstiness: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    @property
    def rate(self) -> float:
        """Requests per second; all at once unless a rate is given."""
        return math.inf if self.request_rate is None else self.request_rate


class WorkloadSpec(Arrivals):
    """Requests: drawn (`lengths`) or the rows of a trace in their own order (`trace`).

    A trace keeps its own arrivals unless `request_rate` replaces them.
    """

    lengths: Lengths | None = None
    trace: str | None = None
    #: How to read a trace whose names wastesim does not know, or whose clock has no unit.
    columns: TraceColumns | None = None
    time_unit: TimeUnit | None = None
    num_requests: Count | None = None

    @model_validator(mode="after")
    def _one_source(self) -> WorkloadSpec:
        if (self.lengths is None) == (self.trace is None):
            raise ValueError("must have exactly one of 'lengths' (drawn) and 'trace' (replayed)")
        if self.trace is None and self.num_requests is None:
            raise ValueError("'num_requests' is required, unless a 'trace' is replayed")
        return self

    @property
    def replays_arrivals(self) -> bool:
        """Whether requests come when the trace's rows did."""
        return self.trace is not None and self.request_rate is None
