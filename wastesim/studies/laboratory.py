"""What the studies of the cache laboratory share: reading one, keeping its results.

They have no workload and no server: their file says a model, a passage and what to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from wastesim.config import Override, dump_yaml
from wastesim.config.equivalence import Equivalence
from wastesim.config.extends import KEY as EXTENDS
from wastesim.config.load import load_document
from wastesim.config.quality import Laboratory, Quality
from wastesim.config.validation import describe, in_file_order, problems_of
from wastesim.config.yaml_reader import Document
from wastesim.decode.models import model_problem
from wastesim.errors import ConfigError, Problem
from wastesim.json_text import json_text
from wastesim.studies.laboratory_checks import study_problems

if TYPE_CHECKING:
    import pandas as pd
STUDIES: dict[str, type[Laboratory]] = {"quality": Quality, "equivalence": Equivalence}


class Finished(Protocol):
    """What a study of the laboratory ends with."""

    @property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds, and what the report is made from."""

    @property
    def interrupted(self) -> bool:
        """Whether something is missing."""

    def table(self) -> pd.DataFrame:
        """What `summary.csv` holds."""


def study_of(source: Path, overrides: Sequence[str]) -> str | None:
    """The laboratory study that a file asks for; None when it is an experiment."""
    if not source.is_file():
        return None
    parsed, _ = Override.parse_all(overrides)
    study = load_document(source, parsed).tree.get("study")
    return study if study in STUDIES else None


def load_laboratory(source: Path, overrides: Sequence[str] = ()) -> Laboratory:
    """The study in a file; ConfigError with every problem, each with its place."""
    parsed, problems = Override.parse_all(overrides)
    document = load_document(source, parsed)
    model = STUDIES[document.tree["study"]]
    found: dict[Any, Problem] = {}
    study: Laboratory | None = None
    try:
        study = model.model_validate(document.tree)
    except ValidationError as error:
        found = problems_of(error, document, (), model, [EXTENDS])
    wrong = _wrong_model(document)
    found.update({} if wrong is None else {("model",): wrong})
    if study is not None and wrong is None:
        for path, text in study_problems(study):
            found.setdefault(path, Problem(document.where(path), text))
    everything = [*in_file_order(found.values(), document), *document.problems, *problems]
    if everything or study is None:
        raise ConfigError(everything)
    return study


def _wrong_model(document: Document) -> Problem | None:
    name = document.tree.get("model", Laboratory.model_fields["model"].default)
    text = model_problem(name) if isinstance(name, str) else ""
    if text.startswith("must"):
        text = describe(("model",), text, name)
    return Problem(document.where(("model",)), text) if text else None


def save_laboratory(
    study: Laboratory, result: Finished, folder: Path, source: str, provenance: dict[str, Any]
) -> list[str]:
    """Write everything into `folder`, numbers before pictures; returns warnings."""
    from wastesim.report.laboratory import write_laboratory

    resolved = dump_yaml(study.to_tree())
    (folder / "experiment.yaml").write_text(source, encoding="utf-8")
    (folder / "resolved.yaml").write_text(resolved, encoding="utf-8")
    for name, content in (("run", provenance), ("summary", result.summary)):
        text = json_text(content) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    result.table().to_csv(folder / "summary.csv", index=False, lineterminator="\n")
    return write_laboratory(
        result.summary, folder, resolved=resolved, provenance=provenance, figures=study.figures
    )
