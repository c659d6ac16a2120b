"""What to change, and what it would gain: estimates from this run's own requests.

Every line is a closed form (see `closed_forms`) or, where throughput is given, the run's roofline
(see `roofline`) with as many requests running as fit.  None of them is a simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wastesim.records import Records
from wastesim.report.closed_forms import Estimate, exact, paged, slots
from wastesim.report.lengths import Lengths, asked
from wastesim.report.roofline import Roofline, roofline

BLOCK_SIZE = 16
QUANTILES = (1.0, 0.99, 0.95, 0.9)
GRAIN = 16  # a smaller max_model_len is rounded up to a multiple of this
#: Narrower types of the cache, and their bytes per element.
NARROWER = (("float16", 2), ("fp8 or int8", 1))
EXACT = "reserve each request's exact length (an oracle)"
EXACT_CAVEAT = "nobody knows lengths beforehand: the most that a length predictor could gain"
PAGED = f"paged allocation, block_size {BLOCK_SIZE}"
PAGED_CAVEAT = "needs a paged attention kernel; requests can be preempted when blocks run out"
DTYPE_CAVEAT = "changes the generated tokens a little: check the quality"


class Option(NamedTuple):
    """One change and its estimate; `kind` is what a sentence about it is made from."""

    kind: str  # now | shorter | dtype | exact | paged
    change: str
    fit: int | None
    written: float | None
    rejected: float
    tokens_per_s: float | None
    caveat: str = ""


@dataclass(frozen=True)
class Advice:
    """The run as it is, and what could be changed, most gained first within a kind."""

    now: Option
    options: list[Option]
    max_num_seqs: int

    def at_once(self, option: Option) -> int | None:
        """Requests that would run at once: what memory holds, within `max_num_seqs`."""
        return None if option.fit is None else min(option.fit, self.max_num_seqs)

    def gain(self, option: Option) -> float | None:
        """How many times as many requests would run at once as now."""
        new, now = self.at_once(option), self.at_once(self.now)
        return new / now if new and now else None


def advise(records: Records, element_bytes: int | None) -> Advice | None:
    """What to change; None when no request asked for anything that fits.

    `element_bytes` is the width of `kv_cache_dtype`, None when it is not known.
    """
    facts, lengths = records.facts, asked(records)
    served = lengths.at_most(facts.max_model_len)
    if not len(served.output):
        return None
    tell = _Teller(records, roofline(records), len(lengths.output) - len(served.output))
    options = [
        *_shorter(tell, served),
        *_narrower(tell, served, element_bytes),
        tell.option("exact", EXACT, served, exact(served, facts.capacity_cells), EXACT_CAVEAT),
        tell.option(
            "paged", PAGED, served, paged(served, facts.capacity_cells, BLOCK_SIZE), PAGED_CAVEAT
        ),
    ]
    now = _now(tell, served)
    gains = [
        o for o in options if o.kind not in ("exact", "paged") or (o.fit or 0) > (now.fit or 0)
    ]
    return Advice(now, gains, facts.max_num_seqs)


@dataclass(frozen=True)
class _Teller:
    """Completes estimates into options."""

    records: Records
    curve: Roofline | None
    already_rejected: int

    def option(
        self,
        kind: str,
        change: str,
        kept: Lengths,
        found: Estimate,
        caveat: str = "",
        width: float = 1,
    ) -> Option:
        """`width` is bytes per token relative to now."""
        submitted = len(self.records.requests["status"])
        rejected = 1 - len(kept.output) / submitted
        speed = self._speed(found.fit, kept, width)
        return Option(kind, change, found.fit, found.written, rejected, speed, caveat)

    def _speed(self, fit: int | None, kept: Lengths, width: float) -> float | None:
        """Tokens per second at the mean context of these requests, weighted by their ticks."""
        if self.curve is None or not fit or not len(kept.output):
            return None
        o = kept.output
        context = float((o * (2 * kept.prompt + o - 1)).sum() / 2 / o.sum())
        running = min(fit, self.records.facts.max_num_seqs)
        changed = Roofline(
            self.curve.weights_bytes,
            self.curve.bytes_per_token * width,
            context,
            self.curve.flop_per_token,
            self.curve.bytes_per_s,
            self.curve.flop_per_s,
        )
        return float(changed.tokens_per_s(np.array([running]))[0])


def _now(tell: _Teller, served: Lengths) -> Option:
    """As it ran: slots by formula, any other policy by what its requests held per tick."""
    facts, ticks = tell.records.facts, tell.records.ticks
    if facts.policy == "contiguous":
        found = slots(served, facts.capacity_cells, facts.max_model_len)
    else:
        held = sum(int(ticks[name].sum()) for name in ("written", "future", "unused", "padding"))
        running = int(ticks["running"].sum())
        fit = math.floor(facts.capacity_cells * running / held) if held else None
        found = Estimate(fit, int(ticks["written"].sum()) / held if held else None)
    change = f"as it is: {facts.policy}, max_model_len {facts.max_model_len:,}"
    return tell.option("now", change, served, found)


def _shorter(tell: _Teller, served: Lengths) -> list[Option]:
    """`max_model_len` at quantiles of P + O; only where a reservation depends on it."""
    facts = tell.records.facts
    if facts.policy != "contiguous":
        return []
    found: dict[int, Option] = {}
    for q in QUANTILES:
        limit = math.ceil(float(np.quantile(served.total, q, method="higher")) / GRAIN) * GRAIN
        if limit < facts.max_model_len and limit not in found:
            kept = served.at_most(limit)
            estimate = slots(kept, facts.capacity_cells, limit)
            caveat = (
                "longer requests would be rejected" if len(kept.output) < len(served.output) else ""
            )
            found[limit] = tell.option(
                "shorter", f"max_model_len {limit:,}", kept, estimate, caveat
            )
    return list(found.values())


def _narrower(tell: _Teller, served: Lengths, element_bytes: int | None) -> list[Option]:
    """C' = C x bytes / narrower bytes; what is reserved and written per request stays."""
    now = _now(tell, served)
    made = []
    for name, width in NARROWER:
        if element_bytes is not None and width < element_bytes:
            fit = None if now.fit is None else now.fit * element_bytes // width
            estimate = Estimate(_slots_of(tell, element_bytes / width) or fit, now.written)
            made.append(
                tell.option(
                    "dtype",
                    f"kv_cache_dtype {name}",
                    served,
                    estimate,
                    DTYPE_CAVEAT,
                    width / element_bytes,
                )
            )
    return made


def _slots_of(tell: _Teller, times: float) -> int | None:
    facts = tell.records.facts
    if facts.policy != "contiguous":
        return None
    return math.floor(facts.capacity_cells * times) // facts.max_model_len
