"""`sweep:` of an experiment: one experiment, many settings of its keys.

::

    sweep:
      grid: {server.policy: [contiguous, paged], server.max_model_len: [2048, 4096]}
      replications: 5

Cells are every combination of the designs that are given:

========= ==========================================================================
`grid`    every combination of the values of each key
`zip`     the first values of all keys, then the second ones, ...
`list`    mappings of keys to values, one per cell, nested or dotted
`sample`  points of a space: at random, a Latin hypercube or Sobol's sequence
========= ==========================================================================

Replication r has the same seed in every cell: cells differ by what was changed, not by luck.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from wastesim.config.base import Frozen
from wastesim.config.quantities import Repeats
from wastesim.config.yaml_reader import KeyPath

KEY = "sweep"
#: More than these would take days to run and minutes to plan.
MOST_CELLS, MOST_RUNS = 10_000, 100_000
#: What belongs to the sweep as a whole and cannot differ between cells.
SHARED = ("name", "study", "seed", "output", "extends", "compare", "sweep", "search")


def _usable_key(key: str) -> str:
    """ValueError for keys that cannot differ between cells."""
    parts = key.split(".")
    if not all(parts):
        raise ValueError("must be a key such as server.max_model_len")
    if parts[0] in SHARED:
        hint = "; 'replications' repeats a cell with other seeds" if parts[0] == "seed" else ""
        raise ValueError(f"'{key}' cannot differ between cells{hint}")
    return key


def _usable_values(values: list[Any]) -> list[Any]:
    if not values:
        raise ValueError("must be a list of at least one value")
    if any(values[i] == values[j] for i in range(len(values)) for j in range(i)):
        raise ValueError("must name each value once")
    return values


def dotted_changes(changes: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"server": {"policy": "paged"}}` as `{"server.policy": "paged"}`.

    What has a `kind`, a `claim` or a `path` is one value and stays whole.
    """
    flat: dict[str, Any] = {}
    for key, value in changes.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and not {"kind", "claim", "path"} & set(value):
            flat |= dotted_changes(value, f"{name}.")
        else:
            flat[name] = value
    return flat


def _rows(value: Any) -> Any:
    if not isinstance(value, list) or not value or not all(isinstance(v, Mapping) for v in value):
        raise ValueError("must be a list of mappings of changed keys")
    return [dotted_changes(changes) for changes in value]


def _some(over: dict[str, Any]) -> dict[str, Any]:
    if not over:
        raise ValueError("must name at least one key")
    return over


def two(pair: list[Any]) -> list[Any]:
    """ValueError for lists that are no pair."""
    if len(pair) != 2:
        raise ValueError("must be a list of two")
    return pair


Key = Annotated[str, AfterValidator(_usable_key)]
Values = Annotated[list[Any], AfterValidator(_usable_values)]
Columns = Annotated[dict[Key, Values], AfterValidator(_some)]
Rows = Annotated[list[dict[Key, Any]], BeforeValidator(_rows)]


class Range(Frozen):
    """Numbers between two ends; on a `log` scale each factor is as likely as another."""

    low: float = Field(alias="from", allow_inf_nan=False)
    high: float = Field(alias="to", allow_inf_nan=False)
    scale: Literal["linear", "log"] = "linear"
    #: Rounded to whole numbers.
    whole: bool = False

    @model_validator(mode="after")
    def _goes_up(self) -> Range:
        if not self.low < self.high:
            raise ValueError(f"'to' must be > 'from' (got from {self.low:g}, to {self.high:g})")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"'from' must be > 0 on a log scale (got {self.low:g})")
        if self.whole and math.ceil(self.low) > math.floor(self.high):
            ends = f"{self.low:g} to {self.high:g}"
            raise ValueError(f"'to' must leave room for a whole number (got {ends})")
        return self


class Sample(Frozen):
    """Points of a space whose axes are keys: a range of numbers, or a list to choose from."""

    method: Literal["random", "latin_hypercube", "sobol"] = "sobol"
    points: Repeats
    over: Annotated[dict[Key, Range | Values], AfterValidator(_some)]
    #: Of the design alone; what is simulated has the experiment's seed.
    seed: int = Field(default=0, ge=0)


class Show(Frozen):
    """What the figures of a sweep show; chosen from what was varied if not given."""

    #: The key along the x axis, and the one that lines are told apart by.
    x: str | None = None
    lines: str | None = None
    #: Keys of `summary.json`, one panel each.
    metrics: list[str] | None = None
    #: Two metrics of which the first should be low and the second high.
    pareto: Annotated[list[str], AfterValidator(two)] | None = None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else []


class Sweep(Frozen):
    """Cells, and how often each is repeated."""

    grid: Columns | None = None
    pairs: Columns | None = Field(default=None, alias="zip")
    rows: Rows | None = Field(default=None, alias="list")
    sample: Sample | None = None
    replications: Repeats = 1
    #: What is written of a cell's first replication: nothing, a page of words, or figures too.
    cell_reports: Literal["none", "words", "figures"] = "words"
    show: Show = Show()

    @model_validator(mode="after")
    def _varies_something(self) -> Sweep:
        if all(part is None for part in (self.grid, self.pairs, self.rows, self.sample)):
            raise ValueError("must have at least one of 'grid', 'zip', 'list' and 'sample'")
        lengths = {key: len(values) for key, values in (self.pairs or {}).items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{key} has {n}" for key, n in lengths.items())
            raise ValueError(f"'zip' must have as many values for each key ({told})")
        _refuse_too_many(self)
        return self

    @model_validator(mode="after")
    def _shows_what_is_varied(self) -> Sweep:
        for name, key in (("x", self.show.x), ("lines", self.show.lines)):
            if key is not None and key not in self.keys:
                known = ", ".join(self.keys)
                raise ValueError(f"'show.{name}' must be a key that is varied: {known} (got {key})")
        if self.show.x is not None and not all(map(_is_number, self._values(self.show.x))):
            raise ValueError(f"'show.x' must be a key whose values are numbers (got {self.show.x})")
        return self

    @property
    def keys(self) -> list[str]:
        """What differs between cells, in the order of designs."""
        listed = [key for row in self.rows or () for key in row]
        sampled = self.sample.over if self.sample else {}
        return list(dict.fromkeys([*(self.grid or ()), *(self.pairs or ()), *listed, *sampled]))

    def _values(self, key: str) -> list[Any]:
        """What is written of a key; of a range nothing, which has numbers."""
        columns: list[Mapping[str, Any]]
        columns = [self.grid or {}, self.pairs or {}, self.sample.over if self.sample else {}]
        found = [v for c in columns for v in _listed(c.get(key))]
        return [*found, *(row[key] for row in self.rows or () if key in row)]

    @model_validator(mode="after")
    def _varies_each_key_once(self) -> Sweep:
        listed = {key for row in self.rows or () for key in row}
        sampled = self.sample.over if self.sample else {}
        designs = [set(self.grid or ()), set(self.pairs or ()), listed, set(sampled)]
        for one, other in itertools.combinations(designs, 2):
            for key in sorted(one & other):
                raise ValueError(f"'{key}' must be varied by one design only")
        return self


def _refuse_too_many(sweep: Sweep) -> None:
    """Counted before any are made."""
    cells = math.prod(len(values) for values in (sweep.grid or {}).values())
    cells *= len(next(iter((sweep.pairs or {"": [None]}).values())))
    cells *= len(sweep.rows or [None])
    cells *= sweep.sample.points if sweep.sample else 1
    runs = cells * sweep.replications
    if cells > MOST_CELLS:
        raise ValueError(f"has {cells:,} cells, more than {MOST_CELLS:,}: take fewer values")
    if runs > MOST_RUNS:
        raise ValueError(
            f"has {runs:,} runs, more than {MOST_RUNS:,}: take fewer values or replications"
            f" ({cells:,} cells, each {sweep.replications:,} times)"
        )


class Change(NamedTuple):
    """One key of one cell, and where in the file its value stands."""

    place: KeyPath
    key: str
    value: Any


def written_cells(sweep: Sweep) -> Iterator[tuple[Change, ...]]:
    """Every combination of what is written out; of samples nothing."""
    grid = [
        [Change((KEY, "grid", key, i), key, value) for i, value in enumerate(values)]
        for key, values in (sweep.grid or {}).items()
    ]
    for combination in itertools.product(*grid):
        for row in _rows_of(sweep, "zip"):
            for other in _rows_of(sweep, "list"):
                yield (*combination, *row, *other)


def _rows_of(sweep: Sweep, design: str) -> list[tuple[Change, ...]]:
    """The combinations of one design; a single empty one when it is not given."""
    if design == "list":
        rows: list[dict[str, Any]] = sweep.rows or [{}]
        places: list[dict[str, KeyPath]] = [
            dict.fromkeys(row, (KEY, "list", i)) for i, row in enumerate(rows)
        ]
    else:
        keys = list(sweep.pairs or {})
        columns = list((sweep.pairs or {}).values())
        rows = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)] or [{}]
        places = [{key: (KEY, "zip", key, i) for key in keys} for i in range(len(rows))]
    return [
        tuple(Change(place[key], key, value) for key, value in row.items())
        for row, place in zip(rows, places, strict=True)
    ]
