"""Laws without a formula for their quantiles: tabulated chances, quantile files, mixtures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

import numpy as np
from scipy.special import betainc

from wastesim.errors import InputError, Problem
from wastesim.workload.pairs import MOST_TOKENS, Floats

#: Share of a law that may lie beyond the end of its table.
_BEYOND = 1e-13
_LONGEST = 2**20
Function = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class ChanceTable:
    """Whole numbers from `least` on; `below[i]` is the chance of at most `least + i`."""

    least: int
    below: Floats

    def quantile(self, u: Floats) -> Floats:
        """The smallest number whose chance of not being exceeded is at least `u`."""
        place = np.searchsorted(self.below, u, side="left")
        return self.least + np.minimum(place, len(self.below) - 1).astype(np.float64)

    def cdf(self, k: Floats) -> Floats:
        """The chance of at most `k`."""
        place = np.clip(k - self.least, -1, len(self.below) - 1).astype(np.int64)
        return np.where(place < 0, 0.0, self.below[place])


@lru_cache(maxsize=8)
def zipf_table(exponent: float, least: int, most: int) -> ChanceTable:
    """Chances proportional to ``k ** -exponent`` on [least, most]."""
    chances = (np.arange(least, most + 1) / least) ** -exponent
    below = np.cumsum(chances)
    return ChanceTable(least, below / below[-1])


@dataclass(frozen=True, eq=False)
class NegativeBinomialLaw:
    """Failures before the `r`-th success of chance `p`; tabulated when it is first drawn from."""

    r: float
    p: float

    def cdf(self, k: Floats) -> Floats:
        """The chance of at most `k`."""
        return np.asarray(betainc(self.r, np.maximum(k, 0.0) + 1, self.p))

    def quantile(self, u: Floats) -> Floats:
        """The smallest number whose chance of not being exceeded is at least `u`."""
        table = negative_binomial_table(self.r, self.p)
        return invert(self.cdf, u) if table is None else table.quantile(u)


@lru_cache(maxsize=8)
def negative_binomial_table(r: float, p: float) -> ChanceTable | None:
    """The law up to where next to nothing is left; None when that takes too long a table."""
    size = 1024
    while 1 - betainc(r, size, p) > _BEYOND:
        size *= 2
        if size > _LONGEST:
            return None
    return ChanceTable(0, betainc(r, np.arange(1.0, size + 1), p))


def invert(cdf: Function, u: Floats) -> Floats:
    """The smallest whole numbers at which `cdf` is at least `u`, by bisection."""
    low, high = np.zeros(u.shape), np.full(u.shape, float(MOST_TOKENS))
    while (high - low > 0.5).any():
        middle = np.floor((low + high) / 2)
        enough = cdf(middle) >= u
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return high


@dataclass(frozen=True, eq=False)
class Points:
    """Quantiles `values[i]` (tokens) at `levels[i]` (shares), straight lines between."""

    levels: Floats
    values: Floats

    def quantile(self, u: Floats) -> Floats:
        """The value at `u`."""
        return np.interp(u, self.levels, self.values)

    def cdf(self, k: Floats) -> Floats:
        """The chance of rounding to at most `k`."""
        half = k + 0.5
        inside = np.interp(half, self.values, self.levels)
        return np.where(half >= self.values[-1], 1.0, np.where(half < self.values[0], 0.0, inside))


def read_quantiles(path: Path, column: str) -> Points:
    """One column of a quantile file; InputError with file and line when it is not one."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        _refuse(path, f"cannot be read ({error})")
    for name in ("permille", column):
        if not rows or name not in rows[0]:
            _refuse(f"{path}:1", f"must have a column '{name}' and rows")
    numbers = [_numbers(path, line, row, column) for line, row in enumerate(rows, start=2)]
    levels, values = np.array(numbers).T
    if levels[0] != 0 or levels[-1] != 1000 or (np.diff(levels) <= 0).any():
        _refuse(path, "'permille' must rise from 0 to 1000")
    if values[0] < 1 or (np.diff(values) < 0).any():
        _refuse(path, f"'{column}' must be at least 1 and never fall")
    return Points(levels / 1000, values)


def write_quantiles(columns: Mapping[str, Points], path: Path) -> None:
    """Write quantiles, all at the same levels, as `read_quantiles` reads them."""
    levels = next(iter(columns.values())).levels
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["permille", *columns])
        for index, level in enumerate(levels.tolist()):
            values = [f"{points.values[index]:g}" for points in columns.values()]
            writer.writerow([f"{1000 * level:g}", *values])


def _numbers(path: Path, line: int, row: dict[str, str], column: str) -> tuple[float, float]:
    try:
        return float(row["permille"]), float(row[column])
    except (TypeError, ValueError):
        _refuse(f"{path}:{line}", f"'permille' and '{column}' must be numbers")


def _refuse(where: object, message: str) -> NoReturn:
    raise InputError([Problem(str(where), message)])


@dataclass(frozen=True, eq=False)
class Blend:
    """A weighted mean of distribution functions on whole tokens."""

    weights: Floats
    parts: Sequence[Function]

    def cdf(self, k: Floats) -> Floats:
        """The chance of at most `k`."""
        shares = zip(self.weights.tolist(), self.parts, strict=True)
        return np.asarray(sum(weight * part(k) for weight, part in shares))

    def quantile(self, u: Floats) -> Floats:
        """The smallest whole number whose chance of not being exceeded is at least `u`."""
        return invert(self.cdf, u)
