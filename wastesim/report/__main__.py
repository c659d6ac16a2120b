"""`python -m wastesim.report DIR`: build the report anew from a saved result folder alone.

Reads the records, `resolved.yaml` and `run.json`; the summary is computed again.
Exit codes: 0 done, 2 a folder that holds no records or cannot be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wastesim.errors import InputError, OutputError, WastesimError
from wastesim.pipe import quiet_when_closed
from wastesim.records import Records
from wastesim.report.comparison import write_comparison
from wastesim.report.comparison_parts import Part
from wastesim.report.comparison_terminal import print_comparison
from wastesim.report.resolved import check_folder, compared, read_resolved, summary_of
from wastesim.report.terminal import print_summary
from wastesim.report.write import write_report
from wastesim.verb import Verb


def parser() -> argparse.ArgumentParser:
    """The verb's options."""
    made = Verb(
        prog="python -m wastesim.report",
        description="Build a report anew from the records of a run.",
    )
    made.add_argument("folder", type=Path, help="a result folder that holds records")
    made.add_argument("--no-figures", action="store_true", help="words and numbers only")
    made.add_argument("--quiet", action="store_true", help="print nothing but errors")
    return made


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        rebuild(options.folder, figures=not options.no_figures, quiet=options.quiet)
    except WastesimError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def rebuild(folder: Path, *, figures: bool, quiet: bool) -> None:
    """Write the report of a saved run; InputError or OutputError when that cannot be done."""
    check_folder(folder)
    if (folder / "variants").is_dir():
        _rebuild_comparison(folder, figures=figures, quiet=quiet)
        return
    records = _records(folder)
    resolved, provenance = read_resolved(folder), _provenance(folder / "run.json")
    summary = summary_of(records, resolved)
    try:
        warnings = write_report(
            records, summary, folder, resolved=resolved, provenance=provenance, figures=figures
        )
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from error
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if not quiet:
        print_summary(summary, records, folder)


def _rebuild_comparison(folder: Path, *, figures: bool, quiet: bool) -> None:
    """The reports of all saved variants, then the one over them."""
    resolved, provenance = read_resolved(folder), _provenance(folder / "run.json")
    parts, missing = [], []
    for name in compared(resolved):
        inner = folder / "variants" / name
        if not inner.is_dir():
            missing.append(name)
            continue
        rebuild(inner, figures=figures, quiet=True)
        records = _records(inner)
        parts.append(Part(name, records, summary_of(records, read_resolved(inner))))
    warnings = write_comparison(
        parts, folder, missing=missing, resolved=resolved, provenance=provenance, figures=figures
    )
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if not quiet:
        print_comparison(parts, missing, folder)


def _records(folder: Path) -> Records:
    try:
        return Records.load(folder)
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        raise InputError(
            f"{folder}: holds no {missing}; records are saved by runs with 'output.records: full'"
        ) from None
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{folder}: its records cannot be read ({error})") from error


def _provenance(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: is not valid JSON ({error})") from None
    return content if isinstance(content, dict) else {}


if __name__ == "__main__":
    sys.exit(main())
