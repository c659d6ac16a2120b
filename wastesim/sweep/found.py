"""What a search has found: its probes, its answer, and what the report is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wastesim.config import Experiment
from wastesim.config.search import Search
from wastesim.report.sweep_parts import Parts, Show
from wastesim.statistics import Interval
from wastesim.statistics.intervals import LEVEL
from wastesim.sweep.numbers import USUAL
from wastesim.sweep.plan import Plan
from wastesim.sweep.results import cells
from wastesim.sweep.store import Store


@dataclass(frozen=True)
class Probe:
    """What was found at one value.  `values` are the metric's, by replication."""

    value: Any
    found: Interval
    values: Mapping[int, float]
    meets: bool
    sure: bool
    runs: int


@dataclass
class Found:
    """The answer, and every probe in the order in which they were made."""

    search: Search
    answer: Any = None
    #: Where the answer lies, when the search gave up before it had one.
    between: list[Any] | None = None
    sentence: str = ""
    probes: list[Probe] = field(default_factory=list)
    plan: Plan = field(default_factory=lambda: Plan((), ()))

    def told(self) -> dict[str, Any]:
        """What `summary.json` holds beside the cells."""
        return {
            "key": self.search.key,
            "find": self.search.find,
            "metric": self.search.metric,
            "answer": self.answer,
            "between": self.between,
            "sentence": self.sentence,
            "probes": [
                {
                    "value": probe.value,
                    "estimate": probe.found.estimate,
                    "low": probe.found.low,
                    "high": probe.found.high,
                    "runs": probe.runs,
                    "meets": probe.meets if self.search.where else None,
                    "sure": probe.sure if self.search.where else None,
                }
                for probe in self.probes
            ],
        }

    def parts(self, experiment: Experiment, store: Store, question: str, setting: str) -> Parts:
        """The report: the probed values in order as cells."""
        search, level = self.search, level_of(experiment)
        names = [search.metric, *(name for name in USUAL if name != search.metric)]
        told, metrics = cells(self.plan, store, names, level)
        return Parts(
            name=experiment.name,
            question=question,
            setting=setting,
            keys=[search.key],
            metrics=metrics,
            cells=told,
            replications=search.replications,
            level=level,
            state="" if self.sentence else "This search was interrupted before it had an answer.",
            answer=self.sentence,
            show=Show(x=search.key, metrics=[search.metric]),
            bound=search.where.bound if search.where else None,
        )


def level_of(experiment: Experiment) -> float:
    """Of intervals."""
    return experiment.statistics.level if experiment.statistics else LEVEL
