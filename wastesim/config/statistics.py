"""`statistics:` of an experiment: the confidence of intervals, and what latency is good enough."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from wastesim.config.base import Frozen
from wastesim.config.quantities import Seconds

Objective = Annotated[Seconds, Field(gt=0)]


class Objectives(Frozen):
    """Latency objectives: a request is good when it completed and met every one that is given."""

    ttft_s: Objective | None = None
    tpot_s: Objective | None = None
    e2el_s: Objective | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> Objectives:
        if self.ttft_s is None and self.tpot_s is None and self.e2el_s is None:
            raise ValueError("must have at least one of 'ttft_s', 'tpot_s' and 'e2el_s'")
        return self


class Statistics(Frozen):
    """How sure intervals are, and which requests count as good."""

    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    goodput: Objectives | None = None
