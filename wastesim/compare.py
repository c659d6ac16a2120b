"""`python -m wastesim.compare DIR DIR`: what differs between two runs or sweeps, and how surely.

Runs that were given the same requests and saved their records are paired request by request and
window by window; sweeps are paired cell by cell and seed by seed.
Exit codes: 0 done, 2 folders that hold no results or cannot be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from wastesim.errors import InputError, OutputError, WastesimError
from wastesim.pipe import quiet_when_closed
from wastesim.records import Records
from wastesim.report.resolved import check_folder
from wastesim.report.runs import MADE_BY, OWN, Comparison, Side, print_comparison, write_comparison
from wastesim.statistics import Interval
from wastesim.statistics.intervals import LEVEL
from wastesim.statistics.twins import Difference, differences, same_requests
from wastesim.sweep.numbers import USUAL, number
from wastesim.verb import Verb

#: What is compared where nothing can be paired.
ALONE = (
    "memory.written_over_reserved.at_finish",
    *(name for name in USUAL if not name.startswith("latency")),
    *(f"latency.{name}.{at}" for name in ("ttft_s", "tpot_s", "e2el_s") for at in ("mean", "p99")),
)


def parser() -> argparse.ArgumentParser:
    """The verb's options."""
    made = Verb(
        prog="wastesim compare",
        description="What differs between two result folders, with intervals where there are any.",
    )
    made.add_argument("first", type=Path, help="a result folder")
    made.add_argument("second", type=Path, help="another; differences are second - first")
    made.add_argument("--output", type=Path, metavar="DIR", help="write a page into this folder")
    made.add_argument("--level", type=_level, default=LEVEL, help="of intervals (0.95)")
    made.add_argument("--quiet", action="store_true", help="print nothing but errors")
    return made


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        _compare(options)
    except WastesimError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _compare(options: argparse.Namespace) -> None:
    if options.output is not None:
        _refuse_others(options.output)
    sides = (_side(options.first), _side(options.second))
    if sides[0].name == sides[1].name:
        names = options.first.resolve().name, options.second.resolve().name
        names = names if names[0] != names[1] else ("first", "second")
        sides = (sides[0]._replace(name=names[0]), sides[1]._replace(name=names[1]))
    kinds = {side.summary.get("study") in ("sweep", "search") for side in sides}
    if len(kinds) > 1:
        raise InputError(f"{options.first} and {options.second}: one is a sweep and one is a run")
    if kinds == {True}:
        from wastesim.sweep.pairing import compare_sweeps

        compared = compare_sweeps(sides, options.level)
    else:
        compared = compare_runs(sides, options.level)
    if not options.quiet:
        print_comparison(compared)
    if options.output is not None:
        _write(compared, options.output, quiet=options.quiet)


def _write(compared: Comparison, folder: Path, *, quiet: bool) -> None:
    try:
        for warning in write_comparison(compared, folder):
            print(f"warning: {warning}", file=sys.stderr)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
    if not quiet:
        print(f"report: {folder / 'report.html'}")


def _refuse_others(folder: Path) -> None:
    """OutputError for a folder that holds anything but the page of an earlier comparison."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder}: is a file; name a folder for the page")
    names = {path.name for path in folder.iterdir()}
    if {"summary.json", "run.json"} & names:
        raise OutputError(f"{folder}: holds results, whose report would be lost; name another")
    if names and not (names <= OWN and _is_own_page(folder / "report.html")):
        raise OutputError(f"{folder}: is not empty; name another folder")


def _is_own_page(page: Path) -> bool:
    try:
        return MADE_BY in page.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False


def compare_runs(sides: tuple[Side, Side], level: float) -> Comparison:
    """Two runs: paired differences first, then numbers that have no interval."""
    one, other = (side.records for side in sides)
    found: list[Difference] = []
    if one is None or other is None:
        note = "Without saved records (output.records: full) in both, nothing can be paired."
    elif not same_requests(one, other):
        note = "They were not given the same requests, so nothing can be paired."
    else:
        found = differences(one, other, level)
        note = "Both were given the same requests."
    paired = {one_.name for one_ in found}
    rest = [_alone(sides, name) for name in ALONE if name not in paired]
    known = [row for row in rest if row.first is not None or row.second is not None]
    return Comparison(sides, [*found, *known], note, level)


def _alone(sides: tuple[Side, Side], name: str) -> Difference:
    first, second = (number(side.summary, name) for side in sides)
    less = None if first is None or second is None else second - first
    return Difference(name, first, second, Interval(less, None, None, 0), "whole runs, no interval")


def _side(folder: Path) -> Side:
    check_folder(folder)
    summary = _summary(folder)
    return Side(str(summary.get("name") or folder.name), folder, summary, _records(folder))


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / "summary.json"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder}: holds no results (no summary.json)") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise InputError(f"{path}: is damaged (no JSON); run its experiment again") from None
    study = summary.get("study") if isinstance(summary, dict) else None
    if study == "comparison":
        raise InputError(f"{folder}: is a comparison; name two of its folders in variants/")
    if study not in (None, "sweep", "search"):
        raise InputError(f"{folder}: is a study of {study}; name runs, sweeps or searches")
    if not _is_whole(summary):
        raise InputError(
            f"{path}: is damaged (it lacks what every summary has); run its experiment again"
        )
    return dict(summary)


def _is_whole(summary: Any) -> bool:
    """Whether it has what is read of it: of a sweep its cells, of a run what became of requests."""
    if not isinstance(summary, dict):
        return False
    if summary.get("study") is not None:
        return isinstance(summary.get("cells"), list)
    requests = summary.get("requests")
    return isinstance(requests, dict) and all(
        isinstance(requests.get(name), int) for name in ("submitted", "rejected")
    )


def _records(folder: Path) -> Records | None:
    if not (folder / "facts.json").exists():
        return None
    try:
        return Records.load(folder)
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        raise InputError(f"{folder}: its records cannot be read (no {missing})") from None
    except (OSError, KeyError, ValueError, TypeError, EOFError, BadZipFile) as error:
        raise InputError(
            f"{folder}: its records are damaged; run its experiment again, or delete its facts.json"
            " to compare it without them"
        ) from error


def _level(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1 (got {text!r})")
    return value


if __name__ == "__main__":
    sys.exit(main())
