"""Distributions of lengths: families, tables and mixtures, told apart by `kind`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from wastesim.config.base import Frozen
from wastesim.config.quantities import Tokens

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def exactly_one(model: Frozen, *names: str) -> None:
    """ValueError unless the model has exactly one of the keys `names`."""
    given = [name for name in names if getattr(model, name) is not None]
    if len(given) != 1:
        wanted = f"{', '.join(repr(name) for name in names[:-1])} and {names[-1]!r}"
        raise ValueError(f"must have exactly one of {wanted} (got {' and '.join(given) or 'none'})")


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
    `mean` and `median` (tokens) are always those of the unbounded distribution.
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
    """The logarithm is normal with deviation `sigma`; one of `mu`, `mean`, `median` places it."""

    kind: Literal["lognormal"] = "lognormal"
    mu: Finite | None = None
    mean: Positive | None = None
    median: Positive | None = None
    sigma: Positive

    @model_validator(mode="after")
    def _placed_once(self) -> Lognormal:
        exactly_one(self, "mu", "mean", "median")
        return self


class Gamma(Bounded):
    """Gamma with `shape` k; one of `scale` (tokens) and `mean` = k * scale places it."""

    kind: Literal["gamma"] = "gamma"
    shape: Positive
    scale: Positive | None = None
    mean: Positive | None = None

    @model_validator(mode="after")
    def _placed_once(self) -> Gamma:
        exactly_one(self, "scale", "mean")
        return self


class Weibull(Bounded):
    """Weibull with `shape`; one of `scale` (tokens, the 63 % quantile) and `mean` places it."""

    kind: Literal["weibull"] = "weibull"
    shape: Positive
    scale: Positive | None = None
    mean: Positive | None = None

    @model_validator(mode="after")
    def _placed_once(self) -> Weibull:
        exactly_one(self, "scale", "mean")
        return self


class NegativeBinomial(Bounded):
    """Failures before the `r`-th success of chance `p`; or given by `mean` = r (1 - p) / p.

    `r` need not be whole.  The variance is mean + mean**2 / r.
    """

    kind: Literal["negative_binomial"] = "negative_binomial"
    r: Positive
    p: Annotated[float, Field(gt=0, lt=1)] | None = None
    mean: Annotated[Positive, Field(le=2**20)] | None = None

    @model_validator(mode="after")
    def _placed_once(self) -> NegativeBinomial:
        exactly_one(self, "p", "mean")
        return self


class Zipf(Frozen):
    """Length k from `min` to `max` tokens has a chance proportional to ``k ** -exponent``."""

    kind: Literal["zipf"] = "zipf"
    exponent: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    min: Tokens = 1
    max: Annotated[Tokens, Field(le=2**20)]

    @model_validator(mode="after")
    def _in_order(self) -> Zipf:
        if self.max < self.min:
            raise ValueError(f"'max' must be >= 'min' (got min {self.min}, max {self.max})")
        return self


class Quantiles(Frozen):
    """A table of quantiles: a CSV file with a column `permille` (0 to 1000) and one of tokens.

    Between its points quantiles are interpolated linearly.
    """

    kind: Literal["quantiles"] = "quantiles"
    file: str
    column: str


class Part(Frozen):
    """One part of a mixture; weights are relative to their sum."""

    weight: Positive
    of: Distribution


class Mixture(Bounded):
    """Each length is from one of several distributions, chosen with the parts' weights."""

    kind: Literal["mixture"] = "mixture"
    parts: Annotated[list[Part], Field(min_length=1)]

    @model_validator(mode="after")
    def _bounds_at_the_top(self) -> Mixture:
        """Samples are drawn from the mixture as a whole, so only it can count what is outside."""
        for part in self.parts:
            if isinstance(part.of, Bounded) and (part.of.min or part.of.max):
                raise ValueError("'min' and 'max' belong to the mixture itself, not to its parts")
        return self


def _fixed_if_number(value: Any) -> Any:
    """`512` and `2Ki` stand for lengths that are all the same."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    plain |= isinstance(value, str) and value[:1].isdigit()
    return {"kind": "fixed", "value": value} if plain else value


#: A distribution of lengths, told apart by `kind`; a bare number is `fixed`.
Distribution = Annotated[
    Fixed | Uniform | Lognormal | Gamma | Weibull | NegativeBinomial | Zipf | Quantiles | Mixture,
    Field(discriminator="kind"),
    BeforeValidator(_fixed_if_number),
]
