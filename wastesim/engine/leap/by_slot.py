"""Equal slots, first come first served, nobody preempted: the plain cache of every text book.

When a request comes in all is known: it ends `outputs` ticks later and gives back what it took.
A heap of ends is then the whole state of those that run, and no object stands for any of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np

from wastesim.engine.leap.job import Entry, Job
from wastesim.engine.leap.server import LeapParts, LeapServer
from wastesim.engine.leap.tables import CHUNK, unfinished
from wastesim.engine.simtime import SimTime
from wastesim.records import Array, Recorder, RequestRow

#: Who runs: the tick of its last token, its entry, tick and time of its admission, time of its
#: first token.  Ordered by end, then by id.
Runs = tuple[int, Entry, int, float, float]


class SlotServer(LeapServer):
    """What `by_job` does with `LeapOrca` over equal slots, in one step."""

    def __init__(
        self, env: SimTime, parts: LeapParts, slots: int, slot_cells: int, max_num_seqs: int
    ) -> None:
        super().__init__(env, parts)
        self._cells = slot_cells
        self._seqs = max_num_seqs
        self._most = min(slots, max_num_seqs)
        self._unused = 0
        self._ends: list[Runs] = []
        self._done = _Done(parts.recorder, slot_cells)

    def running(self) -> int:
        """Those whose end is known: all."""
        return len(self._ends)

    def stretch(self, now_s: float) -> float:
        """Fill free slots, leap to the next end, empty those slots."""
        ends, line, tick = self._ends, self.parts.line, self.ticks
        decoding = len(ends)
        room = min(self._most - decoding, line.waiting)
        entries = line.entries(room) if room else []
        prefill = contexts = 0
        for entry in entries:
            prefill += entry[2]
            contexts += entry[2] * (entry[2] + 1) // 2
        many = decoding + len(entries)
        self.stored += decoding
        contexts += self.stored
        self.stored += prefill
        self._begin(decoding + prefill, contexts, many)
        if entries:
            self._enter(entries, now_s)
        ticks = self.length(ends[0][0] - tick + 1)
        short = line.waiting and many < self._seqs
        begin = (
            ticks, many, many, prefill, decoding, contexts, self.stored, self.stored,
            many * self._cells, self._unused, 0, short > 0, line.waiting, line.joined,
            len(entries), 0, -1, -1,
        )  # fmt: skip
        ends_s = self.parts.clock.commit(ticks)
        self.stored += many * (ticks - 1)
        self.ticks = tick + ticks
        finished = self._leave(tick + ticks - 1, ends_s)
        self.parts.rows.add((*begin, finished, len(ends) * self._cells))
        return ends_s

    def unfinished(self) -> Iterator[RequestRow]:
        """Whoever runs, and whoever waits."""
        self._done.flush()
        for end, entry, tick, admitted_s, first_s in self._ends:
            job = Job(entry)
            job.end, job.admitted_tick, job.first_tick = end, tick, tick
            job.admitted_s, job.first_s = admitted_s, first_s
            yield unfinished(job, self.ticks - 1, self.stopped_because, self._held)
        line = self.parts.line
        for entry in line.entries(line.waiting):
            yield unfinished(Job(entry), self.ticks - 1, self.stopped_because, self._held)

    def _begin(self, tokens: int, contexts: int, many: int) -> None:
        """Tell the clock what ticks cost."""
        cost, stored = self.parts.cost, self.stored
        weights, per_token = cost.weights_read_bytes, cost.kv_bytes_per_token
        flop, per_context = cost.flop_per_token, cost.attention_flop_per_context
        self.parts.clock.begin(
            weights + per_token * stored,
            flop * tokens + per_context * contexts,
            weights + per_token * (stored + many),
            flop * many + per_context * (stored + many),
            per_token * many,
            per_context * many,
        )

    def _enter(self, entries: list[Entry], now_s: float) -> None:
        tick, first_s = self.ticks, self.parts.clock.end(1)
        for entry in entries:
            heappush(self._ends, (tick + entry[3] - 1, entry, tick, now_s, first_s))
            self._unused += self._cells - (entry[2] + entry[3] - 1)

    def _leave(self, tick: int, now_s: float) -> int:
        """Who ends in `tick`; returns how many do."""
        ends, finished = self._ends, 0
        while ends and ends[0][0] == tick:
            runs = heappop(ends)
            final = runs[1][2] + runs[1][3] - 1
            self.stored -= final
            self._unused -= self._cells - final
            self._done.add(runs, now_s)
            finished += 1
        if not ends:
            self.all_done(now_s)
        self.ended += finished
        return finished

    def _held(self, job: Job, stored: int) -> int:
        return self._cells


class _Done:
    """One row per request that has ended."""

    def __init__(self, recorder: Recorder, slot_cells: int) -> None:
        self._recorder = recorder
        self._cells = slot_cells
        self._rows: list[tuple[Runs, float]] = []

    def add(self, runs: Runs, now_s: float) -> None:
        """It was over at `now_s`."""
        self._rows.append((runs, now_s))
        if len(self._rows) == CHUNK:
            self.flush()

    def flush(self) -> None:
        """Hand all rows over."""
        if not self._rows:
            return
        runs, finished_s = zip(*self._rows, strict=True)
        self._rows = []
        ends, entries, admitted_tick, admitted_s, first_s = zip(*runs, strict=True)
        request_id, arrival_s, prompt, outputs, truncated, *_ = zip(*entries, strict=True)
        outputs, ticks = np.array(outputs), np.array(admitted_tick)
        stored = np.array(prompt) + outputs - 1
        nothing = np.zeros(len(runs), dtype=np.int64)
        columns: dict[str, Array] = {
            "request_id": np.array(request_id),
            "status": np.full(len(runs), "completed", dtype=object),
            "reason": np.full(len(runs), "", dtype=object),
            "arrival_s": np.array(arrival_s),
            "prompt_tokens": np.array(prompt),
            "output_tokens": outputs,
            "truncated_tokens": np.array(truncated),
            "generated_tokens": outputs,
            "stored_tokens": stored,
            "reserved_cells": nothing + self._cells,
            "preemptions": nothing,
            "scheduled_tokens": stored,
            "admitted_s": np.array(admitted_s),
            "first_token_s": np.array(first_s),
            "finished_s": np.array(finished_s),
            "admitted_tick": ticks,
            "first_token_tick": ticks,
            "finished_tick": np.array(ends),
        }
        self._recorder.requests(columns)
