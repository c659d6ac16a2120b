"""Equal slots, first come first served, nobody preempted: the plain cache of every text book.

When a request comes in all is known: it ends `outputs` ticks later and gives back what it took.
A heap of ends is then the whole state of those that run, and no object stands for any of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from math import inf

import numpy as np

from wastesim.engine.leap.crowd import FEWEST, MOST, Before, gather, rows
from wastesim.engine.leap.job import Entry, Job
from wastesim.engine.leap.requests import CHUNK, unfinished
from wastesim.engine.leap.server import MOST_TICKS, LeapParts, LeapServer
from wastesim.engine.leap.tables import Stretches
from wastesim.engine.simtime import SimTime
from wastesim.records import Array, RequestRow

#: Who runs: the tick of its last token, its entry, tick and time of its admission, time of its
#: first token.  Ordered by end, then by id.
Runs = tuple[int, Entry, int, float, float]


#: What is noted of a stretch: all but the last of its first tick.  `final` is how many tokens
#: those who run will have stored.
FIELDS = (
    "ticks", "decoding", "admitted", "prefill", "contexts", "stored", "final", "waiting", "joined",
    "finished",
)  # fmt: skip


def widen(of: Stretches, slot_cells: int, max_num_seqs: int) -> Stretches:
    """All that is known of stretches, from `FIELDS`."""
    running = of["decoding"] + of["admitted"]
    nothing = np.zeros(len(running), dtype=np.int64)
    reserved = running * slot_cells
    return {
        **of,
        "running": running,
        "scheduled": running,
        "of_scheduled": of["stored"],
        "reserved": reserved,
        "unused": reserved - of["final"],
        "padding": nothing,
        "short": (of["waiting"] > 0) & (running < max_num_seqs),
        "preempted": nothing,
        "largest_free": nothing - 1,
        "free_spans": nothing - 1,
        "reserved_end": (running - of["finished"]) * slot_cells,
    }


class SlotServer(LeapServer):
    """What `by_job` does with `LeapOrca` over equal slots, in one step."""

    def __init__(
        self, env: SimTime, parts: LeapParts, slots: int, slot_cells: int, max_num_seqs: int
    ) -> None:
        super().__init__(env, parts)
        self._cells = slot_cells
        self._seqs = max_num_seqs
        self._most = min(slots, max_num_seqs)
        self._final = 0  # tokens that those who run will have stored
        self._ends: list[Runs] = []
        self._done: list[tuple[Runs, float]] = []
        self._line, self._clock, self._cost = parts.line, parts.clock, parts.cost
        self._rows = parts.rows
        self._bounded = parts.observer.until_s < inf

    def running(self) -> int:
        """Those whose end is known: all."""
        return len(self._ends)

    def stretch(self, now_s: float) -> float:
        """Fill free slots, leap to the next end, empty those slots."""
        if self._line.waiting >= FEWEST and not self._bounded:
            ends_s = self._crowd(now_s)
            if ends_s is not None:
                return ends_s
        ends, done, line = self._ends, self._done, self._line
        clock, cost = self._clock, self._cost
        tick, decoding = self.ticks, len(ends)
        stored = contexts = self.stored + decoding
        entries = []
        if line.waiting and decoding < self._most:
            entries = line.entries(min(self._most - decoding, line.waiting))
            for entry in entries:
                prompt = entry[2]
                stored += prompt
                contexts += prompt * (prompt + 1) // 2
        many, prefill = decoding + len(entries), stored - self.stored - decoding
        of_all, per_token, per_context = (
            stored + many,
            cost.kv_bytes_per_token,
            cost.attention_flop_per_context,
        )
        first_s = clock.begin(
            cost.weights_read_bytes + per_token * stored,
            cost.flop_per_token * (decoding + prefill) + per_context * contexts,
            cost.weights_read_bytes + per_token * of_all,
            cost.flop_per_token * many + per_context * of_all,
            per_token * many,
            per_context * many,
        )
        for entry in entries:
            heappush(ends, (tick + entry[3] - 1, entry, tick, now_s, first_s))
            self._final += entry[2] + entry[3] - 1
        ticks = ends[0][0] - tick + 1
        if self._bounded or not line.waiting or ticks > MOST_TICKS:
            ticks = self.length(ticks)
        ends_s = clock.commit(ticks)
        planned = self._final
        self.ticks, last = tick + ticks, tick + ticks - 1
        self.stored = stored + many * (ticks - 1)
        while ends and ends[0][0] == last:
            runs = heappop(ends)
            final = runs[1][2] + runs[1][3] - 1
            self.stored -= final
            self._final -= final
            done.append((runs, ends_s))
        waiting, left = line.waiting, len(ends)
        self.ended += many - left
        if len(done) >= CHUNK:
            self._hand_over()
        if not left:
            self.all_done(ends_s)
        self._rows.add(
            (
                ticks, decoding, len(entries), prefill, contexts, stored, planned, waiting,
                line.joined, many - left,
            )
        )  # fmt: skip
        return ends_s

    def _crowd(self, now_s: float) -> float | None:
        """Let many in at once; None if they come in the same tick, and nothing is gained."""
        line, tick = self._line, self.ticks
        taken = line.joined - line.waiting
        entries = line.entries(min(line.waiting, MOST))
        running = [(runs[0] - tick, runs) for runs in self._ends]
        free = [end + 1 for end, _ in running] + [0] * (self._most - len(running))
        crowd = gather(entries, free)
        line.give_back(entries[len(crowd.entries) :])
        if not crowd.ticks:
            return None
        ends, finals = [end for end, _ in running], [_final(runs) for _, runs in running]
        before = Before(self.stored, self._final, _integers(ends), _integers(finals))
        found = rows(crowd, before, self._cost, self._cells)
        self._rows.flush()
        ends_s = self._clock.walk(found["moved_bytes"], found["flop"])
        t_s = np.append(now_s, ends_s[:-1])
        line.arrive(float(t_s[-1]))
        self._rows.add_ticks(found, (t_s, ends_s), taken, self._seqs)
        self.ticks = tick + crowd.ticks
        admitted_s, first_s = t_s[crowd.start].tolist(), ends_s[crowd.start].tolist()
        begins = (crowd.start + tick).tolist()
        come = zip(
            (crowd.end + tick).tolist(), crowd.entries, begins, admitted_s, first_s, strict=True
        )
        self._settle([*self._ends, *come], ends_s, tick)
        return float(ends_s[-1])

    def _settle(self, everybody: list[Runs], ends_s: Array, tick: int) -> None:
        """Of those who ran in the ticks from `tick` on, some are done."""
        last, times = self.ticks - 1, ends_s.tolist()
        done = [(runs, times[runs[0] - tick]) for runs in everybody if runs[0] <= last]
        self._ends = ends = [runs for runs in everybody if runs[0] > last]
        heapify(ends)
        self.stored = sum(_final(runs) - (runs[0] - last) for runs in ends)
        self._final = sum(map(_final, ends))
        self.ended += len(done)
        self._done += done
        if len(self._done) >= CHUNK:
            self._hand_over()

    def unfinished(self) -> Iterator[RequestRow]:
        """Whoever runs, and whoever waits."""
        self._hand_over()
        for end, entry, tick, admitted_s, first_s in self._ends:
            job = Job(entry)
            job.end, job.admitted_tick, job.first_tick = end, tick, tick
            job.admitted_s, job.first_s = admitted_s, first_s
            yield unfinished(job, self.ticks - 1, self.stopped_because, self._held)
        line = self.parts.line
        for entry in line.entries(line.waiting):
            yield unfinished(Job(entry), self.ticks - 1, self.stopped_because, self._held)

    def _held(self, job: Job, stored: int) -> int:
        return self._cells

    def _hand_over(self) -> None:
        """A row for each request that has ended."""
        if not self._done:
            return
        runs, finished_s = zip(*self._done, strict=True)
        self._done.clear()
        ends, entries, admitted_tick, admitted_s, first_s = zip(*runs, strict=True)
        request_id, arrival_s, prompts, sampled, truncated, *_ = zip(*entries, strict=True)
        outputs, ticks = np.array(sampled), np.array(admitted_tick)
        stored = np.array(prompts) + outputs - 1
        nothing = np.zeros(len(runs), dtype=np.int64)
        columns: dict[str, Array] = {
            "request_id": np.array(request_id),
            "status": np.full(len(runs), "completed", dtype=object),
            "reason": np.full(len(runs), "", dtype=object),
            "arrival_s": np.array(arrival_s),
            "prompt_tokens": np.array(prompts),
            "output_tokens": outputs,
            "truncated_tokens": np.array(truncated),
            "generated_tokens": outputs,
            "stored_tokens": stored,
            "reserved_cells": nothing + self._cells,
            "written_cells": stored,
            "preemptions": nothing,
            "scheduled_tokens": stored,
            "admitted_s": np.array(admitted_s),
            "first_token_s": np.array(first_s),
            "finished_s": np.array(finished_s),
            "admitted_tick": ticks,
            "first_token_tick": ticks,
            "finished_tick": np.array(ends),
        }
        self.parts.recorder.requests(columns)


def _final(runs: Runs) -> int:
    """Tokens stored at its end."""
    return runs[1][2] + runs[1][3] - 1


def _integers(values: list[int]) -> Array:
    return np.array(values, dtype=np.int64)
