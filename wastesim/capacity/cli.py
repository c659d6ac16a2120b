"""The verb's options, and what they ask for.

Exit codes: 0 answered (also when what was asked about does not fit: that is an answer), 2 bad
options, an impossible configuration, or a file that cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wastesim.errors import ConfigError, WastesimError
from wastesim.json_text import json_text
from wastesim.pipe import quiet_when_closed
from wastesim.verb import Verb

if TYPE_CHECKING:
    from wastesim.capacity.question import Question

#: What options are where neither the command line nor an experiment says anything.
DEFAULTS: dict[str, Any] = {
    "engine": "vllm",
    "kv_cache_dtype": "auto",
    "concurrency": 1,
    "tensor_parallel_size": 1,
    "pipeline_parallel_size": 1,
    "data_parallel_size": 1,
    "async_scheduling": False,
    "max_num_seqs": 256,
    "parallel": 4,
}
#: What only the answer for one model and one context makes anything of.
_OF_AN_ANSWER = ("figure", "concurrency", "lengths", "too_long", "max_num_seqs", "parallel")


def parser() -> argparse.ArgumentParser:
    """The verb's options; names are vLLM's where it has them."""
    made = Verb(
        prog="wastesim capacity",
        description="How many requests fit into a GPU's memory, with every term's arithmetic.",
        epilog="Example: wastesim capacity --model llama-3-8b --gpu-memory '80 GiB' --context 4096"
        " --concurrency 32.  docs/capacity.md has more.",
    )
    add = made.add_argument
    add("experiment", nargs="?", type=Path, help="take model, gpu, server and lengths from a YAML")
    add("--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
        help="replace a key of the experiment")  # fmt: skip
    _add_what(made)
    _add_how(made)
    add("--lengths", metavar="WORKLOAD", help="a workload or trace: expected concurrency")
    add("--too-long", choices=["reject", "truncate", "error"],
        help="requests beyond --max-model-len (as each policy's scheduler does)")  # fmt: skip
    add("--from-log", metavar="FILE", help="read an engine's start-up lines and check them")
    add("--explain", metavar="VALUE", help="explain a hand formula: '1.53 MB per token'")
    add("--figure", metavar="DIR", type=Path, help="draw memory against concurrency into a folder")
    add("--json", action="store_true", help="print numbers as JSON")
    return made


def _add_what(made: argparse.ArgumentParser) -> None:
    """The model, the card, and the requests."""
    add = made.add_argument
    add("--model", action="append", metavar="NAME",
        help="catalog name, config.json or .gguf; several with commas, or 'all'")  # fmt: skip
    add("--gpu", metavar="NAME", help="a card of the catalog")
    add("--gpu-memory", metavar="SIZE", help="memory of the card: '80 GiB' (2**30) or '80 GB'")
    add("--max-model-len", metavar="TOKENS", help="longest request (the context, or the model's)")
    add("--context", action="append", metavar="TOKENS", help="length of a request (repeatable)")
    add("--concurrency", type=_count, metavar="N", help="requests of that length (1)")


def _add_how(made: argparse.ArgumentParser) -> None:
    """The engine and its settings."""
    add = made.add_argument
    add("--engine", metavar="NAME",
        help="vllm, vllm-0.11, sglang, llama.cpp, tensorrt-llm or static (vllm)")  # fmt: skip
    add("--tensor-parallel-size", "-tp", type=_count, metavar="N")
    add("--pipeline-parallel-size", "-pp", type=_count, metavar="N")
    add("--data-parallel-size", "-dp", type=_count, metavar="N")
    add("--gpu-memory-utilization", type=float, metavar="SHARE", help="the engine's own default")
    add("--kv-cache-dtype", metavar="TYPE",
        help="float16, fp8, int8, q8_0, int4_g32_zp, or K/V as in q8_0/q4_0 (auto)")  # fmt: skip
    add("--block-size", type=_count, metavar="TOKENS", help="tokens of a block or page")
    add("--overhead", metavar="SIZE",
        help="all but weights and cache ('2 GiB'); auto: activations + 350 MiB")  # fmt: skip
    add("--kv-cache-memory-bytes", metavar="SIZE", help="replaces the budget")
    add("--max-num-batched-tokens", type=_count, metavar="TOKENS", help="tokens of a step")
    add(
        "--async-scheduling",
        action="store_true",
        default=None,
        help="windows hold two steps' tokens",
    )
    add("--disable-hybrid-kv-cache-manager", action="store_true",
        help="every layer keeps every token")  # fmt: skip
    add("--max-num-seqs", type=_count, metavar="N", help="most requests at once (256)")
    add("--parallel", "-np", type=_count, metavar="N",
        help="slots that a divided cache has (4)")  # fmt: skip


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        tree, lines = _run(options)
        text = json_text(tree, indent=2) if options.json else "\n".join(lines)
        print(text)
        return 0
    except WastesimError as error:
        print("\n".join(f"error: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return error.exit_code


def _run(options: argparse.Namespace) -> tuple[Any, list[str]]:
    """A tree for `--json`, and lines of text."""
    given = options
    if options.experiment is not None:
        from wastesim.studies.capacity import with_experiment

        options = with_experiment(options)
    options = with_defaults(options)
    if options.from_log is not None:
        from wastesim.capacity.from_log import from_log

        _refuse_unheard(given, ("figure", "lengths"), "'--from-log' reads a log")
        return from_log(Path(options.from_log), options)
    if options.explain is not None:
        from wastesim.capacity.explain import explain_option

        _refuse_unheard(given, ("figure", "lengths"), "'--explain' explains a number")
        return explain_option(options)
    return _capacity(options, given)


def _refuse_unheard(given: argparse.Namespace, names: Sequence[str], instead: str) -> None:
    """ConfigError for options that the answer would pass over without a word."""
    unheard = [name for name in names if getattr(given, name) is not None]
    if unheard:
        raise ConfigError(
            f"'--{unheard[0].replace('_', '-')}' goes with the answer for one model and one"
            f" context, and {instead}: leave it out"
        )


def with_defaults(options: argparse.Namespace) -> argparse.Namespace:
    """Options that nobody gave have their defaults."""
    given = {key: value for key, value in vars(options).items() if value is not None}
    return argparse.Namespace(**{**vars(options), **DEFAULTS, **given})


def _capacity(options: argparse.Namespace, given: argparse.Namespace) -> tuple[Any, list[str]]:
    from wastesim.capacity.asking import questions
    from wastesim.capacity.table import table_lines, table_tree

    asked = questions(options)
    if len(asked) > 1:
        # `--json` says of every row whether so many fit.
        names = [name for name in _OF_AN_ANSWER if name != "concurrency" or not options.json]
        _refuse_unheard(given, names, f"a table of {len(asked)} was asked for")
        return table_tree(asked), table_lines(asked)
    tree, lines = one_answer(asked[0], options)
    if options.figure is not None:
        lines += ["", *_draw(tree, options.figure)]
    return tree, lines


def one_answer(question: Question, options: argparse.Namespace) -> tuple[Any, list[str]]:
    """The answer to one question, and with lengths what they make of it."""
    from wastesim.capacity.lines import lines_of, tree_of
    from wastesim.capacity.question import answer

    found = answer(question)
    tree, lines = tree_of(found), lines_of(found)
    if options.lengths is not None:
        from wastesim.capacity.expected import expected, expected_lines

        policies = expected(
            found, options.lengths, options.max_num_seqs, options.parallel, options.too_long
        )
        tree["lengths"] = policies.to_tree()
        lines += ["", *expected_lines(policies)]
    return tree, lines


def _draw(tree: Any, folder: Path) -> list[str]:
    from wastesim.report.figures.capacity import pictures
    from wastesim.report.figures.render import draw

    try:
        for picture in pictures(tree):
            draw(picture, folder)
    except OSError as error:
        raise ConfigError(f"'--figure' {folder} cannot be written ({error.strerror})") from None
    return [f"picture: {folder / 'capacity.png'} (and .svg)"]


def _count(text: str) -> int:
    plain = text.replace(",", "").replace("_", "")
    if not (plain.isascii() and plain.isdigit() and int(plain) >= 1):
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1 (got {text!r})")
    return int(plain)
