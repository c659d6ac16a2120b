"""One run from Python: an experiment in, a `Result` out (`wastesim.studies` has the studies)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from wastesim import metrics
from wastesim.catalog import check_names, resolve_model
from wastesim.catalog.models import is_model_file
from wastesim.config import Check, Experiment, Override, check_document, load_document
from wastesim.config.cells import cell_problems, same_values, with_absolute_values
from wastesim.config.compare import variant_problems, with_absolute_variants
from wastesim.config.decode import CacheFormatChoice, Decode
from wastesim.config.hardware import ModelGeometry
from wastesim.config.yaml_reader import KeyPath
from wastesim.errors import ConfigError
from wastesim.records import Records
from wastesim.records.files import parquet_is_there
from wastesim.window import within
from wastesim.workload import check_workload

if TYPE_CHECKING:
    import pandas as pd

    from wastesim.engine import Observer


def check_decode(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """`(("decode", "model"), "must be ...")` when no such transformer can be executed.

    Likewise of `kv_cache_dtype`, when that transformer's heads cannot be stored so.
    """
    decode = tree.get("decode")
    if not isinstance(decode, Mapping):
        return
    name = decode.get("model", Decode.model_fields["model"].default)
    if not isinstance(name, str):
        return
    from wastesim.decode import model_problem

    problem = model_problem(name)
    if problem:
        yield ("decode", "model"), problem
    elif decode.get("engine", "numpy") != "none":
        yield from _unfit_format(name, decode.get("kv_cache_dtype", "float32"))


def _unfit_format(name: str, how: Any) -> Iterator[tuple[KeyPath, str]]:
    from wastesim.decode import decode_model
    from wastesim.decode.codecs import codec_for

    try:
        found = TypeAdapter(CacheFormatChoice).validate_python(how)
        codec_for(found, decode_model(name).head_dim)
    except ValidationError:
        return  # the config says so itself
    except ConfigError as error:
        yield ("decode", "kv_cache_dtype"), str(error)


def check_format(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """`(("output", "format"), "must be ...")` when such files cannot be written here."""
    output = tree.get("output")
    wanted = output.get("format") if isinstance(output, Mapping) else None
    if wanted == "parquet" and not parquet_is_there():
        yield (
            ("output", "format"),
            "must be auto or csv here: Parquet needs pyarrow, pip install 'wastesim[parquet]'"
            " (got 'parquet')",
        )


ALONE: tuple[Check, ...] = (check_names, check_workload, check_decode, check_format)


def check_variants(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with the variants of a comparison."""
    return variant_problems(tree, Experiment, ALONE)


def check_cells(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with the cells of a sweep, or the values of a search."""
    yield from cell_problems(tree, Experiment, ALONE)
    yield from same_values(tree, Experiment)


def check_metrics(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """What a sweep shows, or a search looks at, that no run has a number for."""
    if "sweep" in tree or "search" in tree:
        from wastesim.report.sweep_names import check_metrics as check

        yield from check(tree)


CHECKS: tuple[Check, ...] = (*ALONE, check_variants, check_cells, check_metrics)


def load_experiment(
    source: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()
) -> Experiment:
    """Read an experiment from a YAML file or a mapping, with `--set`-style overrides.

    Raises ConfigError with every problem, each with its file, line and column.
    """
    parsed, problems = Override.parse_all(overrides)
    document = with_absolute_variants(with_absolute_values(load_document(source, parsed)))
    experiment = check_document(document, CHECKS, problems)
    return experiment.model_copy(update={"model": _self_contained(experiment.model)})


def _self_contained(model: str | ModelGeometry) -> str | ModelGeometry:
    """What is saved and digested of a model's file is what it says, not where it was."""
    return resolve_model(model) if isinstance(model, str) and is_model_file(model) else model


def run_one(
    experiment: Experiment, observer: Observer | None = None, folder: Path | None = None
) -> Result:
    """Run one experiment, and leave out what is not to be measured.

    Rows that are too many to keep go to `folder`; without one only what follows from them is left.
    """
    from wastesim.engine import run
    from wastesim.until import Until

    measure = experiment.measure
    if measure is None:
        return Result(experiment, run(experiment, observer, folder=folder))
    watch = Until(measure.until_s, observer)
    records = run(experiment, watch, folder=folder)
    if watch.reached:  # the end that was asked for is not an interruption
        records.facts.interrupted, records.facts.stopped_because = False, ""
    return Result(experiment, within(records, measure.from_s, measure.until_s))


@dataclass(frozen=True)
class Result:
    """One finished run: its experiment, its records and what follows from them."""

    experiment: Experiment
    records: Records

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before its end."""
        return self.records.facts.interrupted

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds; keys are defined in docs/metrics.md and docs/statistics.md."""
        from wastesim.statistics import of_wanted

        found = of_wanted(self.records, self.experiment.statistics)
        return {**metrics.summarize(self.records), "statistics": found}

    def requests(self) -> pd.DataFrame:
        """One row per request; of a run that was streamed, per request that was drawn."""
        import pandas as pd

        return pd.DataFrame(self.records.requests)

    def ticks(self) -> pd.DataFrame:
        """One row per tick; of a run that was streamed, ticks are merged."""
        import pandas as pd

        return pd.DataFrame(self.records.ticks)
