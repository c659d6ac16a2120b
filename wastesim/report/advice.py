"""What to change, and what it would gain: estimates from this run's own requests.

Every line is a closed form (see `closed_forms`) or, where throughput is given, the run's roofline
(see `roofline`) with as many requests running as fit.  None of them is a simulation.

Requests beyond `max_model_len` are served as the policy in question would serve them: its scheduler
rejects them or cuts them at the limit, unless `workload.too_long` says which.  Those that even an
empty pool cannot hold are rejected under any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from wastesim.config.policy import PRESETS
from wastesim.config.workload import TooLong, too_long_rule
from wastesim.records import RESERVED, Records
from wastesim.report.closed_forms import Estimate, exact, paged, slots
from wastesim.report.lengths import Lengths, asked
from wastesim.report.roofline import Roofline, roofline
from wastesim.report.text import percent

BLOCK_SIZE = 16
QUANTILES = (1.0, 0.99, 0.95, 0.9)
GRAIN = 16  # a smaller max_model_len is rounded up to a multiple of this
#: Narrower types of the cache, and their bytes per element.
NARROWER = (("float16", 2), ("fp8 or int8", 1))

EXACT = "reserve each request's exact length (an oracle)"
PAGED = f"paged allocation, block_size {BLOCK_SIZE}"
CAVEATS = {
    "shorter": "longer requests would be rejected",
    "dtype": "changes the generated tokens a little: check the quality",
    "seqs": "memory holds them already",
    "exact": "nobody knows lengths beforehand: the most that a length predictor could gain",
    "paged": "needs a paged attention kernel; requests can be preempted when blocks run out",
}


class Option(NamedTuple):
    """One change and its estimate; `kind` is what a sentence about it is made from."""

    kind: str  # now | shorter | dtype | seqs | exact | paged
    change: str
    fit: int | None
    written: float | None
    rejected: float
    tokens_per_s: float | None
    max_num_seqs: int
    caveat: str = ""

    @property
    def at_once(self) -> int | None:
        """Requests that would run at once: what memory holds, within `max_num_seqs`."""
        return None if self.fit is None else min(self.fit, self.max_num_seqs)


class Served(NamedTuple):
    """Lengths as they are served, and the shares that are rejected, and cut at the limit."""

    lengths: Lengths
    rejected: float
    cut: float


@dataclass(frozen=True)
class Advice:
    """The run as it is, and what could be changed."""

    now: Option
    options: list[Option]

    def gain(self, option: Option) -> float | None:
        """How many times as many requests would run at once as now."""
        new, now = option.at_once, self.now.at_once
        return new / now if new and now else None


def advise(
    records: Records, element_bytes: int | None, too_long: TooLong | None = None
) -> Advice | None:
    """What to change; None when everybody asked for more than `max_model_len`.

    `element_bytes` is the width of `kv_cache_dtype`, None when it is not known; `too_long` is what
    `workload.too_long` states.
    """
    adviser = _Adviser(records, asked(records), too_long, roofline(records))
    if not len(adviser.let_in().output):
        return None
    now = adviser.now()
    options = [
        *adviser.shorter(),
        *adviser.narrower(now, element_bytes),
        *adviser.more_seqs(now),
        *adviser.other_policies(now),
    ]
    return Advice(now, options)


@dataclass(frozen=True)
class _Adviser:
    """Makes options for one run."""

    records: Records
    asked: Lengths
    too_long: TooLong | None
    curve: Roofline | None

    @cached_property
    def served(self) -> Served:
        """What the run's own policy and scheduler serve."""
        return self._as_now(self.records.facts.capacity_cells)

    def now(self) -> Option:
        """As it ran: slots by formula, any other policy by what its requests held per tick."""
        facts = self.records.facts
        change = f"as it is: {facts.policy}, max_model_len {facts.max_model_len:,}"
        if facts.policy == "contiguous":
            found = slots(self.served.lengths, facts.capacity_cells, facts.max_model_len)
            return self._option("now", change, found)
        option, requests = (
            self._option("now", change, self._as_it_ran()),
            self.records.totals.requests,
        )
        share = requests.statuses["rejected"] / max(1, requests.submitted)
        return option._replace(rejected=share)  # by claims, which may be more than is written

    def shorter(self) -> Iterator[Option]:
        """`max_model_len` at quantiles of P + O; only where slots depend on it."""
        facts = self.records.facts
        limits = [np.quantile(self.let_in().total, q, method="higher") / GRAIN for q in QUANTILES]
        for limit in dict.fromkeys(math.ceil(x) * GRAIN for x in limits):
            if facts.policy == "contiguous" and limit < facts.max_model_len:
                served = self._in_slots(limit, facts.capacity_cells)
                found = slots(served.lengths, facts.capacity_cells, limit)
                if found.fit:
                    yield self._option("shorter", f"max_model_len {limit:,}", found, served=served)

    def narrower(self, now: Option, element_bytes: int | None) -> Iterator[Option]:
        """C' = C x bytes / narrower bytes; what is reserved and written per request stays."""
        facts = self.records.facts
        for name, width in NARROWER:
            if element_bytes is None or width >= element_bytes or now.fit is None:
                continue
            cells = facts.capacity_cells * element_bytes // width
            served = self._as_now(cells)
            if facts.policy == "contiguous":
                found = slots(served.lengths, cells, facts.max_model_len)
            else:
                found = Estimate(now.fit * element_bytes // width, now.written)
            if found.fit:
                change, share = f"kv_cache_dtype {name}", width / element_bytes
                yield self._option("dtype", change, found, served=served, share=share)

    def more_seqs(self, now: Option) -> Iterator[Option]:
        """Where memory holds more than the server lets run."""
        if now.fit is not None and now.fit > now.max_num_seqs:
            found = Estimate(now.fit, now.written)
            yield self._option("seqs", f"max_num_seqs {now.fit:,}", found, max_num_seqs=now.fit)

    def other_policies(self, now: Option) -> Iterator[Option]:
        """Exact-length and paged allocation, where they hold more than now."""
        cells = self.records.facts.capacity_cells
        known = self._served_by(self._reserving())
        grown = self._served_by("vllm", unit_cells=BLOCK_SIZE)
        oracle, blocks = exact(known.lengths, cells), paged(grown.lengths, cells, BLOCK_SIZE)
        for kind, change, found, served in (
            ("exact", EXACT, oracle, known),
            ("paged", PAGED, blocks, grown),
        ):
            if (found.fit or 0) > (now.fit or 0) and kind != self.records.facts.policy:
                yield self._option(kind, change, found, served=served)

    def _reserving(self) -> str:
        """The scheduler of a policy that reserves: the run's, unless that is for growing ones."""
        facts = self.records.facts
        preset = PRESETS.get(facts.policy)
        grows = preset is None or preset.grows
        return "orca" if grows and facts.scheduler == "vllm" else facts.scheduler

    def let_in(self, max_model_len: int | None = None, scheduler: str | None = None) -> Lengths:
        """Whom a limit and a scheduler let in, the run's if not given, were memory no matter."""
        facts = self.records.facts
        rule = too_long_rule(self.too_long, scheduler or facts.scheduler)
        return self.asked.served(max_model_len or facts.max_model_len, rule)

    def _as_now(self, cells: int) -> Served:
        """By the run's own policy, had it a pool of so many cells."""
        facts = self.records.facts
        if facts.policy == "contiguous":
            return self._in_slots(facts.max_model_len, cells)
        return self._served_by(facts.scheduler, cells=cells)

    def _in_slots(self, slot_cells: int, cells: int) -> Served:
        """By slots of so many cells, which are `max_model_len` too: nobody if there is none."""
        if slot_cells <= cells:
            return self._served_by(self.records.facts.scheduler, slot_cells, cells=cells)
        return Served(Lengths(self.asked.prompt[:0], self.asked.output[:0]), 1.0, 0.0)

    def _served_by(
        self,
        scheduler: str,
        max_model_len: int | None = None,
        *,
        cells: int | None = None,
        unit_cells: int = 1,
    ) -> Served:
        """By a pool of so many cells (the run's), handed out in units."""
        facts = self.records.facts
        limit, cells = max_model_len or facts.max_model_len, cells or facts.capacity_cells
        every = max(1, len(self.asked.output))
        served = self.let_in(limit, scheduler).fitting(cells, unit_cells)
        uncut = self.asked.at_most(limit).fitting(cells, unit_cells)
        cut = len(served.output) - len(uncut.output)
        return Served(served, (every - len(served.output)) / every, cut / every)

    def _as_it_ran(self) -> Estimate:
        facts, sums = self.records.facts, self.records.totals.ticks.sums
        held = sum(sums[name] for name in RESERVED)
        if not held:
            return Estimate(None, None)
        fit = facts.capacity_cells * sums["running"] // held
        return Estimate(fit, sums["written"] / held)

    def _option(
        self,
        kind: str,
        change: str,
        found: Estimate,
        *,
        served: Served | None = None,
        share: float = 1.0,
        max_num_seqs: int | None = None,
    ) -> Option:
        """`share` is bytes per token relative to now; `served` is as now if not given."""
        served = served or self.served
        most = max_num_seqs or self.records.facts.max_num_seqs
        speed = self._tokens_per_s(min(found.fit or 0, most), served.lengths, share)
        caveat = self._caveat(kind, served)
        return Option(kind, change, found.fit, found.written, served.rejected, speed, most, caveat)

    def _caveat(self, kind: str, served: Served) -> str:
        spared = kind == "shorter" and served.rejected == self.served.rejected
        cut = f"outputs of {percent(served.cut)} of requests are cut at max_model_len"
        said = ["" if spared else CAVEATS.get(kind, ""), cut if served.cut else ""]
        return "; ".join(text for text in said if text)

    def _tokens_per_s(self, running: int, kept: Lengths, share: float) -> float | None:
        if self.curve is None or not running or not len(kept.output):
            return None
        changed = self.curve.changed(kept.mean_context(), share)
        return float(changed.tokens_per_s(np.array([running]))[0])
