"""How `wastesim run` runs a study of the cache laboratory: `study: quality` or `equivalence`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wastesim.config.equivalence import Equivalence
from wastesim.config.quality import Laboratory, Quality
from wastesim.errors import OutputError
from wastesim.output import ResultFolder
from wastesim.progress import Progress
from wastesim.studies.laboratory import Finished, load_laboratory, save_laboratory, study_of

__all__ = ["run_laboratory", "study_of"]

INTERRUPTED = 130


class LaboratoryFolder(ResultFolder):
    """A result folder for what has no requests."""

    def __init__(self, target: Path) -> None:
        super().__init__(target, None)

    def keep(
        self, study: Laboratory, result: Finished, source: str, provenance: dict[str, Any]
    ) -> list[str]:
        """Write numbers, then pictures, then put all in place; returns warnings."""
        try:
            warnings = save_laboratory(study, result, self.staging, source, provenance)
            self._put_in_place()
        except OSError as error:
            raise OutputError(f"{self.target}: writing failed ({error.strerror})") from error
        return warnings


def run_laboratory(
    path: Path,
    overrides: Sequence[str],
    folder: Callable[[Laboratory], Path],
    command: Sequence[str],
    *,
    quiet: bool,
) -> int:
    """Load, check the output folder, measure, write, say the answer; returns the exit code."""
    import sys

    study = load_laboratory(path, overrides)
    source, target = path.read_text(encoding="utf-8-sig"), folder(study)
    results = LaboratoryFolder(target)
    with results:
        result = _run(study, quiet=quiet)
        provenance = _provenance(study, result, command)
        for warning in results.keep(study, result, source, provenance):
            print(f"warning: {warning}", file=sys.stderr)
    if not quiet:
        _say(result.summary, target)
    return INTERRUPTED if result.interrupted else 0


def _run(study: Laboratory, *, quiet: bool) -> Finished:
    if isinstance(study, Quality):
        from wastesim.studies.quality import measure

        with Progress(len(study.cells) + 1, quiet=quiet, noun="caches") as progress:
            return measure(study, progress)
    assert isinstance(study, Equivalence)
    from wastesim.studies.equivalence import demonstrate

    with Progress(3 * study.new_tokens, quiet=quiet, noun="steps") as progress:
        return demonstrate(study, progress)


def _provenance(study: Laboratory, result: Finished, command: Sequence[str]) -> dict[str, Any]:
    from wastesim.output import provenance

    return provenance(study, command, interrupted=result.interrupted)


def _say(summary: dict[str, Any], target: Path) -> None:
    from wastesim.report.laboratory import answer

    print(f"{answer(summary)}\n\n{target / 'report.html'}")
