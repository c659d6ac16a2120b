"""From stretches to the rows of ticks, many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wastesim.engine.cost import CostModel
from wastesim.engine.leap.clocks import Expanded, LeapClock
from wastesim.engine.leap.line import Arrivals
from wastesim.engine.scheduler import Refusal
from wastesim.engine.snapshot import idle_row
from wastesim.errors import AllocationError
from wastesim.records import Array, Recorder

#: Rows are handed over when so many are ready: columns that stay in a processor's cache.
_MOST_TICKS = 1 << 12
_MOST_STRETCHES = 1 << 11

#: What a stretch is: of its first tick, unless something else is said.
STRETCH = (
    "ticks", "running", "scheduled", "prefill", "decoding", "contexts", "of_scheduled", "stored",
    "reserved", "unused", "padding", "short", "waiting", "joined", "admitted", "preempted",
    "largest_free", "free_spans", "finished", "reserved_end",
)  # fmt: skip
#: What is so of time in which nobody was here; all else is 0.
_ASLEEP = {"ticks": 1, "largest_free": -1, "free_spans": -1}
Stretches = dict[str, Array]


def _with_nothing(found: Stretches) -> Stretches:
    """What was not noted is as when nobody was here."""
    ticks = found["ticks"]
    return {
        name: found[name] if name in found else np.full(len(ticks), _ASLEEP.get(name, 0))
        for name in STRETCH
    }


#: Cells given to decoding jobs, and padding, by tick: see `LeapPool.by_tick`.
ByTick = Callable[[int, int], tuple[Array, Array] | None]


class Ticks:
    """One row per tick out of one per stretch.

    From its second tick on, a stretch has every running job store one token; `finished` and
    `reserved_end` are those of its last tick.
    """

    def __init__(
        self,
        recorder: Recorder,
        clock: LeapClock,
        cost: CostModel,
        by_tick: ByTick,
        line: Arrivals,
        capacity_cells: int,
        fields: tuple[str, ...] = STRETCH,
        widen: Callable[[Stretches], Stretches] | None = None,
    ) -> None:
        """`fields` are what `add` is given, and `widen` makes all of `STRETCH` out of them."""
        self._fields, self._widen = fields, widen or _with_nothing
        self._recorder = recorder
        self._clock = clock
        self._cost = cost
        self._by_tick = by_tick
        self._line = line
        self._capacity = capacity_cells
        self._stretches: list[int] = []
        self._asleep: list[tuple[int, float, float]] = []  # row, since, for how long
        self._count = self._ticks = 0
        self._first = 0  # number of the first tick that ran and is not yet handed over

    def add(self, stretch: tuple[int, ...]) -> None:
        """A stretch has passed."""
        self._stretches.extend(stretch)
        self._count += 1
        self._ticks += stretch[0]
        if self._ticks >= _MOST_TICKS or self._count >= _MOST_STRETCHES:
            self.flush()

    def sleep(self, since_s: float, dt_s: float) -> None:
        """Nobody was here."""
        self._asleep.append((self._ticks, since_s, dt_s))
        self._clock.sleep()
        self._stretches.extend(_ASLEEP.get(name, 0) for name in self._fields)
        self._count += 1
        self._ticks += 1

    def stall(self, now_s: float, waiting: int, free: tuple[int, int], refusal: Refusal) -> None:
        """Nothing can run: a row without length says how it was."""
        self.flush()
        share = "stranded" if refusal is Refusal.MEMORY else "idle"
        row = idle_row(now_s, 0.0, self._capacity)._replace(idle=0, waiting=waiting)
        self._recorder.tick(
            row._replace(**{share: self._capacity}, largest_free=free[0], free_spans=free[1])
        )

    def add_ticks(
        self, found: dict[str, Array], times_s: tuple[Array, Array], taken: int, max_num_seqs: int
    ) -> None:
        """Ticks have passed, from and to these times; so many had been taken from the line."""
        t_s, ends_s = times_s
        reserved = found["written"] + found["future"] + found["unused"] + found["padding"]
        number, times = self._line.times()
        joined = number + np.searchsorted(times, t_s, side="right")
        waiting = joined - taken - np.cumsum(found["admitted"])
        free = self._capacity - reserved
        short = (waiting > 0) & (found["running"] < max_num_seqs)
        stranded = np.where(short, free, 0)
        shares = {name: found[name] for name in ("written", "future", "unused", "padding")}
        shares |= {"stranded": stranded, "idle": free - stranded}
        _check(shares)
        moments = {"t_s": t_s, "dt_s": ends_s - t_s}
        self._recorder.ticks({**found, **moments, **shares, "waiting": waiting})
        self._first += len(t_s)
        self._line.forget()

    def flush(self) -> None:
        """Hand all rows over."""
        if not self._count:
            return
        rows = np.fromiter(self._stretches, np.int64, len(self._stretches))
        columns = rows.reshape(self._count, -1).T
        found = self._widen(dict(zip(self._fields, columns, strict=True)))
        self._recorder.ticks(self._columns(found))
        self._first += self._ticks - len(self._asleep)
        self._stretches, self._asleep = [], []
        self._count = self._ticks = 0
        self._line.forget()

    def _columns(self, of: Stretches) -> dict[str, Array]:
        ticks = of["ticks"]
        begins = np.cumsum(ticks) - ticks
        k = np.arange(self._ticks) - np.repeat(begins, ticks)
        every = Expanded(ticks, k)
        each = every.each

        def at_first(name: str, later: Array | int) -> Array:
            column = later if isinstance(later, np.ndarray) else np.full(len(k), later)
            column = column.copy()
            column[begins] = of[name]
            return column

        running = each(of["running"])
        stored, of_scheduled = (each(of[name]) + running * k for name in ("stored", "of_scheduled"))
        reserved, padding = self._memory(of, each, begins)
        unused, free = each(of["unused"]), self._capacity - reserved
        stranded = np.where(each(of["short"]) == 1, free, 0)
        shares = {
            "written": stored,
            "future": reserved - stored - unused - padding,
            "unused": unused,
            "padding": padding,
            "stranded": stranded,
            "idle": free - stranded,
        }
        _check(shares)
        decoded, prefill = at_first("decoding", running), at_first("prefill", 0)
        tokens, contexts = decoded + prefill, at_first("contexts", of_scheduled)
        moved = self._cost.kv_bytes_per_token * of_scheduled
        moved += np.where(tokens > 0, self._cost.weights_read_bytes, 0)
        flop = self._cost.flop_per_token * tokens
        flop += self._cost.attention_flop_per_context * contexts
        t_s, dt_s = self._clock.columns(every, moved, flop)
        for place, since_s, length_s in self._asleep:
            t_s[place], dt_s[place] = since_s, length_s
        ends = begins + ticks - 1
        finished, reserved_end = np.zeros(len(k), dtype=np.int64), reserved.copy()
        finished[ends], reserved_end[ends] = of["finished"], of["reserved_end"]
        return {
            "t_s": t_s,
            "dt_s": dt_s,
            **shares,
            "running": running,
            "waiting": self._waiting(of, each, begins, t_s),
            "prefill_tokens": prefill,
            "decode_tokens": decoded,
            "moved_bytes": moved,
            "flop": flop,
            "stored_tokens": stored,
            "scheduled": at_first("scheduled", running),
            "admitted": at_first("admitted", 0),
            "preempted": at_first("preempted", 0),
            "finished": finished,
            "reserved_end": reserved_end,
            "largest_free": each(of["largest_free"]),
            "free_spans": each(of["free_spans"]),
        }

    def _memory(
        self, of: Stretches, each: Callable[[Array], Array], begins: Array
    ) -> tuple[Array, Array]:
        """Reserved cells and padding by tick."""
        ran = self._ticks - len(self._asleep)
        found = self._by_tick(self._first, self._first + ran)
        if found is None:
            return each(of["reserved"]), each(of["padding"])
        grown, padding = (np.zeros(self._ticks, dtype=np.int64) for _ in range(2))
        awake = np.ones(self._ticks, dtype=bool)
        awake[[place for place, _, _ in self._asleep]] = False
        grown[awake], padding[awake] = found
        total = np.cumsum(grown)
        return each(of["reserved"] - total[begins]) + total, padding

    def _waiting(
        self, of: Stretches, each: Callable[[Array], Array], begins: Array, t_s: Array
    ) -> Array:
        """Who waited at the first tick, and who has joined until each other one."""
        number, times = self._line.times()
        joined = number + np.searchsorted(times, t_s, side="right")
        waiting: Array = each(of["waiting"] - of["joined"]) + joined
        waiting[begins] = of["waiting"]
        return waiting


def _check(shares: dict[str, Array]) -> None:
    """As the ledger does at every tick."""
    for name, cells in shares.items():
        if len(cells) and int(cells.min()) < 0:
            raise AllocationError(
                f"the ledger does not add up: {name} is {int(cells.min())} cells in a tick"
            )
