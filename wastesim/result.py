"""The same flow from Python: ``wastesim.simulate(experiment) -> Result``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wastesim import metrics
from wastesim.catalog import check_names, resolve_model
from wastesim.catalog.hf_config import is_hf_config
from wastesim.config import Check, Experiment, Override, check_document, load_document
from wastesim.config.hardware import ModelGeometry
from wastesim.config.validation import did_you_mean
from wastesim.config.yaml_reader import KeyPath
from wastesim.records import Records
from wastesim.workload import check_workload

if TYPE_CHECKING:
    import pandas as pd

    from wastesim.engine import Observer


def check_decode(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """`(("decode", "model"), "must be ...")` when no such transformer can be executed."""
    decode = tree.get("decode")
    name = decode.get("model") if isinstance(decode, Mapping) else None
    if not isinstance(name, str):
        return
    from wastesim.decode import decode_models

    if name not in decode_models():
        known = list(decode_models())
        yield ("decode", "model"), f"must be one of {', '.join(known)}{did_you_mean(name, known)}"


CHECKS: tuple[Check, ...] = (check_names, check_workload, check_decode)


def load_experiment(
    source: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()
) -> Experiment:
    """Read an experiment from a YAML file or a mapping, with `--set`-style overrides.

    Raises ConfigError with every problem, each with its file, line and column.
    """
    parsed, problems = Override.parse_all(overrides)
    experiment = check_document(load_document(source, parsed), CHECKS, problems)
    return experiment.model_copy(update={"model": _self_contained(experiment.model)})


def _self_contained(model: str | ModelGeometry) -> str | ModelGeometry:
    """What is saved and digested of a `config.json` is what it says, not where it was."""
    return resolve_model(model) if isinstance(model, str) and is_hf_config(model) else model


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
