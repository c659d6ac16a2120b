"""The options of a sweep, the same for `wastesim run` and `wastesim sweep run`."""

from __future__ import annotations

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """How the runs of `sweep:` and `search:` are run."""
    group = parser.add_argument_group("experiments with 'sweep:' or 'search:'")
    group.add_argument(
        "--executor",
        default="processes",
        metavar="WHERE",
        help="processes (default), serial, or dask://HOST:PORT",
    )
    group.add_argument(
        "--workers", type=_workers, metavar="N", help="processes; as many as processors by default"
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="go on in --output, or in the newest folder of the same experiment",
    )
    group.add_argument(
        "--dry-run", action="store_true", help="show the cells and the time they need, and exit"
    )


def _workers(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1 (got {text!r})")
    return int(text)


def seed(text: str) -> int:
    """`--seed N`."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number >= 0 (got {text!r})")
    return int(text)
