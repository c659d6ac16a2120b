"""`search:` of an experiment: the value of one key that answers a question.

::

    search:                                 # the largest rate that 95 % of requests do not suffer
      key: workload.request_rate
      find: largest
      between: [1, 64]
      where: {metric: goodput, at_least: 0.95}

    search:                                 # the best block size
      key: server.block_size
      find: best
      among: [1, 2, 4, 8, 16, 32, 64]
      maximize: throughput.output_tokens_per_s

`largest` and `smallest` bisect and take it that the answer changes once on the way; `best` is a
golden section and takes it that there is one summit.  Answers are noisy: each probe is repeated,
with the same seeds as every other probe, and repeated more where it cannot be told.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, FiniteFloat, model_validator

from wastesim.config.base import Frozen
from wastesim.config.quantities import Count, Repeats
from wastesim.config.sweep import Key, Values, two
from wastesim.config.validation import is_whole

KEY = "search"


class Condition(Frozen):
    """What must hold at the value that is looked for."""

    metric: str
    at_least: FiniteFloat | None = None
    at_most: FiniteFloat | None = None

    @model_validator(mode="after")
    def _has_one_bound(self) -> Condition:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("must have exactly one of 'at_least' and 'at_most'")
        return self

    @property
    def bound(self) -> float:
        """The number that the metric is held against."""
        return self.at_least if self.at_least is not None else float(self.at_most or 0.0)

    @property
    def sign(self) -> int:
        """1 when more is better, -1 when less is."""
        return 1 if self.at_least is not None else -1


def _refuse_no_multiple(between: list[float], of: int) -> None:
    low, high = between
    if math.ceil(low / of) > math.floor(high / of):
        what = "a whole number" if of == 1 else f"a multiple of {of:,}"
        raise ValueError(f"'between' must hold {what} (got {low:,g} to {high:,g})")


def _refuse_disorder(values: list[Any]) -> None:
    """Among numbers that go up and down, a search finds anything."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    for one, other in pairwise(numbers if len(numbers) == len(values) else []):
        if not one < other:
            raise ValueError(f"'among' must go up (got {one:,g} before {other:,g})")


class Search(Frozen):
    """One key, where to look, and what is looked for."""

    key: Key
    find: Literal["largest", "smallest", "best"]
    #: Two ends of numbers, or values in order to choose from.
    between: Annotated[list[FiniteFloat], AfterValidator(two)] | None = None
    among: Values | None = None
    where: Condition | None = None
    maximize: str | None = None
    minimize: str | None = None
    #: Only multiples of it are tried: 1, of keys that are whole numbers, means those.
    multiple_of: Count | None = None
    #: Two values are close enough when they differ by this part of the larger.
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.02
    replications: Repeats = 5
    #: Where the interval still holds the bound, a probe is repeated up to so often.
    most_replications: Repeats = 20
    most_probes: Repeats = 40

    @model_validator(mode="after")
    def _knows_where_to_look(self) -> Search:
        if (self.between is None) == (self.among is None):
            raise ValueError("must have exactly one of 'between' (two ends) and 'among' (a list)")
        if self.between is not None and not self.between[0] < self.between[1]:
            raise ValueError(f"'between' must go up (got {self.between[0]:g}, {self.between[1]:g})")
        if self.between is not None and self.multiple_of is not None:
            _refuse_no_multiple(self.between, self.multiple_of)
        if self.among is not None:
            _refuse_disorder(self.among)
        if self.among is not None and self.multiple_of is not None:
            raise ValueError("'multiple_of' needs 'between'")
        if self.most_replications < self.replications:
            raise ValueError(f"'most_replications' must be >= replications, {self.replications}")
        return self

    @model_validator(mode="after")
    def _knows_what_to_look_for(self) -> Search:
        goals = [self.maximize is not None, self.minimize is not None]
        if self.find == "best" and (sum(goals) != 1 or self.where is not None):
            raise ValueError("'find' best needs exactly one of 'maximize' and 'minimize'")
        if self.find != "best" and (any(goals) or self.where is None):
            raise ValueError(f"'find' {self.find} needs 'where': a metric and its bound")
        return self

    @property
    def metric(self) -> str:
        """The number that is looked at."""
        return (self.where.metric if self.where else self.maximize or self.minimize) or ""

    def of(self, model: type[BaseModel]) -> Search:
        """Itself, or of whole numbers where its key is one; ValueError where none is in reach."""
        whole = (
            self.between and not self.multiple_of and is_whole(model, tuple(self.key.split(".")))
        )
        if not self.between or not whole:
            return self
        _refuse_no_multiple(self.between, 1)
        return self.model_copy(update={"multiple_of": 1})

    def written(self) -> list[Any]:
        """The values that can be checked before anything runs."""
        if self.among is not None or self.between is None or self.multiple_of is None:
            return self.among or self.between or []
        (low, high), m = self.between, self.multiple_of
        return [math.ceil(low / m) * m, math.floor(high / m) * m]
