"""`lengths:` of a workload: how many tokens prompts and outputs have.

A length is drawn from a *distribution* of its own (`{prompt: ..., output: ...}`), from a *joint*
table that keeps what prompts and outputs have to do with each other, or *resampled* in pairs
from the rows of a trace.  Text instead of a mapping names a workload that comes with wastesim,
a workload file (`.yaml`), or a trace to resample.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from wastesim.config.base import Frozen
from wastesim.config.quantities import Tokens

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Fixed(Frozen):
    """Every length is `value` tokens."""

    kind: Literal["fixed"] = "fixed"
    value: Tokens


class Uniform(Frozen):
    """Whole numbers from `low` to `high` tokens, both included, all equally likely."""

    kind: Literal["uniform"] = "uniform"
    low: Tokens
    high: Tokens

    @model_validator(mode="after")
    def _in_order(self) -> Uniform:
        if self.high < self.low:
            raise ValueError(f"'high' must be >= 'low' (got low {self.low}, high {self.high})")
        return self


class Bounded(Frozen):
    """A family that reaches further than lengths may; what falls outside is always counted.

    Values are rounded to whole tokens.  Without `min`, what rounds below 1 is raised to 1.
    """

    min: Tokens | None = None
    max: Tokens | None = None
    #: Draw again until the value is inside, or move it to the nearer bound.
    outside: Literal["redraw", "clip"] = "redraw"

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Bounded:
        if self.min is not None and self.max is not None and self.max < self.min:
            raise ValueError(f"'max' must be >= 'min' (got min {self.min}, max {self.max})")
        return self


class Lognormal(Bounded):
    """The logarithm is normal with deviation `sigma`; one of `mu`, `mean`, `median` places it.

    `mean` and `median` (tokens) are those of the unbounded distribution.
    """

    kind: Literal["lognormal"] = "lognormal"
    mu: Finite | None = None
    mean: Positive | None = None
    median: Positive | None = None
    sigma: Positive

    @model_validator(mode="after")
    def _placed_once(self) -> Lognormal:
        given = [name for name in ("mu", "mean", "median") if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise ValueError(f"must have exactly one of 'mu', 'mean' and 'median' (got {got})")
        return self


def _fixed_if_number(value: Any) -> Any:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return {"kind": "fixed", "value": value} if plain else value


#: A distribution of lengths, told apart by `kind`; a bare number is `fixed`.
Distribution = Annotated[
    Fixed | Uniform | Lognormal,
    Field(discriminator="kind"),
    BeforeValidator(_fixed_if_number),
]


class Marginals(Frozen):
    """Prompts and outputs from a distribution each, drawn independently."""

    kind: Literal["marginals"] = "marginals"
    prompt: Distribution
    output: Distribution


class Joint(Frozen):
    """Pairs from a table of quantiles, made by `wastesim.workload.tables` (see there)."""

    kind: Literal["joint"] = "joint"
    table: str
    #: No pair has more tokens than this; outputs of the table are then shares of the room left.
    max_total: Tokens | None = None


class TraceColumns(Frozen):
    """Names of a trace's columns, where wastesim would not know them by itself."""

    prompt: str | None = None
    output: str | None = None
    arrival: str | None = None


TimeUnit = Literal["s", "ms", "us", "ns"]


class Resample(Frozen):
    """(prompt, output) pairs of the usable rows of a trace, drawn with replacement."""

    kind: Literal["resample"] = "resample"
    file: str
    columns: TraceColumns | None = None


def _kind_of_lengths(value: Any) -> str:
    if isinstance(value, str):
        return "name"
    if isinstance(value, Mapping):
        return str(value.get("kind", "marginals"))
    return str(getattr(value, "kind", "marginals"))


#: What `lengths:` may be.
Lengths = Annotated[
    Annotated[str, Tag("name")]
    | Annotated[Marginals, Tag("marginals")]
    | Annotated[Joint, Tag("joint")]
    | Annotated[Resample, Tag("resample")],
    Discriminator(_kind_of_lengths),
]


class Provenance(Frozen):
    """Where a workload's numbers come from, and what may be done with them."""

    source: str
    licence: str
    made: str


class WorkloadFile(Frozen):
    """A file of `workloads/`: lengths with their provenance and the facts they reproduce."""

    title: str
    lengths: Lengths
    provenance: Provenance
    #: Figures of the source, by name; units are in the names.
    facts: dict[str, float | int] = Field(default_factory=dict)
