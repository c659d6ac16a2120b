"""The recorder of a run, which has to know beforehand what a long one will be asked for."""

from __future__ import annotations

from pathlib import Path

from wastesim.config import Experiment
from wastesim.records import Recorder, Spill


def recorder_for(experiment: Experiment, folder: Path | None) -> Recorder:
    """Rows that are too many to keep go to `folder`, if there is one and they are wanted."""
    measure, output = experiment.measure, experiment.output
    goodput = experiment.statistics.goodput if experiment.statistics else None
    return Recorder(
        part=(measure.from_s, measure.until_s) if measure else None,
        objectives=goodput.model_dump() if goodput else None,
        spill=Spill(folder, output.format) if folder and output.records == "full" else None,
    )
