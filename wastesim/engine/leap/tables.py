"""From stretches and jobs to the rows of `records`, many at once."""

from __future__ import annotations

from array import array

import numpy as np

from wastesim.engine.cost import CostModel
from wastesim.engine.leap.clocks import LeapClock
from wastesim.engine.leap.job import Job
from wastesim.engine.leap.line import Line
from wastesim.engine.leap.pool import LeapPool
from wastesim.engine.scheduler import Refusal
from wastesim.engine.snapshot import idle_row
from wastesim.errors import AllocationError
from wastesim.records import Array, Recorder, RequestRow

#: Rows are handed over when so many are ready: enough for numpy, little memory.
_MOST_TICKS = 1 << 16
_MOST_STRETCHES = 1 << 13

#: What a stretch is: of its first tick, unless something else is said.
STRETCH = (
    "ticks", "running", "scheduled", "prefill", "decoding", "contexts", "of_scheduled", "stored",
    "reserved", "unused", "padding", "short", "waiting", "joined", "admitted", "preempted",
    "finished", "reserved_end", "largest_free", "free_spans",
)  # fmt: skip


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
        pool: LeapPool,
        line: Line,
        capacity_cells: int,
    ) -> None:
        self._recorder = recorder
        self._clock = clock
        self._cost = cost
        self._pool = pool
        self._line = line
        self._capacity = capacity_cells
        self._stretches = array("q")
        self._asleep: list[tuple[int, float, float]] = []  # row, since, for how long
        self._count = self._ticks = 0
        self._first = 0  # number of the first tick that ran and is not yet handed over
        self._ran = 0

    def add(self, stretch: tuple[int, ...]) -> None:
        """A stretch has passed; as `STRETCH` has it."""
        self._stretches.extend(stretch)
        self._count += 1
        self._ticks += stretch[0]
        self._ran += stretch[0]
        if self._ticks >= _MOST_TICKS or self._count >= _MOST_STRETCHES:
            self.flush()

    def sleep(self, since_s: float, dt_s: float) -> None:
        """Nobody was here."""
        self._asleep.append((self._ticks, since_s, dt_s))
        self._clock.sleep()
        self._stretches.extend((1, *[0] * (len(STRETCH) - 3), -1, -1))
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

    def flush(self) -> None:
        """Hand all rows over."""
        if not self._count:
            return
        rows = np.frombuffer(self._stretches, dtype=np.int64).reshape(self._count, -1)
        self._recorder.ticks(self._columns(dict(zip(STRETCH, rows.T, strict=True))))
        self._stretches, self._asleep = array("q"), []
        self._count = self._ticks = 0
        self._first = self._ran
        self._line.forget()

    def _columns(self, of: dict[str, Array]) -> dict[str, Array]:
        ticks = of["ticks"]
        row = np.repeat(np.arange(len(ticks)), ticks)
        begins = np.cumsum(ticks) - ticks
        k = np.arange(len(row)) - begins[row]
        t_s, dt_s = self._times(ticks, row, k)
        first, last = k == 0, k == ticks[row] - 1
        running, stored = of["running"][row], of["stored"][row] + of["running"][row] * k
        reserved, padding = self._memory(of, row, begins)
        unused, short = of["unused"][row], of["short"][row] == 1
        free = self._capacity - reserved
        shares = {
            "written": stored,
            "future": reserved - stored - unused - padding,
            "unused": unused,
            "padding": padding,
            "stranded": np.where(short, free, 0),
            "idle": np.where(short, 0, free),
        }
        _check(shares)
        moved, flop, prefill = self._costs(of, row, k)
        return {
            "t_s": t_s,
            "dt_s": dt_s,
            **shares,
            "running": running,
            "waiting": self._waiting(of, row, k, t_s),
            "prefill_tokens": prefill,
            "decode_tokens": np.where(first, of["decoding"][row], running),
            "moved_bytes": moved,
            "flop": flop,
            "stored_tokens": stored,
            "scheduled": np.where(first, of["scheduled"][row], running),
            "admitted": np.where(first, of["admitted"][row], 0),
            "preempted": np.where(first, of["preempted"][row], 0),
            "finished": np.where(last, of["finished"][row], 0),
            "reserved_end": np.where(last, of["reserved_end"][row], reserved),
            "largest_free": of["largest_free"][row],
            "free_spans": of["free_spans"][row],
        }

    def _times(self, ticks: Array, row: Array, k: Array) -> tuple[Array, Array]:
        t_s, dt_s = self._clock.columns(ticks, row, k)
        for place, since_s, length_s in self._asleep:
            t_s[place], dt_s[place] = since_s, length_s
        return t_s, dt_s

    def _memory(self, of: dict[str, Array], row: Array, begins: Array) -> tuple[Array, Array]:
        """Reserved cells and padding by tick."""
        reserved, padding = of["reserved"][row], of["padding"][row]
        found = self._pool.by_tick(self._first, self._ran)
        if found is None:
            return reserved, padding
        grown, padding = (np.zeros(len(row), dtype=np.int64) for _ in range(2))
        ran = np.ones(len(row), dtype=bool)
        ran[[place for place, _, _ in self._asleep]] = False
        grown[ran], padding[ran] = found
        total = np.cumsum(grown)
        return reserved + total - total[begins][row], padding

    def _costs(self, of: dict[str, Array], row: Array, k: Array) -> tuple[Array, Array, Array]:
        """Bytes, FLOP and prefilled tokens by tick: see `CostModel.of`."""
        cost, running, first = self._cost, of["running"][row], k == 0
        prefill = np.where(first, of["prefill"][row], 0)
        tokens = np.where(first, of["prefill"][row] + of["decoding"][row], running)
        stored = of["of_scheduled"][row] + running * k
        contexts = np.where(first, of["contexts"][row], stored)
        weights = np.where(tokens > 0, cost.weights_read_bytes, 0)
        moved = weights + cost.kv_bytes_per_token * stored
        flop = cost.flop_per_token * tokens + cost.attention_flop_per_context * contexts
        return moved, flop, prefill

    def _waiting(self, of: dict[str, Array], row: Array, k: Array, t_s: Array) -> Array:
        """Who waited at the first tick, and who has joined until each other one."""
        number, times = self._line.times()
        joined = number + np.searchsorted(times, t_s, side="right")
        later = np.where(k == 0, 0, joined - of["joined"][row])
        waiting: Array = of["waiting"][row] + later
        return waiting


def unfinished(job: Job, tick: int, reason: str, pool: LeapPool) -> RequestRow:
    """The row of a job that still waits or runs after `tick`, the last one."""
    generated, stored = job.generated, job.stored
    if job.end >= 0:
        left = job.end - tick
        generated, stored = job.outputs - left, job.final - left
    held = pool.held(job, stored) if stored else 0
    admitted, first = job.admitted_tick >= 0, job.first_tick >= 0
    return RequestRow(
        request_id=job.request_id,
        status="unfinished",
        reason=reason,
        arrival_s=job.arrival_s,
        prompt_tokens=job.prompt,
        output_tokens=job.outputs,
        truncated_tokens=job.truncated,
        generated_tokens=generated,
        stored_tokens=stored,
        reserved_cells=held,
        preemptions=job.preemptions,
        scheduled_tokens=job.scheduled + stored,
        admitted_s=job.admitted_s if admitted else None,
        first_token_s=job.first_s if first else None,
        finished_s=None,
        admitted_tick=job.admitted_tick if admitted else None,
        first_token_tick=job.first_tick if first else None,
        finished_tick=None,
    )


class Requests:
    """One row per job that has ended."""

    _INTEGERS = (
        "request_id", "prompt_tokens", "output_tokens", "truncated_tokens", "generated_tokens",
        "stored_tokens", "reserved_cells", "preemptions", "scheduled_tokens", "admitted_tick",
        "first_token_tick", "finished_tick",
    )  # fmt: skip
    _TIMES = ("arrival_s", "admitted_s", "first_token_s", "finished_s")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._integers, self._times = array("q"), array("d")
        self._count = 0

    def completed(self, job: Job, tick: int, now_s: float) -> None:
        """It sampled its last token in `tick`, which was over at `now_s`."""
        final = job.final
        self._integers.extend(
            (
                job.request_id, job.prompt, job.outputs, job.truncated, job.outputs, final,
                job.held, job.preemptions, job.scheduled + final, job.admitted_tick,
                job.first_tick, tick,
            )
        )  # fmt: skip
        self._times.extend((job.arrival_s, job.admitted_s, job.first_s, now_s))
        self._count += 1
        if self._count == _MOST_STRETCHES:
            self.flush()

    def flush(self) -> None:
        """Hand all rows over."""
        if not self._count:
            return
        integers = np.frombuffer(self._integers, dtype=np.int64).reshape(self._count, -1).T
        times = np.frombuffer(self._times).reshape(self._count, -1).T
        columns: dict[str, Array] = dict(zip(self._INTEGERS, integers, strict=True))
        columns |= dict(zip(self._TIMES, times, strict=True))
        for name, text in (("status", "completed"), ("reason", "")):
            columns[name] = np.full(self._count, text, dtype=object)
        self._recorder.requests(columns)
        self._integers, self._times = array("q"), array("d")
        self._count = 0


def _check(shares: dict[str, Array]) -> None:
    """As the ledger does at every tick."""
    for name, cells in shares.items():
        if len(cells) and int(cells.min()) < 0:
            raise AllocationError(
                f"the ledger does not add up: {name} is {int(cells.min())} cells in a tick"
            )
