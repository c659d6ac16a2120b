"""`study: capacity`: the verb's answer as a result folder, whole or not there at all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wastesim.capacity.asking import questions
from wastesim.capacity.cli import one_answer, parser, with_defaults
from wastesim.config import Experiment, dump_yaml
from wastesim.errors import OutputError
from wastesim.json_text import json_text
from wastesim.output import ResultFolder, provenance
from wastesim.studies.capacity import with_values


class CapacityFolder(ResultFolder):
    """A result folder for what has no requests."""

    def __init__(self, target: Path) -> None:
        super().__init__(target, None)

    def keep(
        self, experiment: Experiment, summary: dict[str, Any], source: str, command: Sequence[str]
    ) -> list[str]:
        """Write numbers, then the picture, then put all in place; returns warnings."""
        try:
            warnings = _save(experiment, summary, self.staging, source, command)
            self._put_in_place()
        except OSError as error:
            raise OutputError(f"{self.target}: writing failed ({error.strerror})") from error
        return warnings


def run_capacity(
    experiment: Experiment, target: Path, source: str, command: Sequence[str], *, quiet: bool
) -> int:
    """Check the output folder, answer, write, print the answer; returns the exit code."""
    folder = CapacityFolder(target)
    with folder:
        summary = capacity_summary(experiment)
        for warning in folder.keep(experiment, summary, source, command):
            print(f"warning: {warning}", file=sys.stderr)
    if not quiet:
        print("\n".join([*summary["explanation"], "", str(target / "report.html")]))
    return 0


def capacity_summary(experiment: Experiment) -> dict[str, Any]:
    """What `summary.json` holds: the tree that `--json` prints; ConfigError if nothing fits."""
    options = with_defaults(with_values(parser().parse_args([]), experiment))
    (question,) = questions(options)
    tree, lines = one_answer(question, options)
    return {**tree, "study": "capacity", "name": experiment.name, "explanation": lines}


def _save(
    experiment: Experiment,
    summary: dict[str, Any],
    folder: Path,
    source: str,
    command: Sequence[str],
) -> list[str]:
    from wastesim.report.laboratory import write_laboratory

    resolved = dump_yaml(experiment.to_tree())
    where = provenance(experiment, command, interrupted=False)
    (folder / "experiment.yaml").write_text(source, encoding="utf-8")
    (folder / "resolved.yaml").write_text(resolved, encoding="utf-8")
    for name, content in (("run", where), ("summary", summary)):
        text = json_text(content) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    figures = experiment.output.figures
    return write_laboratory(summary, folder, resolved=resolved, provenance=where, figures=figures)
