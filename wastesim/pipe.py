"""Ends a verb quietly when nobody reads on: `wastesim compare A B | head -3`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import wraps
from typing import Protocol

#: What a shell makes of a process that a closed pipe ended.
CLOSED = 141


class Main(Protocol):
    """`main()` of a verb, or `main(["a", "b"])`."""

    def __call__(self, argv: Sequence[str] | None = None) -> int:
        """Run the verb; returns the exit code."""


def quiet_when_closed(main: Main) -> Main:
    """A verb's `main` that gives `CLOSED` when its output cannot be written any more.

    Not by the signal's default: that would also end a sweep whose worker has died.
    """

    @wraps(main)
    def guarded(argv: Sequence[str] | None = None) -> int:
        try:
            try:
                return main(argv)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            return _closed()
        except SystemExit as stop:  # rich's way to end at a closed pipe
            if isinstance(stop.__context__, BrokenPipeError):
                return _closed()
            raise

    return guarded


def _closed() -> int:
    """What is still to be written at the interpreter's end goes nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED
