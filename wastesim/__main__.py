"""`wastesim VERB ...`: each verb is also `python -m wastesim.VERB`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from wastesim.pipe import quiet_when_closed

#: verb -> what it is for; its module has `main(argv) -> int`.
VERBS = {
    "run": "simulate one experiment and write its report",
    "sweep": "run many settings of one experiment, or see how far that is",
    "compare": "say what differs between two results, and how surely",
    "capacity": "say how many requests fit, and why, without simulating",
    "explore": "write one offline page to look at and play with",
    "workload": "describe a trace, a workload or an experiment's requests",
    "clockfit": "fit the roofline clock to measured step times",
    "models": "fetch the real model that `decode.model: smollm2` executes",
}
#: Modules of verbs that are called otherwise: `wastesim.workload` is a room.
MODULES = {"workload": "describe", "sweep": "sweep.__main__"}


def module_of(verb: str) -> str:
    """The module that a verb is in."""
    return f"wastesim.{MODULES.get(verb, verb)}"


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Hand over to the verb; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        print(_usage())
        return 0
    if words[0] in ("-V", "--version"):
        from wastesim import __version__

        print(f"wastesim {__version__}")
        return 0
    if words[0] not in VERBS:
        print(_unknown(words[0]), file=sys.stderr)
        return 2
    verb: int = import_module(module_of(words[0])).main(words[1:])
    return verb


def _usage() -> str:
    lines = [f"  {verb:<10} {purpose}" for verb, purpose in VERBS.items()]
    return "\n".join(
        ["usage: wastesim VERB ...", "", *lines, "", "wastesim VERB --help says more."]
    )


def _unknown(verb: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(verb, VERBS, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"error: '{verb}' is not a verb{hint} (known: {', '.join(VERBS)})"


if __name__ == "__main__":
    sys.exit(main())
