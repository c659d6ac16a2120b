"""What a result folder holds: of one run, or of a comparison with a folder per variant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wastesim.config import dump_yaml
from wastesim.json_text import json_text
from wastesim.metrics import flat
from wastesim.report.comparison_parts import Part
from wastesim.result import Result
from wastesim.studies.comparison import Comparison, variant_folder


def save(
    result: Result | Comparison, folder: Path, source: str, provenance: dict[str, Any]
) -> list[str]:
    """Write everything into `folder`, numbers before pictures; returns warnings."""
    (folder / "experiment.yaml").write_text(source, encoding="utf-8")
    if isinstance(result, Comparison):
        return _save_comparison(result, folder, provenance)
    return _save_run(result, folder, provenance)


def _save_run(result: Result, folder: Path, provenance: dict[str, Any]) -> list[str]:
    import pandas as pd

    from wastesim.report import write_report

    output = result.experiment.output
    resolved = _save_common(result, folder, provenance)
    _write_table(pd.DataFrame([flat(result.summary)]), folder)
    if output.records == "full":
        result.records.save(folder, output.format)
    one = Part(result.records.facts.policy, result.records, result.summary)
    warnings = _write_explorer([one], folder) if output.figures else []
    return warnings + write_report(
        result.records,
        result.summary,
        folder,
        resolved=resolved,
        provenance=provenance,
        figures=output.figures,
        timeline=output.records == "full",
    )


def _save_comparison(result: Comparison, folder: Path, provenance: dict[str, Any]) -> list[str]:
    from wastesim.report.comparison import write_comparison

    resolved = _save_common(result, folder, provenance)
    _write_table(result.table(), folder)
    warnings: list[str] = []
    for name, run in result.results.items():
        inner = variant_folder(folder, name)
        inner.mkdir(parents=True, exist_ok=True)  # rows may be there already
        found = _save_run(run, inner, {**provenance, "variant": name})
        warnings += [f"in variant '{name}', {warning}" for warning in found]
    if result.experiment.output.figures:
        warnings += _write_explorer(result.parts(), folder)
    return warnings + write_comparison(
        result.parts(),
        folder,
        missing=result.missing,
        resolved=resolved,
        provenance=provenance,
        figures=result.experiment.output.figures,
    )


def _save_common(result: Result | Comparison, folder: Path, provenance: dict[str, Any]) -> str:
    resolved = dump_yaml(result.experiment.to_tree())
    (folder / "resolved.yaml").write_text(resolved, encoding="utf-8")
    _write_json(folder / "run.json", provenance)
    _write_json(folder / "summary.json", result.summary)
    return resolved


def _write_explorer(parts: Sequence[Part], folder: Path) -> list[str]:
    """The page that the report beside it links; what went wrong, if anything."""
    from wastesim.explorer import write_explorer

    try:
        write_explorer(parts, folder, report="report.html")
    except OSError:
        raise
    except Exception as error:  # whatever goes wrong in a picture, the numbers are kept
        return [f"the explorer could not be made: {type(error).__name__}: {error}"]
    return []


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json_text(content) + "\n", encoding="utf-8")


def _write_table(frame: Any, folder: Path) -> None:
    frame.to_csv(folder / "summary.csv", index=False, lineterminator="\n")
