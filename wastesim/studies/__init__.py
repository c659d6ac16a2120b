"""What `study:` names.  `simulate` runs whichever an experiment asks for.

============== ==================================================================
`allocation`   one run: a `Result`
`comparison`   the same requests under several variants: a `Comparison` of Results
`capacity`     nothing is simulated: `wastesim run` and `wastesim capacity` answer
============== ==================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wastesim.config import Experiment
from wastesim.errors import ConfigError
from wastesim.result import Result, load_experiment, run_one
from wastesim.studies.comparison import Comparison, compare

if TYPE_CHECKING:
    from wastesim.engine import Observer

__all__ = ["Comparison", "Result", "compare", "load_experiment", "simulate"]


def simulate(
    experiment: Experiment | str | Path | Mapping[str, Any],
    observer: Observer | None = None,
    folder: Path | None = None,
) -> Any:
    """Run an experiment: an `Experiment`, the path of a YAML file, or its mapping.

    Gives a `Result`, or with `study: comparison` a `Comparison`, whose `results` has a `Result`
    per variant, by name and in order.  Rows of a run that is too long to keep go to `folder`.
    """
    if not isinstance(experiment, Experiment):
        experiment = load_experiment(experiment)
    varied = "sweep" if experiment.sweep else "search" if experiment.search else ""
    if varied:
        raise ConfigError(
            f"'{varied}' asks for many runs, and simulate makes one: ask `wastesim run`, take the"
            " experiments of wastesim.sweep.plan one by one, or leave"
            f" '{varied}' out"
        )
    if experiment.study == "capacity":
        raise ConfigError(
            "'study' must be allocation or comparison to be simulated (got capacity): ask"
            " `wastesim run` or `wastesim capacity`, or change it with --set study=allocation"
        )
    if experiment.study == "comparison":
        return compare(experiment, observer, folder=folder)
    return run_one(experiment, observer, folder)
