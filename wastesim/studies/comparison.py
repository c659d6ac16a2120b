"""`study: comparison`: the same requests under several variants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wastesim.config import Experiment
from wastesim.engine import Observer
from wastesim.errors import ConfigError, InputError, Problem
from wastesim.metrics import SCHEMA_VERSION
from wastesim.report.comparison_parts import Part, columns
from wastesim.result import Result, run_one

if TYPE_CHECKING:
    import pandas as pd

#: Told of each variant when it is done: its name and how many are done.
Told = Callable[[str, int], None]


@dataclass(frozen=True)
class Comparison:
    """Results by variant, in order.  `missing` were not finished when the comparison stopped."""

    experiment: Experiment
    results: dict[str, Result]
    missing: tuple[str, ...] = field(default=())

    def parts(self) -> list[Part]:
        """What a report is made from."""
        return [Part(name, r.records, r.summary) for name, r in self.results.items()]

    @property
    def interrupted(self) -> bool:
        """Whether a variant is missing."""
        return bool(self.missing)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds: the summaries of the variants, in order."""
        return {
            "schema_version": SCHEMA_VERSION,
            "name": self.experiment.name,
            "study": "comparison",
            "interrupted": self.interrupted,
            "missing": list(self.missing),
            "variants": [
                {"variant": name, **result.summary} for name, result in self.results.items()
            ],
        }

    def table(self) -> pd.DataFrame:
        """What `summary.csv` holds: a row per variant."""
        import pandas as pd

        return pd.DataFrame([columns(part) for part in self.parts()])


def compare(
    experiment: Experiment,
    observer: Observer | None = None,
    *,
    workers: int = 1,
    told: Told | None = None,
    folder: Path | None = None,
) -> Comparison:
    """Run every variant; when the observer says stop, the finished ones are kept.

    Rows that are too many to keep go to the variants' folders below `folder`.

    With `workers` > 1 variants run in processes of their own and the observer is only asked.
    """
    from wastesim.studies.parallel import run_in_processes

    observer, told = observer or Observer(), told or (lambda name, done: None)
    variants = experiment.variants
    if workers > 1 and len(variants) > 1:
        results = run_in_processes(variants, observer, workers, told, folder)
    else:
        results = _one_by_one(variants, observer, told, folder)
    missing = tuple(name for name in variants if name not in results)
    ordered = {name: results[name] for name in variants if name in results}
    return Comparison(experiment, ordered, missing)


def _one_by_one(
    variants: dict[str, Experiment], observer: Observer, told: Told, folder: Path | None
) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for name, experiment in variants.items():
        result = run_variant(name, experiment, observer, folder)
        if result is None:
            break
        results[name] = result
        told(name, len(results))
    return results


def variant_folder(folder: Path, name: str) -> Path:
    """Where the results of a variant are."""
    return folder / "variants" / name


def run_variant(
    name: str, experiment: Experiment, observer: Observer, folder: Path | None = None
) -> Result | None:
    """The result, or None when the observer ended it; an error says in which variant it was."""
    if observer.should_stop():
        return None
    try:
        result = run_one(experiment, observer, folder and variant_folder(folder, name))
    except (ConfigError, InputError) as error:
        if observer.should_stop():  # before its window began
            return None
        said = [Problem(p.where, f"in variant '{name}', {p.message}") for p in error.problems]
        raise type(error)(said) from None
    return None if result.records.facts.interrupted and observer.should_stop() else result
