"""The same flow from Python: ``wastesim.simulate(experiment) -> Result``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wastesim import metrics
from wastesim.catalog import check_names
from wastesim.config import Experiment, Override, check_document, load_document
from wastesim.records import Records
from wastesim.workload import check_workload

if TYPE_CHECKING:
    import pandas as pd

    from wastesim.engine import Observer

CHECKS = (check_names, check_workload)


def load_experiment(
    source: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()
) -> Experiment:
    """Read an experiment from a YAML file or a mapping, with `--set`-style overrides.

    Raises ConfigError with every problem, each with its file, line and column.
    """
    parsed = [Override.parse(text) for text in overrides]
    return check_document(load_document(source, parsed), CHECKS)


def simulate(
    experiment: Experiment | str | Path | Mapping[str, Any], observer: Observer | None = None
) -> Result:
    """Run one experiment: an `Experiment`, the path of a YAML file, or its mapping."""
    from wastesim.engine import run

    if not isinstance(experiment, Experiment):
        experiment = load_experiment(experiment)
    return Result(experiment, run(experiment, observer))


@dataclass(frozen=True)
class Result:
    """One finished run: its experiment, its records and what follows from them."""

    experiment: Experiment
    records: Records

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds; keys are defined in docs/metrics.md."""
        return metrics.summarize(self.records)

    def requests(self) -> pd.DataFrame:
        """One row per request."""
        import pandas as pd

        return pd.DataFrame(self.records.requests)

    def ticks(self) -> pd.DataFrame:
        """One row per tick."""
        import pandas as pd

        return pd.DataFrame(self.records.ticks)
