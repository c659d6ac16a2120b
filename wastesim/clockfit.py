"""`python -m wastesim.clockfit STEPS.csv --model ... --gpu ...`: how far from ideal is a server?

Finds the efficiency factors of `clock: {kind: roofline}` from measured step times, and prints the
YAML to paste.  The table is that of `clock: {kind: table}`; see docs/clocks.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wastesim.errors import ConfigError, WastesimError
from wastesim.json_text import json_text
from wastesim.pipe import quiet_when_closed
from wastesim.verb import Verb


def parser() -> argparse.ArgumentParser:
    """The verb's options."""
    made = Verb(
        prog="wastesim clockfit",
        description="Fit the efficiency factors of the roofline clock to measured step times.",
        epilog="Example: wastesim clockfit steps.csv --model llama-3-8b --gpu a100-sxm-80gb",
    )
    made.add_argument("file", type=Path, help="measured steps, one per row (CSV)")
    made.add_argument("--model", required=True, help="model that ran: a name or a config.json")
    made.add_argument("--gpu", required=True, help="card it ran on: a name of the catalog")
    made.add_argument(
        "--kv-cache-dtype", default="float16", metavar="DTYPE", help="its KV cache (float16)"
    )
    made.add_argument("--json", action="store_true", help="print the fit as JSON")
    return made


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        print(report(options))
    except WastesimError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        return error.exit_code
    return 0


def report(options: argparse.Namespace) -> str:
    """What the verb prints."""
    from wastesim.engine.clock_fit import fit
    from wastesim.engine.clock_steps import read_steps

    steps = read_steps(options.file, repeats=True)
    found = fit(steps, *_machine(options))
    if options.json:
        return json_text(found.to_tree())
    return "\n".join(found.lines(str(options.file)))


def _machine(options: argparse.Namespace) -> tuple[Any, float, float]:
    """(costs of a step, ideal bandwidth, ideal arithmetic)."""
    from wastesim.catalog import check_names, kv_bytes_per_token, resolve_gpu, resolve_model
    from wastesim.config.hardware import canonical_dtype
    from wastesim.engine.build import step_costs

    problems = [
        f"--{path[0]}: {text} (got {getattr(options, str(path[0]))!r})"
        for path, text in check_names({"model": options.model, "gpu": options.gpu})
    ]
    if problems:
        raise ConfigError("\n".join(problems))
    try:
        dtype = canonical_dtype(options.kv_cache_dtype)
    except ValueError as error:
        raise ConfigError(f"--kv-cache-dtype: {error} (got {options.kv_cache_dtype!r})") from None
    model, gpu = resolve_model(options.model), resolve_gpu(options.gpu)
    costs = step_costs(model, kv_bytes_per_token(model, dtype))
    return costs, gpu.bandwidth_bytes_per_s, gpu.flops_per_s


if __name__ == "__main__":
    sys.exit(main())
