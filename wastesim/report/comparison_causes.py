"""Why a variant's memory is not written, in words: its largest share that holds no token.

Every share is called what the tables call it; the PagedAttention paper says reservation of future,
internal fragmentation of unused, and external of what is stranded.
"""

from __future__ import annotations

from wastesim.records import Records
from wastesim.report.answer import why_nothing
from wastesim.report.comparison_parts import Part
from wastesim.report.text import percent

LITTLE = 0.95
#: A largest free span below this part of the free cells: memory is in pieces.
IN_PIECES = 0.75


def cause(part: Part) -> str:
    """`unused: lengths over-estimated, 57.7 % of the pool`, or why nothing ran."""
    written = part.shares["written"]
    if written is None:
        return f"nothing ran: {why_nothing(part.summary['requests'])}"
    lost = {name: share or 0.0 for name, share in part.shares.items() if name != "written"}
    most = max(lost, key=lambda name: lost[name])
    if not lost[most]:
        return "nothing is lost"
    words = f"{_words(most, part.records)}, {percent(lost[most])} of the pool"
    return f"little is lost; most of it {words}" if written >= LITTLE else words


def _words(share: str, records: Records) -> str:
    if share == "stranded":
        return _external(records)
    if share == "idle":
        return _idle(records)
    return {
        "future": "future: held for tokens still to come",
        "unused": "unused: lengths over-estimated",
        "padding": "padding: requests rounded up to the allocator's chunks",
    }[share]


def _external(records: Records) -> str:
    """Free cells that the head of the queue could not use: cut up, or simply too few."""
    short = records.totals.ticks.short
    if short["stranded"] and short["largest_free"] < IN_PIECES * short["stranded"]:
        return "stranded: free memory too cut up for the next request"
    return "stranded: too little free memory for the next request"


def _idle(records: Records) -> str:
    found = records.totals.ticks.integrals
    if 2 * found["idle_while_waiting"] > found["idle"]:
        return "idle: free, but the next request may not run yet (max_num_seqs or token budget)"
    return "idle: free, and no request waits for it"
