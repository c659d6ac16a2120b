"""`python -m wastesim.run EXPERIMENT.yaml`: simulate, write the results, say what was found.

With `sweep:` or `search:` in it, its many runs: see `wastesim.sweep`.

Exit codes: 0 done, 1 a broken invariant, 2 bad input or an output folder that cannot be used,
3 some runs of a sweep failed, 130 interrupted (what is finished is kept, in a report that says so).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wastesim.errors import ConfigError, WastesimError
from wastesim.output import ResultFolder
from wastesim.pipe import quiet_when_closed
from wastesim.progress import Progress
from wastesim.result import Result
from wastesim.sweep.options import add_options, seed
from wastesim.verb import Verb

if TYPE_CHECKING:
    from wastesim.config import Experiment
    from wastesim.studies import Comparison

INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The verb's options."""
    made = Verb(
        prog="wastesim run",
        description="Simulate one experiment and write its report.",
        epilog="Example: wastesim run experiments/default.yaml --set server.max_model_len=4096",
    )
    made.add_argument("experiment", type=Path, help="an experiment in YAML")
    made.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="replace one key, such as server.max_model_len=4096 (repeatable)",
    )
    made.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder of the results (reports/NAME/TIME-DIGEST)",
    )
    made.add_argument("--seed", type=seed, metavar="N", help="replace the experiment's seed")
    made.add_argument(
        "--verify", action="store_true", help="check every request against an uncached forward pass"
    )
    made.add_argument(
        "--schema", action=_PrintSchema, help="print a JSON Schema of experiments and exit"
    )
    made.add_argument(
        "--trace",
        nargs="?",
        const="-",
        metavar="FILE",
        help="log arrivals, admissions, preemptions and ends, one per line (to the terminal)",
    )
    made.add_argument("--trace-ticks", action="store_true", help="log every tick too")
    made.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_options(made)
    return made


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        return run(options, ["wastesim", "run", *(sys.argv[1:] if argv is None else argv)])
    except WastesimError as error:
        print(_as_text(error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted; the run was given up", file=sys.stderr)
        return INTERRUPTED


def run(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Load, check the output folder, simulate, write."""
    from wastesim.result import load_experiment
    from wastesim.studies.laboratory import study_of

    overrides = list(options.overrides)
    overrides += [] if options.seed is None else [f"seed={options.seed}"]
    study = study_of(options.experiment, overrides)
    if study is not None:
        _refuse_following(options, f"'study: {study}' serves nobody")
        _refuse_options_of_sweeps(options)
        return _run_laboratory(options, overrides, command)
    overrides += ["decode.verify=true"] if options.verify else []
    experiment = load_experiment(options.experiment, overrides)
    source = options.experiment.read_text(encoding="utf-8-sig")
    if experiment.sweep is not None or experiment.search is not None:
        from wastesim.sweep.command import run_varied

        if options.trace is not None or options.trace_ticks:
            raise ConfigError("--trace: follows one run, and a sweep or a search has several")
        return run_varied(experiment, options, source, command)
    _refuse_options_of_sweeps(options)
    target = options.output or _default_folder(experiment.name, experiment.digest)
    if experiment.study == "capacity":
        return _run_capacity(experiment, options, target, source, command)
    runs = len(experiment.compare or [None])
    with ResultFolder(target, experiment.workload.num_requests, runs) as folder:
        if options.trace is None and not options.trace_ticks:
            result = _simulate(experiment, folder.staging, quiet=options.quiet)
        else:
            result = _traced(experiment, folder.staging, options)
        for warning in [*_left_out(result), *folder.write(result, source, command)]:
            print(f"warning: {warning}", file=sys.stderr)
    if not options.quiet:
        _print_summary(result, target)
    return INTERRUPTED if result.interrupted else 0


def _refuse_options_of_sweeps(options: argparse.Namespace) -> None:
    """One run cannot be shown beforehand, and has nothing to go on with."""
    for name, given in (("--dry-run", options.dry_run), ("--resume", options.resume)):
        if given:
            raise ConfigError(
                f"{name}: is for experiments with 'sweep' or 'search', and {options.experiment} has"
                " neither; leave it out"
            )


def _run_laboratory(
    options: argparse.Namespace, overrides: Sequence[str], command: Sequence[str]
) -> int:
    """A study that has no server: `quality` or `equivalence`."""
    from wastesim.laboratory import run_laboratory

    return run_laboratory(
        options.experiment,
        overrides,
        lambda study: options.output or _default_folder(study.name, study.digest),
        command,
        quiet=options.quiet,
    )


def _run_capacity(
    experiment: Experiment,
    options: argparse.Namespace,
    target: Path,
    source: str,
    command: Sequence[str],
) -> int:
    """`study: capacity`: an answer by formula, and nothing that could be followed."""
    from wastesim.capacity.study import run_capacity

    _refuse_following(options, "a capacity study simulates nothing")
    return run_capacity(experiment, target, source, command, quiet=options.quiet)


def _refuse_following(options: argparse.Namespace, because: str) -> None:
    """ConfigError for options that follow a run, where there is none."""
    if options.trace is not None or options.trace_ticks or options.verify:
        raise ConfigError(f"--trace, --verify: follow a run, and {because}")


def _simulate(experiment: Experiment, folder: Path, *, quiet: bool) -> Result | Comparison:
    from wastesim.result import run_one
    from wastesim.studies.comparison import compare
    from wastesim.studies.parallel import usual_workers

    if experiment.study != "comparison":
        with Progress(experiment.workload.num_requests, quiet=quiet) as progress:
            return run_one(experiment, progress, folder)
    workers = usual_workers(experiment)
    with Progress(len(experiment.compare or ()), quiet=quiet, noun="variants") as progress:
        return compare(experiment, progress, workers=workers, told=progress.told, folder=folder)


def _traced(experiment: Experiment, folder: Path, options: argparse.Namespace) -> Result:
    """One run with a log of what happens; there is no bar where the log is printed."""
    from wastesim.eventlog import EventLog
    from wastesim.result import run_one

    if experiment.study == "comparison":
        raise ConfigError("--trace: follows one run, and a comparison has several")
    target = options.trace or "-"
    quiet = options.quiet or target == "-"
    with (
        Progress(experiment.workload.num_requests, quiet=quiet) as progress,
        EventLog(target, progress, ticks=options.trace_ticks) as log,
    ):
        return run_one(experiment, log, folder)


def _left_out(result: Result | Comparison) -> list[str]:
    """What the workload says of rows of its traces that nobody will see served."""
    from wastesim.workload.sources import UNUSABLE

    runs = [result] if isinstance(result, Result) else list(result.results.values())
    notes = [note for run in runs for note in run.records.facts.workload["notes"]]
    return [note for note in dict.fromkeys(notes) if UNUSABLE in note]


def _print_summary(result: Result | Comparison, target: Path) -> None:
    if isinstance(result, Result):
        from wastesim.report.terminal import print_summary

        print_summary(result.summary, result.records, target)
    else:
        from wastesim.report.comparison_terminal import print_comparison

        print_comparison(result.parts(), result.missing, target)


class _PrintSchema(argparse.Action):
    """`--schema` needs no experiment, as `--help` does not."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **more)

    def __call__(self, made: argparse.ArgumentParser, *_: object) -> None:
        """Print and exit."""
        from wastesim.config.schema import schema_text

        print(schema_text())
        made.exit()


def _default_folder(name: str, digest: str) -> Path:
    stem = f"{datetime.now():%Y%m%dT%H%M%S}-{digest}"
    folder = Path("reports") / name / stem
    again = 2
    while folder.exists():
        folder = folder.with_name(f"{stem}-{again}")
        again += 1
    return folder


def _as_text(error: WastesimError) -> str:
    return "\n".join(f"error: {line}" for line in str(error).splitlines())


if __name__ == "__main__":
    sys.exit(main())
