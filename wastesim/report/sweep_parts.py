"""What a sweep's report is made from: cells with their numbers, whatever ran them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wastesim.statistics import Interval


@dataclass(frozen=True)
class Cell:
    """One setting.  `less` are paired differences with the first cell, by metric.

    `saturated` counts its runs to which more requests came than were served.
    """

    label: str
    values: Mapping[str, Any]
    numbers: Mapping[str, Interval]
    less: Mapping[str, Interval]
    runs: int
    errors: Sequence[str] = ()
    link: str = ""
    saturated: int = 0

    def estimate(self, metric: str) -> float | None:
        """The number itself."""
        found = self.numbers.get(metric)
        return found.estimate if found else None


@dataclass(frozen=True)
class Show:
    """What is drawn; None is chosen from what was varied."""

    x: str | None = None
    lines: str | None = None
    metrics: Sequence[str] | None = None
    pareto: Sequence[str] | None = None


@dataclass(frozen=True)
class Parts:
    """A sweep or a search.  `answer` is a search's; `question` is what its file opens with."""

    name: str
    question: str
    setting: str
    keys: Sequence[str]
    metrics: Sequence[str]
    cells: Sequence[Cell]
    replications: int
    level: float
    state: str = ""
    answer: str = ""
    notes: Sequence[str] = ()
    show: Show = field(default_factory=Show)
    bound: float | None = None  # of a search: the metric is held against it

    @property
    def finished(self) -> list[Cell]:
        """Cells that have numbers."""
        return [cell for cell in self.cells if cell.runs]

    def levels(self, key: str) -> list[Any]:
        """The different values of a key, in order of appearance."""
        seen: list[Any] = []
        for cell in self.cells:
            if key in cell.values and cell.values[key] not in seen:
                seen.append(cell.values[key])
        return seen

    def is_number(self, key: str) -> bool:
        """Whether all its values are numbers."""
        return all(
            isinstance(value, int | float) and not isinstance(value, bool)
            for value in self.levels(key)
        )
