"""`python -m wastesim.workload FILE`: describe a trace, a workload or an experiment's requests.

Prints lengths, arrivals, fitting families and the waste that contiguous caches would have, and
writes pictures and a JSON file.  Exit codes: 0 done, 2 bad input or output.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wastesim.errors import InputError, OutputError, WastesimError
from wastesim.json_text import json_text
from wastesim.pipe import quiet_when_closed
from wastesim.verb import Verb

if TYPE_CHECKING:
    from wastesim.config.arrivals import WorkloadSpec
    from wastesim.config.lengths import TraceReading
    from wastesim.report.lengths_page import Described
    from wastesim.workload import Trace

#: Requests drawn from a workload unless `--num-requests` says otherwise.
DRAWN = 20_000
_ROLES = ("prompt", "output", "arrival")


def parser() -> argparse.ArgumentParser:
    """The verb's options."""
    made = Verb(
        prog="wastesim workload",
        description="Describe the requests of a trace, a workload or an experiment.",
        epilog="Examples: wastesim workload sharegpt; wastesim workload trace.csv --output out",
    )
    made.add_argument("file", help="a trace, a workload (name or YAML) or an experiment")
    made.add_argument(
        "--num-requests", type=_count, metavar="N", help=f"so many (a trace: all; drawn: {DRAWN:,})"
    )
    made.add_argument("--seed", type=_seed, metavar="N", help="of what is drawn (the file's, or 0)")
    made.add_argument(
        "--columns", default="", metavar="ROLE=NAME,...", help="columns: prompt, output, arrival"
    )
    made.add_argument("--time-unit", choices=("s", "ms", "us", "ns"), help="of plain arrival times")
    made.add_argument("--max-model-len", metavar="N,...", help="limits to compare (2048 to 131072)")
    made.add_argument("--json", action="store_true", help="print JSON, and no pictures")
    made.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder of pictures and JSON (reports/workload/NAME)",
    )
    return made


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        show(options)
    except WastesimError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        return error.exit_code
    return 0


def show(options: argparse.Namespace) -> None:
    """Describe, print and write."""
    from wastesim.report.lengths_page import print_description, write_description

    described = describe(options)
    if options.json:
        print(json_text(described.to_tree()))
    target = options.output
    if target is None and not options.json:
        target = Path("reports") / "workload" / (Path(options.file).name.partition(".")[0] or "it")
    warnings: list[str] = []
    if target is not None:
        try:
            warnings = write_description(described, target)
        except OSError as error:
            raise OutputError(f"{target}: cannot be written ({error.strerror})") from None
    if not options.json:
        print_description(described, target)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def describe(options: argparse.Namespace) -> Described:
    """The requests that are meant, and what they are like."""
    from wastesim.report.lengths_page import Described
    from wastesim.workload.describe import LIMITS, describe_trace

    limits = _limits(options.max_model_len) or LIMITS
    title, trace = requests_of(options)
    return Described(title, trace, describe_trace(trace, limits))


def requests_of(options: argparse.Namespace) -> tuple[str, Trace]:
    """(what it is, its requests); InputError or ConfigError when it cannot be used."""
    from wastesim.config import read_yaml
    from wastesim.config.arrivals import WorkloadSpec
    from wastesim.workload.library import read_workload_file, unknown, workload_file

    text, path = options.file, Path(options.file)
    file = workload_file(text, Path())
    if file is None and not path.exists():
        raise InputError(unknown(text))
    if file is None:
        return _trace(path, options)
    if file == path and "workload" in read_yaml(path).tree:
        return _experiment(path, options)
    wanted = options.num_requests or DRAWN
    title = f"{read_workload_file(file).title} ({text})"
    return title, _drawn(WorkloadSpec(lengths=text, num_requests=wanted), title, options.seed or 0)


def _trace(path: Path, options: argparse.Namespace) -> tuple[str, Trace]:
    from dataclasses import replace

    from wastesim.workload import read_trace

    trace = read_trace(path, arrivals=None, reading=_reading(options))
    most = options.num_requests
    if most is not None and most < len(trace):
        times = None if trace.arrival_s is None else trace.arrival_s[:most]
        note = f"only the first {most:,} of {len(trace):,} usable rows are described"
        trace = replace(
            trace,
            prompt=trace.prompt[:most],
            output=trace.output[:most],
            arrival_s=times,
            notes=(*trace.notes, note),
        )
    return f"trace {path.name}", trace


def _experiment(path: Path, options: argparse.Namespace) -> tuple[str, Trace]:
    """The requests that an experiment would have, in its own seed unless another is given."""
    from wastesim.result import load_experiment

    more = [] if options.num_requests is None else [f"workload.num_requests={options.num_requests}"]
    experiment = load_experiment(path, more)
    title = f"requests of {path}"
    seed = experiment.seed if options.seed is None else options.seed
    return title, _drawn(experiment.workload, title, seed)


def _drawn(spec: WorkloadSpec, title: str, seed: int) -> Trace:
    """The requests of a workload as if they had been read."""
    from array import array

    import numpy as np

    from wastesim.rng import Streams
    from wastesim.workload import Trace, build_workload

    workload = build_workload(spec, Streams(seed))
    prompt, output, time = array("i"), array("i"), array("d")
    for request in workload.requests():
        prompt.append(request.prompt_tokens)
        output.append(request.output_tokens)
        time.append(request.arrival_s)
    arrival_s = np.frombuffer(time) - time[0]
    counts = [f"{reason}: {count:,}" for reason, count in workload.counts.items()]
    return Trace(
        path=Path(title),
        prompt=np.frombuffer(prompt, dtype=np.int32),
        output=np.frombuffer(output, dtype=np.int32),
        arrival_s=arrival_s if arrival_s[-1] > 0 else None,
        rows=len(prompt),
        notes=(f"drawn with seed {seed}: {workload.describe()}", *workload.notes, *counts),
    )


def _reading(options: argparse.Namespace) -> TraceReading:
    from wastesim.config.lengths import TraceColumns, TraceReading

    named: dict[str, str] = {}
    for part in filter(None, options.columns.split(",")):
        role, equals, name = part.partition("=")
        if role.strip() not in _ROLES or not equals or not name.strip():
            raise InputError(f"--columns: must look like prompt=NAME,output=NAME (got {part!r})")
        named[role.strip()] = name.strip()
    columns = TraceColumns(**named) if named else None
    return TraceReading(columns=columns, time_unit=options.time_unit)


def _limits(text: str | None) -> tuple[int, ...]:
    from wastesim.units import parse_tokens

    try:
        found = [parse_tokens(part) for part in text.split(",")] if text else []
    except ValueError as error:
        raise InputError(f"--max-model-len: {error} (got {text!r})") from None
    if any(limit < 1 for limit in found):
        raise InputError(f"--max-model-len: must be >= 1 (got {text!r})")
    return tuple(sorted(set(found)))


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number >= 0 (got {text!r})")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1 (got {text!r})")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
