"""Everything wastesim raises on purpose, in one tree.

::

    WastesimError              anything below; the verbs print it and exit with `exit_code`
    ├── ConfigError            an experiment file or option that cannot be understood (2)
    ├── InputError             a trace, workload or weight file that cannot be used (2)
    ├── OutputError            a result folder that cannot be written (2)
    ├── AllocationError        an allocator broke its own rules: a bug, never an outcome (1)
    ├── CountMismatch          ledger, arrays or pages disagree about what is written (1)
    ├── VerificationError      decoded tokens differ from the uncached reference (1)
    └── StalledError           the simulation can make no further progress (1)

Running out of memory is not here: it is an outcome with numbers, see `engine`.
SimPy re-creates exceptions as ``type(e)(*e.args)``, so every constructor takes positional
arguments and hands all of them to ``super().__init__``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """One thing wrong with an input: where it stands and what to do about it."""

    where: str  # "file:line:col", or the option that carried the value
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class WastesimError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 1


class _ProblemsError(WastesimError):
    """Carries every problem found, so that all are reported at once."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        super().__init__(problems)
        self.problems: tuple[Problem, ...] = (
            (Problem("", problems),) if isinstance(problems, str) else tuple(problems)
        )

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class ConfigError(_ProblemsError):
    """An experiment that cannot be understood: all its problems, in file order."""


class InputError(_ProblemsError):
    """A trace, workload or weight file that cannot be used."""


class OutputError(WastesimError):
    """A result folder that cannot be written."""

    exit_code = 2


class AllocationError(WastesimError):
    """An allocator broke its own rules; the message has all the numbers."""


class CountMismatch(WastesimError):  # noqa: N818 - named for what it reports
    """Two counts of written memory differ."""


class VerificationError(WastesimError):
    """Decoded tokens differ from those of the uncached reference."""


class StalledError(WastesimError):
    """Work remains that no further tick can finish."""
