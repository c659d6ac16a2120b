"""`python -m wastesim.explore [RESULT_DIR]`: one offline page to look at and play with.

With a result folder the page is filled with its run, or with every variant of its comparison;
without one, with a small example that is simulated on the spot.
Exit codes: 0 done, 2 a folder that holds no records, or a file that cannot be written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wastesim.errors import InputError, OutputError, WastesimError
from wastesim.json_text import json_text
from wastesim.pipe import quiet_when_closed
from wastesim.report.comparison_parts import Part
from wastesim.verb import Verb

#: Filled in where there is no run: short enough to be simulated while somebody waits.
EXAMPLE: dict[str, Any] = {
    "name": "example",
    "study": "comparison",
    "seed": 0,
    "model": "llama-3-8b",
    "gpu": "l4-24gb",
    "workload": {
        "lengths": "sharegpt",
        "num_requests": 400,
        "request_rate": "inf",
        "too_long": "reject",
    },
    "server": {"max_model_len": 2048, "max_num_seqs": 256},
    "measure": {"until_s": 60},
    "decode": {"engine": "none"},
    "clock": {"kind": "roofline"},
    "compare": ["contiguous", "orca_pow2", "orca_oracle", "paged"],
}


def parser() -> argparse.ArgumentParser:
    """The verb's options."""
    made = Verb(
        prog="wastesim explore",
        description="Write one offline page: the mechanism, the bill, the pool in motion.",
        epilog="Example: wastesim explore reports/default/RUN --open",
    )
    add = made.add_argument
    add("folder", nargs="?", type=Path, metavar="RESULT_DIR", help="results to fill it with")
    add("--output", type=Path, default=Path("explorer.html"), metavar="FILE",
        help="where to write it (explorer.html)")  # fmt: skip
    add("--open", action="store_true", help="open it in the browser")
    add("--measure", action="store_true", help="print the example's numbers instead")
    add("--quiet", action="store_true", help="print nothing but errors")
    return made


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        if options.measure:
            print(json_text(measured(example_parts())))
        else:
            _write(options)
    except WastesimError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def example_parts() -> list[Part]:
    """Simulate the example."""
    from wastesim.result import load_experiment
    from wastesim.studies.comparison import compare

    return compare(load_experiment(EXAMPLE)).parts()


def saved_parts(folder: Path) -> list[Part]:
    """The run of a result folder, or the variants of a comparison, in their order."""
    from wastesim.report.resolved import check_folder, compared, read_resolved

    check_folder(folder)
    variants = folder / "variants"
    if not variants.is_dir():
        return [_saved(folder, folder.name)]
    order = list(compared(read_resolved(folder)))
    names = sorted((path.name for path in variants.iterdir() if path.is_dir()),
                   key=lambda name: order.index(name) if name in order else len(order))  # fmt: skip
    return [_saved(variants / name, name) for name in names]


def measured(parts: Sequence[Part]) -> dict[str, dict[str, float]]:
    """What the questions say of the example, by policy: means over steps."""
    return {
        part.name: {
            "requests": part.summary["requests"]["submitted"],
            "running": part.running or 0.0,
            **{name: share or 0.0 for name, share in part.shares.items()},
            "tokens_per_s": part.summary["throughput"]["output_tokens_per_s"],
        }
        for part in parts
    }


def _saved(folder: Path, name: str) -> Part:
    from wastesim.metrics import summarize
    from wastesim.records import Records

    try:
        records = Records.load(folder)
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        raise InputError(
            f"{folder}: holds no {missing}; records are saved by runs with 'output.records: full'"
        ) from None
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{folder}: its records cannot be read ({error})") from error
    return Part(name, records, summarize(records))


def _write(options: argparse.Namespace) -> None:
    from wastesim.explorer import explorer_page

    parts = example_parts() if options.folder is None else saved_parts(options.folder)
    page = explorer_page(parts)
    try:
        options.output.write_text(page, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{options.output}: cannot be written ({error.strerror})") from None
    if not options.quiet:
        print(f"explorer: {options.output}")
    if options.open:
        import webbrowser

        webbrowser.open(options.output.resolve().as_uri())


if __name__ == "__main__":
    sys.exit(main())
