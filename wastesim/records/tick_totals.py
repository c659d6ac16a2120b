"""Sums over ticks: what every number of a summary that is about time or steps follows from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wastesim.records.rows import SHARES, Array
from wastesim.records.sums import exact_sum

RESERVED = ("written", "future", "unused", "padding")
#: Added up over all ticks.
SUMMED = (*RESERVED, "running", "decode_tokens", "moved_bytes", "flop", "admitted", "preempted")
#: Of ticks that decoded and prefilled nothing: what the roofline is read off.
DECODING = ("moved_bytes", "written", "running", "decode_tokens", "flop")
#: By the number of running requests: time, and of ticks that only decoded steps, tokens, time.
BY_RUNNING = ("seconds", "decode_steps", "decode_tokens", "decode_s")


def _nothing(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 0)


def _no_time(*names: str) -> dict[str, float]:
    return dict.fromkeys(names, 0.0)


@dataclass
class TickTotals:
    """Begins empty; `add` takes ticks in order of time, all at once or in chunks."""

    rows: int = 0
    steps: int = 0  # ticks that ran something
    begin_s: float | None = None
    end_s: float | None = None
    seconds: float = 0.0
    sums: dict[str, int] = field(default_factory=lambda: _nothing(*SUMMED))
    step_sums: dict[str, int] = field(default_factory=lambda: _nothing(*SHARES))
    integrals: dict[str, float] = field(
        default_factory=lambda: _no_time(*SHARES, "reserved", "running", "idle_while_waiting")
    )
    peaks: dict[str, int] = field(default_factory=lambda: _nothing("running", "waiting"))
    #: Time with stranded cells, time in which spans of free cells matter, and their integrals.
    free: dict[str, float] = field(
        default_factory=lambda: _no_time("stranded_s", "matters_s", "largest_free", "free_spans")
    )
    #: Sums over ticks with stranded cells where spans matter.
    short: dict[str, int] = field(default_factory=lambda: _nothing("stranded", "largest_free"))
    decoding: dict[str, int] = field(default_factory=lambda: _nothing(*DECODING, "steps"))
    decoding_s: float = 0.0
    by_running: dict[str, Array] = field(
        default_factory=lambda: {name: np.zeros(0) for name in BY_RUNNING}
    )

    def add(self, ticks: dict[str, Array]) -> None:
        """More ticks."""
        if not len(ticks["t_s"]):
            return
        dt_s, ran = ticks["dt_s"], ticks["running"] > 0
        self.rows += len(dt_s)
        self.steps += int(ran.sum())
        self.begin_s = float(ticks["t_s"][0]) if self.begin_s is None else self.begin_s
        self.end_s = float(ticks["t_s"][-1] + dt_s[-1])
        self.seconds += float(dt_s.sum())
        for name in SUMMED:
            self.sums[name] += exact_sum(ticks[name])
        for name in SHARES:
            self.step_sums[name] += exact_sum(ticks[name][ran])
        for name in self.peaks:
            self.peaks[name] = max(self.peaks[name], int(ticks[name].max()))
        self._add_integrals(ticks)
        self._add_free(ticks)
        self._add_decoding(ticks, ran)

    def correct(self, rows: int, steps: int, seconds: float, shift: dict[str, int]) -> None:
        """Shares that are known better now, over so many rows, steps and seconds."""
        for name, cells in shift.items():
            self.sums[name] += rows * cells
            self.step_sums[name] += steps * cells
            self.integrals[name] += seconds * cells

    def at_least_running(self, running: int) -> float:
        """Seconds with so many requests running, or more."""
        return float(self.by_running["seconds"][running:].sum())

    def _add_integrals(self, ticks: dict[str, Array]) -> None:
        dt_s, found = ticks["dt_s"], self.integrals
        for name in (*SHARES, "running"):
            found[name] += float(ticks[name] @ dt_s)
        found["reserved"] += float(np.sum([ticks[name] for name in RESERVED], axis=0) @ dt_s)
        found["idle_while_waiting"] += float((ticks["idle"] * (ticks["waiting"] > 0)) @ dt_s)

    def _add_free(self, ticks: dict[str, Array]) -> None:
        stranded, largest, dt_s = ticks["stranded"], ticks["largest_free"], ticks["dt_s"]
        matters = largest >= 0
        self.free["stranded_s"] += float(dt_s[stranded > 0].sum())
        self.free["matters_s"] += float(dt_s[matters].sum())
        for name in ("largest_free", "free_spans"):
            self.free[name] += float(ticks[name] @ (dt_s * matters))
        short = matters & (stranded > 0)
        for name in self.short:
            self.short[name] += exact_sum(ticks[name][short])

    def _add_decoding(self, ticks: dict[str, Array], ran: Array) -> None:
        running, dt_s = ticks["running"], ticks["dt_s"]
        chosen = ran & (ticks["prefill_tokens"] == 0) & (ticks["decode_tokens"] > 0)
        self.decoding["steps"] += int(chosen.sum())
        self.decoding_s += float(dt_s[chosen].sum())
        for name in DECODING:
            self.decoding[name] += exact_sum(ticks[name][chosen])
        timed = chosen & (dt_s > 0)
        self._count("seconds", running, dt_s)
        self._count("decode_steps", running[timed], np.ones(int(timed.sum())))
        self._count("decode_tokens", running[timed], ticks["decode_tokens"][timed])
        self._count("decode_s", running[timed], dt_s[timed])

    def _count(self, name: str, running: Array, weights: Array) -> None:
        more, had = np.bincount(running, weights), self.by_running[name]
        size = max(len(more), len(had))
        grown = np.zeros(size)
        grown[: len(had)] = had
        grown[: len(more)] += more
        self.by_running[name] = grown
