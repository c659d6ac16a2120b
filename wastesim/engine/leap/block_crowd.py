"""Many wait for blocks: who comes when is known before anything is computed.

While the line is never empty and memory is not short, `max_num_seqs` and the token budget alone say
who comes in: in the tick after a place is left, as far as the budget goes, which may cut a prompt
in pieces.  What every tick stores, moves and takes then follows in columns, for thousands of ticks
and requests at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from wastesim.engine.cost import CostModel
from wastesim.engine.leap.crowd import MOST_TICKS, sums_by_tick
from wastesim.engine.leap.job import Entry
from wastesim.records import Array


class Pieces(NamedTuple):
    """Of prompts, whole or cut: whose, in which tick, after how many tokens, how many."""

    whose: Array
    tick: Array
    before: Array
    new: Array


class Comers(NamedTuple):
    """Requests that come in, in columns; ticks are counted from the crowd's first."""

    entries: Sequence[Entry]
    prompt: Array
    outputs: Array
    start: Array
    sampled: Array  # the tick of the first token: later than `start` where the prompt was cut
    cut: Pieces
    ticks: int  # that pass meanwhile: nobody else comes in before their end

    @property
    def final(self) -> Array:
        """Stored tokens at the end of each."""
        return self.prompt + self.outputs - 1

    @property
    def end(self) -> Array:
        """The tick of each one's last token, which may be later than all of these."""
        return self.sampled + self.outputs - 1

    def until(self, ticks: int) -> Comers:
        """The same for so many ticks, or fewer, so that no prompt is begun and not done."""
        ticks = min(ticks, self.ticks)
        while (begun := self.start[(self.start < ticks) & (self.sampled >= ticks)]).size:
            ticks = int(begun[0])
        here = int(np.searchsorted(self.start, ticks))
        inside = self.cut.whose < here
        return Comers(
            self.entries[:here],
            self.prompt[:here],
            self.outputs[:here],
            self.start[:here],
            self.sampled[:here],
            Pieces(*(column[inside] for column in self.cut)),
            ticks,
        )

    def pieces(self) -> Pieces:
        """Of all prompts."""
        whole = np.flatnonzero(self.start == self.sampled)
        nothing = np.zeros(len(whole), dtype=np.int64)
        found = Pieces(whole, self.start[whole], nothing, self.prompt[whole])
        return Pieces(*map(np.append, found, self.cut))


def gather(entries: list[Entry], free: list[int], seqs: int, budget: int) -> Comers:
    """Who of the waiting comes in, when places are free in the ticks of `free`.

    Whoever runs and has its prompt stored takes one token of each tick's budget.  Nothing is said
    of the tick in which the last of `entries` comes in, as others might come with it.
    """
    heapify(free)
    start, sampled, cut = [], [], []
    tick, places, left = -1, 0, 0
    for number, entry in enumerate(entries):
        while not (places and left):
            tick = tick + 1 if places else free[0]
            while free and free[0] == tick:
                heappop(free)
                places += 1
            left = budget - seqs + places
        start.append(tick)
        places -= 1
        prompt = entry[2]
        if prompt > left:
            new = before = left
            cut.append((number, tick, 0, new))
            while before < prompt:
                tick += 1
                while free and free[0] == tick:
                    heappop(free)
                    places += 1
                left = budget - seqs + places + 1  # itself does not decode
                new = min(left, prompt - before)
                cut.append((number, tick, before, new))
                before += new
                left -= new
        else:
            left -= prompt
        sampled.append(tick)
        heappush(free, tick + entry[3])
    columns = np.array([(entry[2], entry[3]) for entry in entries], dtype=np.int64)
    every = Comers(
        entries,
        columns[:, 0],
        columns[:, 1],
        np.array(start, dtype=np.int64),
        np.array(sampled, dtype=np.int64),
        Pieces(*np.array(cut, dtype=np.int64).reshape(-1, 4).T),
        start[-1],
    )
    return every.until(MOST_TICKS)


class Everybody(NamedTuple):
    """Those that run when the crowd begins, then the crowd."""

    begin: Array  # the first tick that decodes
    end: Array
    final: Array
    pad: Array  # cells that the last block has too much
    pad_tick: Array  # since when, if not before


def with_comers(before: Everybody, comers: Comers, size: int) -> Everybody:
    """The crowd takes blocks of `size` cells; the last one comes with the prompt or later."""
    final, pieces = comers.final, comers.pieces()
    last_begins = (final - 1) // size * size
    pad_tick = comers.sampled + 1 + last_begins - comers.prompt
    of, whose = last_begins[pieces.whose], pieces.whose
    with_prompt = (_up(pieces.before, size) <= of) & (of < pieces.before + pieces.new)
    pad_tick[whose[with_prompt]] = pieces.tick[with_prompt]
    found = comers.sampled + 1, comers.end, final, -final % size, pad_tick
    return Everybody(*map(np.append, before, found))


def blocks_held(held: int, everybody: Everybody, comers: Comers, size: int) -> Array:
    """Blocks held in each tick; `held` before."""
    ticks, pieces = comers.ticks, comers.pieces()
    taken = _up(pieces.before + pieces.new, size) - _up(pieces.before, size)
    grown = sums_by_tick(pieces.tick, taken // size, ticks) + _members(everybody, ticks, size)
    freed = _freed(everybody, ticks, size)
    found: Array = held + np.cumsum(grown - freed) + freed
    return found


def rows(
    comers: Comers,
    everybody: Everybody,
    held: Array,
    stored: int,
    cost: CostModel,
    size: int,
) -> dict[str, Array]:
    """Columns of TickRow, without times and what follows from times and the pool's size.

    `stored` tokens are stored before, `held` is what `blocks_held` says.
    """
    n, pieces = comers.ticks, comers.pieces()
    over = everybody.end < n
    end, final = everybody.end[over], everybody.final[over]
    finished, gone = np.bincount(end, minlength=n), sums_by_tick(end, final, n)
    admitted = np.bincount(comers.start, minlength=n)
    prefill = sums_by_tick(pieces.tick, pieces.new, n)
    began = np.bincount(np.maximum(everybody.begin, 0), minlength=n + 1)[:n]
    decoding = np.cumsum(began - finished) + finished
    scheduled = decoding + np.bincount(pieces.tick, minlength=n)
    all_stored = stored + np.cumsum(decoding + prefill - gone) + gone
    of_prompts = sums_by_tick(pieces.tick, pieces.before + pieces.new, n)
    attended = pieces.new * pieces.before + pieces.new * (pieces.new + 1) // 2
    contexts = all_stored - of_prompts + sums_by_tick(pieces.tick, attended, n)
    padding = _padding(everybody, n)
    freed = _freed(everybody, n, size)
    nothing = np.zeros(n, dtype=np.int64)
    return {
        "written": all_stored,
        "future": held * size - all_stored - padding,
        "unused": nothing,
        "padding": padding,
        "running": scheduled,
        "prefill_tokens": prefill,
        "decode_tokens": decoding,
        "moved_bytes": cost.weights_read_bytes + cost.kv_bytes_per_token * all_stored,
        "flop": cost.flop_per_token * (decoding + prefill)
        + cost.attention_flop_per_context * contexts,
        "stored_tokens": all_stored,
        "scheduled": scheduled,
        "admitted": admitted,
        "preempted": nothing,
        "finished": finished,
        "reserved_end": (held - freed) * size,
        "largest_free": nothing - 1,
        "free_spans": nothing - 1,
    }


def _up(cells: Array, size: int) -> Array:
    """Rounded up to whole blocks."""
    found: Array = -(-cells // size) * size
    return found


def _freed(everybody: Everybody, ticks: int, size: int) -> Array:
    """Blocks given back at the end of each tick."""
    over = everybody.end < ticks
    return sums_by_tick(everybody.end[over], -(-everybody.final[over] // size), ticks)


def _members(everybody: Everybody, ticks: int, size: int) -> Array:
    """Who takes a block in each tick: whoever stores a token that is one more than whole blocks.

    That is once every `size` ticks, so that a sum over every `size`-th tick counts them all.
    """
    begin, end = everybody.begin, everybody.end
    first = begin + (end - everybody.final + 1 - begin) % size
    past = first + np.maximum((end - first) // size + 1, 0) * size  # one round after the last
    long = -(-ticks // size) * size
    changes = np.bincount(first[first < ticks], minlength=long)
    changes -= np.bincount(past[past < ticks], minlength=long)
    found: Array = np.cumsum(changes.reshape(-1, size), axis=0).ravel()[:ticks]
    return found


def _padding(everybody: Everybody, ticks: int) -> Array:
    """Of last blocks."""
    since, until = np.maximum(everybody.pad_tick, 0), everybody.end + 1
    changes = np.zeros(ticks, dtype=np.int64)
    for tick, sign in ((since, 1), (until, -1)):
        now = tick < ticks
        changes += sign * sums_by_tick(tick[now], everybody.pad[now], ticks)
    found: Array = np.cumsum(changes)
    return found
