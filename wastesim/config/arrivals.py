"""`workload:` of an experiment: where requests come from, and when they arrive."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from wastesim.config.base import Frozen
from wastesim.config.distributions import Distribution, Positive
from wastesim.config.lengths import Lengths, TraceReading
from wastesim.config.quantities import Count, RequestRate, Seconds

Duration = Annotated[Seconds, Field(gt=0)]
#: Requests per second that may be zero for a while.
QuietRate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Constant(Frozen):
    """A request every 1 / `rate` seconds, without any chance."""

    kind: Literal["constant"] = "constant"
    rate: Positive


class OnOff(Frozen):
    """Bursts: `on_rate` for `on_s` seconds, then `off_rate` for `off_s`, and again.

    With `random: true` the lengths of the phases are exponential with these means.
    """

    kind: Literal["on_off"] = "on_off"
    on_rate: Positive
    off_rate: QuietRate = 0.0
    on_s: Duration
    off_s: Duration
    random: bool = False

    @model_validator(mode="after")
    def _something_comes(self) -> OnOff:
        cycle = self.on_rate * self.on_s + self.off_rate * self.off_s
        if cycle < 1e-3:
            raise ValueError(f"must bring at least 0.001 requests in a cycle (got {cycle:g})")
        return self


class Ramp(Frozen):
    """A rate that goes straight from `from_rate` to `to_rate` in `over_s`, and stays there."""

    kind: Literal["ramp"] = "ramp"
    from_rate: QuietRate
    to_rate: Positive
    over_s: Duration


class Diurnal(Frozen):
    """A daily wave: ``mean_rate * (1 + amplitude * cos(2 pi (t - peak_s) / period_s))``."""

    kind: Literal["diurnal"] = "diurnal"
    mean_rate: Positive
    amplitude: Annotated[float, Field(ge=0, le=1)]
    period_s: Duration = 86_400.0
    peak_s: Seconds = 0.0


#: A rate that changes with time, told apart by `kind`.
RateShape = Annotated[Constant | OnOff | Ramp | Diurnal, Field(discriminator="kind")]


class Arrivals(Frozen):
    """When requests arrive: a renewal process with gamma gaps, as vLLM's load generator has it.

    `request_rate` is per second, `inf` puts every arrival at t = 0.  `burstiness` is the gamma
    shape: 1 is Poisson, below 1 is burstier; the gaps' coefficient of variation is
    `burstiness ** -0.5`.  `arrivals` replaces the constant rate by one that changes.
    """

    request_rate: RequestRate | None = None
    arrivals: RateShape | None = None
    burstiness: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    #: Stretch arrivals so that the last comes at num_requests / request_rate, as vLLM does.
    rescale: bool = False
    #: Requests in flight at most; one that would be more waits outside until another finishes.
    max_concurrency: Count | None = None

    @model_validator(mode="after")
    def _rates_agree(self) -> Arrivals:
        if self.arrivals is not None and self.request_rate is not None:
            raise ValueError("must have at most one of 'request_rate' and 'arrivals' (got both)")
        if self.rescale and math.isinf(self.rate):
            raise ValueError("'rescale' needs a finite 'request_rate' to rescale to")
        if isinstance(self.arrivals, Constant) and self.burstiness != 1:
            raise ValueError("'burstiness' has no meaning for 'arrivals' of kind constant")
        return self

    @property
    def rate(self) -> float:
        """Requests per second; all at once unless a rate is given."""
        return math.inf if self.request_rate is None else self.request_rate

    @property
    def has_rate(self) -> bool:
        """Whether anything is said about when requests arrive."""
        return self.request_rate is not None or self.arrivals is not None


def _word_or_distribution(value: Any) -> str:
    return "word" if isinstance(value, str) and value.isalpha() else "distribution"


#: What clients declare as their `max_tokens`.
MaxTokens = Annotated[
    Annotated[Literal["output"], Tag("word")] | Annotated[Distribution, Tag("distribution")],
    Discriminator(_word_or_distribution),
]


class WorkloadSpec(Arrivals, TraceReading):
    """Requests: drawn (`lengths`) or the rows of a trace in their own order (`trace`).

    A trace keeps its own arrivals unless `request_rate` or `arrivals` replaces them.
    """

    lengths: Lengths | None = None
    trace: str | None = None
    num_requests: Count | None = None
    #: What clients declare: nothing, `output` (the true length), or a number drawn for each.
    max_tokens: MaxTokens | None = None
    #: A trace's own arrivals run this much faster.
    speed: Positive | None = None
    #: Only the trace's rows that arrive so many seconds after its first, `until_s` excluded.
    from_s: Seconds | None = None
    until_s: Seconds | None = None

    @model_validator(mode="after")
    def _one_source(self) -> WorkloadSpec:
        if (self.lengths is None) == (self.trace is None):
            raise ValueError("must have exactly one of 'lengths' (drawn) and 'trace' (replayed)")
        if self.trace is None and self.num_requests is None:
            raise ValueError("'num_requests' is required, unless a 'trace' is replayed")
        return self

    @model_validator(mode="after")
    def _replay_keys_need_a_replay(self) -> WorkloadSpec:
        for name in ("speed", "from_s", "until_s"):
            if getattr(self, name) is not None and not self.replays_arrivals:
                raise ValueError(f"'{name}' needs a 'trace' with its own arrivals")
        start, stop = self.from_s or 0.0, self.until_s
        if stop is not None and stop <= start:
            raise ValueError(f"'until_s' must be > 'from_s' (got from {start:g}, until {stop:g})")
        return self

    @model_validator(mode="after")
    def _reading_keys_need_a_trace(self) -> WorkloadSpec:
        given = [n for n in TraceReading.model_fields if getattr(self, n) is not None]
        if given and self.trace is None:
            raise ValueError(
                f"'{given[0]}' needs a 'trace'; to resample one, put it into"
                " 'lengths: {kind: resample, file: ...}'"
            )
        return self

    @property
    def replays_arrivals(self) -> bool:
        """Whether requests come when the trace's rows did."""
        return self.trace is not None and not self.has_rate
