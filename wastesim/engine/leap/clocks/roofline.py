"""Memory or arithmetic, whichever takes longer, of many ticks at once."""

from __future__ import annotations

import numpy as np

from wastesim.engine.clock import RooflineClock
from wastesim.engine.leap.clocks.protocol import Expanded
from wastesim.engine.leap.clocks.totals import LIMIT, as_floats, within
from wastesim.records import Array

#: No tick: the bound does not change within a stretch.
NEVER = 1 << 60


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
        ticks = np.arange(len(of.k)) - busy.each(firsts)
        ticks[: busy.ticks[0]] += ticks_before
        sums = within(busy, firsts, moved), within(busy, firsts, flop)

        def seconds(carried: int, sums: Array, per_s: float) -> Array:
            """The first busy time had some before."""
            had, rest = sums[: busy.ticks[0]], sums[busy.ticks[0] :]
            found: Array = np.append(as_floats(carried, had), as_floats(0, rest)) / per_s
            return found

        def times(moved: Array, flop: Array, ticks: Array) -> Array:
            spent_s = seconds(moved_before, moved, self._bytes_per_s)
            spent_s += seconds(flop_before, flop, self._flop_per_s)
            found: Array = bases + spent_s + ticks * self._overhead_s
            return found

        t_s = times(sums[0] - moved, sums[1] - flop, ticks)
        self._carry()
        return t_s, times(*sums, ticks + 1) - t_s

    def walk(self, moved: Array, flop: Array) -> Array:
        """Totals after each tick, converted as the clock does."""
        w, v = self._byte_weight, self._flop_weight
        kind = np.int64 if max(int(moved.max()) * w, int(flop.max()) * v) < LIMIT else object
        by_bytes = (moved.astype(kind) * w >= flop.astype(kind) * v).astype(bool)
        whole = Expanded(np.array([len(moved)]), np.arange(len(moved)))
        first = np.zeros(1, dtype=np.int64)
        moved = within(whole, first, np.where(by_bytes, moved, 0))
        flop = within(whole, first, np.where(by_bytes, 0, flop))
        spent_s = as_floats(self._bytes, moved) / self._bytes_per_s
        spent_s += as_floats(self._flop, flop) / self._flop_per_s
        ends: Array = self._base_s + spent_s + (self._ticks + 1 + whole.k) * self._overhead_s
        self._bytes += int(moved[-1])
        self._flop += int(flop[-1])
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
