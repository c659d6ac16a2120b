"""The statistics that an experiment asks for."""

from __future__ import annotations

from typing import Any

from wastesim.config.statistics import Statistics
from wastesim.records import Records
from wastesim.statistics.ofrun import Objectives, of_run


def of_wanted(records: Records, wanted: Statistics | None) -> dict[str, Any]:
    """`of_run` at the level and with the objectives of `statistics:`, or with the usual ones."""
    wanted = wanted or Statistics()
    goodput = Objectives(**wanted.goodput.model_dump()) if wanted.goodput else None
    return of_run(records, wanted.level, goodput)
