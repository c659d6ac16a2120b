"""`python -m wastesim.sweep run FILE` and `python -m wastesim.sweep status DIR`.

Exit codes of `run` stand in `command`; `status` gives 0, or 2 for a folder without a sweep.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from wastesim.errors import ConfigError, WastesimError
from wastesim.pipe import quiet_when_closed
from wastesim.sweep.options import add_options, seed
from wastesim.verb import Verb


def parser() -> argparse.ArgumentParser:
    """The verb's options."""
    made = Verb(
        prog="wastesim sweep", description="Run a sweep or a search, or see how far one is."
    )
    verbs = made.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="run the 'sweep:' or 'search:' of an experiment")
    run.add_argument("experiment", type=Path, help="an experiment in YAML")
    run.add_argument("--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[])
    run.add_argument("--seed", type=seed, metavar="N", help="replace the experiment's seed")
    run.add_argument("--output", type=Path, metavar="DIR", help="folder of the results")
    run.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_options(run)
    status = verbs.add_parser("status", help="how far the sweep in a folder is")
    status.add_argument("folder", type=Path, help="the folder of a sweep")
    return made


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    words = ["wastesim", "sweep", *(sys.argv[1:] if argv is None else argv)]
    try:
        return _status(options.folder) if options.verb == "status" else _run(options, words)
    except WastesimError as error:
        print("\n".join(f"error: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted; finished runs are kept, '--resume' goes on", file=sys.stderr)
        return 130


def _status(folder: Path) -> int:
    from wastesim.sweep.status import status, told

    print("\n".join(told(status(folder))))
    return 0


def _run(options: argparse.Namespace, words: Sequence[str]) -> int:
    from wastesim.result import load_experiment
    from wastesim.sweep.command import run_varied

    overrides = list(options.overrides)
    overrides += [] if options.seed is None else [f"seed={options.seed}"]
    experiment = load_experiment(options.experiment, overrides)
    if experiment.sweep is None and experiment.search is None:
        raise ConfigError(f"{options.experiment}: has no 'sweep' and no 'search'; use wastesim run")
    source = options.experiment.read_text(encoding="utf-8-sig")
    return run_varied(experiment, options, source, words)


if __name__ == "__main__":
    sys.exit(main())
