"""Times of many ticks at once: what `Clock.after` would say, tick by tick, in closed form.

A *stretch* is a row of ticks between two happenings.  Its first tick may compute prompts; from
the second on every running request stores one token more, so that bytes and FLOP rise evenly::

    bytes:  b0, b1, b1 + db, b1 + 2 db, ...        FLOP:  f0, f1, f1 + df, f1 + 2 df, ...
"""

from __future__ import annotations

from array import array
from typing import NamedTuple, Protocol

import numpy as np

from wastesim.engine.clock import Clock, FixedClock, RooflineClock
from wastesim.records import Array

#: No tick: the roofline's bound does not change within a stretch.
NEVER = 1 << 60
#: Integers beyond this are added up as Python's own.
_MOST = 1 << 62


class Expanded(NamedTuple):
    """Ticks of many stretches: how many each has, and of every tick its stretch and its place."""

    ticks: Array
    k: Array

    def each(self, values: Array) -> Array:
        """A value per stretch, for each of its ticks."""
        found: Array = np.repeat(values, self.ticks)
        return found


class LeapClock(Protocol):
    """`begin` a stretch, ask how long it may be, `commit` to a number of ticks."""

    def start(self, now_s: float) -> float:
        """As `Clock.start`."""

    def begin(self, b0: int, f0: int, b1: int, f1: int, db: int, df: int) -> float:
        """The ticks from now on cost so much; returns the end of the first."""

    def end(self, ticks: int) -> float:
        """When the stretch ends if it has so many ticks."""

    def until(self, limit_s: float, most: int) -> int:
        """The fewest ticks, 1 to `most`, after which it is `limit_s` or later; else `most`."""

    def commit(self, ticks: int) -> float:
        """So many ticks it is; returns its end."""

    def sleep(self) -> None:
        """A row without a tick: what `columns` says of it means nothing."""

    def columns(self, of: Expanded, moved: Array, flop: Array) -> tuple[Array, Array]:
        """Begin and length of every tick since the last call, from its bytes and FLOP."""

    def walk(self, moved: Array, flop: Array) -> Array:
        """Ends of so many ticks, which pass; `columns` has been asked for all before them."""


def leaping(clock: Clock) -> LeapClock | None:
    """The same clock for many ticks at once; None where each tick must be looked at."""
    if isinstance(clock, FixedClock):
        return FixedLeaps(clock)
    return RooflineLeaps(clock) if isinstance(clock, RooflineClock) else None


class FixedLeaps:
    """The grid ``k * step_s``."""

    def __init__(self, clock: FixedClock) -> None:
        self._clock = clock
        self._step_s = clock.step_s
        self._k = 0
        self._firsts = array("q")

    def start(self, now_s: float) -> float:
        """The first grid point at or after `now_s`."""
        starts_s = self._clock.start(now_s)
        self._k = self._clock.k
        return starts_s

    def begin(self, b0: int, f0: int, b1: int, f1: int, db: int, df: int) -> float:
        """Whatever it costs."""
        return (self._k + 1) * self._step_s

    def end(self, ticks: int) -> float:
        """So many grid points later."""
        return (self._k + ticks) * self._step_s

    def until(self, limit_s: float, most: int) -> int:
        """The first grid point at or after `limit_s`."""
        if self.end(most) < limit_s:
            return most
        ticks = max(1, min(most, int(limit_s / self._step_s) - self._k))
        return _settle(self, ticks, limit_s, most)

    def commit(self, ticks: int) -> float:
        """Move on."""
        self._firsts.append(self._k)
        self._k = self._clock.k = self._k + ticks
        return self._k * self._step_s

    def sleep(self) -> None:
        """Any point will do."""
        self._firsts.append(self._k)

    def columns(self, of: Expanded, moved: Array, flop: Array) -> tuple[Array, Array]:
        """Products, as the clock has them."""
        points = of.each(np.frombuffer(self._firsts, dtype=np.int64)) + of.k
        self._firsts = array("q")
        t_s: Array = points * self._step_s
        return t_s, (points + 1) * self._step_s - t_s

    def walk(self, moved: Array, flop: Array) -> Array:
        """Products, as the clock has them."""
        points = self._k + 1 + np.arange(len(moved))
        self._k = self._clock.k = self._k + len(moved)
        ends: Array = points * self._step_s
        return ends


class RooflineLeaps:
    """Totals of bytes and FLOP, each over the ticks that it binds, converted once."""

    def __init__(self, clock: RooflineClock) -> None:
        self._bytes_per_s, self._flop_per_s = clock.bytes_per_s, clock.flop_per_s
        self._overhead_s = clock.overhead_s
        self._byte_weight, self._flop_weight = clock.byte_weight, clock.flop_weight
        self._later = (0, 0, 0, 0, 0, 0)  # totals after the first tick; costs of the others
        self._first_by_bytes = self._later_by_bytes = True
        self._switch = NEVER
        self._count = 0  # stretches since `columns`
        self._carried = (0, 0, 0)  # totals and ticks at that time
        self._starts: list[tuple[int, float]] = []  # first stretch of a busy time, and its base
        self._unusual: list[tuple[int, bool, bool, int]] = []  # where not all is bound by bytes
        self.start(0.0)

    def start(self, now_s: float) -> float:
        """Begin at once."""
        self._base_s = now_s
        self._bytes = self._flop = self._ticks = 0
        self._starts.append((self._count, now_s))
        return now_s

    def begin(self, b0: int, f0: int, b1: int, f1: int, db: int, df: int) -> float:
        """Find which of memory and arithmetic binds each tick; it changes once at most."""
        w, v = self._byte_weight, self._flop_weight
        self._first_by_bytes = first = b0 * w >= f0 * v
        moved, flop = (self._bytes + b0, self._flop) if first else (self._bytes, self._flop + f0)
        self._later = (moved, flop, b1, f1, db, df)
        lead, step = b1 * w - f1 * v, db * w - df * v  # of bytes over FLOP: tick 1, and each more
        self._later_by_bytes = lead >= 0
        if lead >= 0 > step:
            self._switch = 2 + lead // -step  # the first tick whose lead is negative
        elif lead < 0 < step:
            self._switch = 1 - lead // step  # the first tick whose lead is not
        else:
            self._switch = NEVER
        spent_s = moved / self._bytes_per_s + flop / self._flop_per_s
        return self._base_s + spent_s + (self._ticks + 1) * self._overhead_s

    def end(self, ticks: int) -> float:
        """As the clock computes it."""
        moved, flop = self._spent(ticks)
        spent_s = moved / self._bytes_per_s + flop / self._flop_per_s
        return self._base_s + spent_s + (self._ticks + ticks) * self._overhead_s

    def until(self, limit_s: float, most: int) -> int:
        """From a first guess, which is nearly right: ticks get longer but slowly."""
        begins_s, first_s = self.end(0), self.end(1)
        if first_s >= limit_s or most == 1:
            return 1
        ends_s = self.end(most)
        if ends_s < limit_s:
            return most
        low, high = 1, most  # end(low) < limit_s <= end(high)
        mean_s = (ends_s - first_s) / (most - 1) or first_s - begins_s
        guess = 1 + int((limit_s - first_s) / mean_s) if mean_s else most
        while high - low > 1:
            guess = min(max(guess, low + 1), high - 1)
            reached_s = self.end(guess)
            if reached_s < limit_s:
                low = guess
            else:
                high = guess
            rest_s = limit_s - self.end(low)
            per_tick_s = self.end(low + 1) - self.end(low)
            guess = low + int(rest_s / per_tick_s) if per_tick_s else (low + high) // 2
        return high

    def commit(self, ticks: int) -> float:
        """Add the stretch to the totals."""
        first, later, switch = self._first_by_bytes, self._later_by_bytes, self._switch
        if not (first and later) or switch < NEVER:
            self._unusual.append((self._count, first, later, switch))
        self._count += 1
        self._bytes, self._flop = moved, flop = self._spent(ticks)
        self._ticks += ticks
        spent_s = moved / self._bytes_per_s + flop / self._flop_per_s
        return self._base_s + spent_s + self._ticks * self._overhead_s

    def sleep(self) -> None:
        """A row that is not of the busy time which has just begun."""
        self._count += 1
        self._starts[-1] = (self._count, self._base_s)

    def columns(self, of: Expanded, moved: Array, flop: Array) -> tuple[Array, Array]:
        """Running sums within each busy time, converted as the clock does."""
        by_bytes = self._by_bytes(of)
        moved, flop = np.where(by_bytes, moved, 0), np.where(by_bytes, 0, flop)
        starts, base_s = (np.array(column) for column in zip(*self._starts, strict=True))
        firsts = np.append(0, np.cumsum(of.ticks))[starts]
        busy = Expanded(np.diff(firsts, append=len(of.k)), of.k)  # ticks of each busy time
        bases = busy.each(base_s)
        moved_before, flop_before, ticks_before = self._carried
        totals = (
            _totals(moved_before, busy, firsts, moved),
            _totals(flop_before, busy, firsts, flop),
        )
        ticks = np.arange(len(of.k)) - busy.each(firsts)
        ticks[: busy.ticks[0]] += ticks_before

        def times(moved: Array, flop: Array, ticks: Array) -> Array:
            spent_s = moved / self._bytes_per_s + flop / self._flop_per_s
            found: Array = bases + spent_s.astype(np.float64) + ticks * self._overhead_s
            return found

        t_s = times(totals[0] - moved, totals[1] - flop, ticks)
        self._carry()
        return t_s, times(*totals, ticks + 1) - t_s

    def walk(self, moved: Array, flop: Array) -> Array:
        """Totals after each tick, converted as the clock does."""
        w, v = self._byte_weight, self._flop_weight
        kind = np.int64 if max(int(moved.max()) * w, int(flop.max()) * v) < _MOST else object
        by_bytes = (moved.astype(kind) * w >= flop.astype(kind) * v).astype(bool)
        whole = Expanded(np.array([len(moved)]), np.arange(len(moved)))
        first = np.zeros(1, dtype=np.int64)
        all_moved = _totals(self._bytes, whole, first, np.where(by_bytes, moved, 0))
        all_flop = _totals(self._flop, whole, first, np.where(by_bytes, 0, flop))
        ticks = self._ticks + 1 + whole.k
        spent_s = all_moved / self._bytes_per_s + all_flop / self._flop_per_s
        ends: Array = self._base_s + spent_s.astype(np.float64) + ticks * self._overhead_s
        self._bytes, self._flop = int(all_moved[-1]), int(all_flop[-1])
        self._ticks += len(moved)
        self._carry()
        return ends

    def _by_bytes(self, of: Expanded) -> Array:
        """Whether memory binds each tick."""
        if not self._unusual:
            return np.ones(len(of.k), dtype=bool)
        rows, firsts, laters, switches = (
            np.array(column) for column in zip(*self._unusual, strict=True)
        )
        later, switch = np.ones(len(of.ticks), dtype=bool), np.full(len(of.ticks), NEVER)
        later[rows], switch[rows] = laters, switches
        found: Array = of.each(later) == (of.k < of.each(switch))
        found[(np.cumsum(of.ticks) - of.ticks)[rows]] = firsts
        return found

    def _carry(self) -> None:
        """What comes next adds to the totals as they are."""
        self._count, self._unusual = 0, []
        self._carried = (self._bytes, self._flop, self._ticks)
        self._starts = [(0, self._base_s)]

    def _spent(self, ticks: int) -> tuple[int, int]:
        """Totals after so many ticks."""
        if not ticks:
            return self._bytes, self._flop
        moved, flop, b1, f1, db, df = self._later
        more = ticks - 1
        if self._later_by_bytes and ticks <= self._switch:  # nearly always
            return moved + more * b1 + db * (more * (more - 1) // 2), flop
        before = min(ticks, self._switch)
        for begin, end, by_bytes in ((1, before, True), (before, ticks, False)):
            count = end - begin
            if count <= 0:
                continue
            half = (begin + end - 3) * count  # twice the sum of k - 1 over begin <= k < end
            if by_bytes == self._later_by_bytes:
                moved += count * b1 + db * half // 2
            else:
                flop += count * f1 + df * half // 2
        return moved, flop


def _settle(clock: FixedLeaps, ticks: int, limit_s: float, most: int) -> int:
    """Quotients may be rounded either way."""
    while ticks > 1 and clock.end(ticks - 1) >= limit_s:
        ticks -= 1
    while ticks < most and clock.end(ticks) < limit_s:
        ticks += 1
    return ticks


def _totals(carried: int, busy: Expanded, firsts: Array, amounts: Array) -> Array:
    """`amounts` added up within each busy time, the first of which had some before; exact."""
    if carried + float(amounts.sum(dtype=np.float64)) >= _MOST:
        amounts = amounts.astype(object)
    sums = np.cumsum(amounts)
    inside = np.minimum(firsts, len(sums) - 1)  # a busy time may have no ticks yet
    before = sums[inside] - amounts[inside]
    before[0] -= carried
    total: Array = sums - busy.each(before)
    return total
