"""Attention over what a cheaper cache gives back: rounded keys, exact newest ones, a window.

Query i of a request sees token j <= i.  Which copy of j it sees, and whether it sees it at all,
depends on their distance alone, so the work is done in bands along the diagonal::

    sinks          gone            stored, rounded      newest, exact
    [0, S)   [S, i - (W - S)]   ... up to i - recent]   (i - recent, i]

The decode uses it for caches with exact newest tokens, the quality study for everything.
Letters are those of `arrays`; ``Q`` is the queries done at once and ``C`` the columns they look at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wastesim.decode.arrays import Floats, Ints

_QUERIES_AT_ONCE = 128

# Told the first query's position and the weights [H, Q, T] of a block; only without a window.
Watch = Callable[[int, Floats], None]


class KV(NamedTuple):
    """Keys and values ``[G, n, D]`` of a request's last n tokens so far."""

    keys: Floats
    values: Floats


@dataclass(frozen=True)
class Bands:
    """Which tokens a query sees, and which of them exactly."""

    recent: int = 0  # newest tokens whose exact keys are seen
    recent_values: bool = True  # and values
    window: int | None = None  # tokens held, sinks included
    sinks: int = 0

    def __post_init__(self) -> None:
        if self.window is not None and self.window <= self.sinks:
            raise ValueError(f"a window of {self.window} tokens has no room beside its sinks")

    @property
    def newest(self) -> int | None:
        """Tokens held apart from the sinks."""
        return None if self.window is None else self.window - self.sinks


class _Block(NamedTuple):
    """Some queries and the columns that any of them sees."""

    start: int  # of the queries among those given
    positions: Ints  # [Q]
    columns: Ints  # [C]


def banded_attention(
    q: Floats,
    stored: KV,
    exact: KV,
    bands: Bands,
    sink_q: Floats | None = None,
    watch: Watch | None = None,
) -> Floats:
    """The newest N queries ``[N, G, M, D]`` over all T stored tokens; returns ``[N, G, M, D]``.

    `exact` needs the newest N + recent - 1 tokens (or all).  `sink_q` are the queries as they
    look at sinks, where tokens are renumbered inside the window.
    """
    mixed = np.empty_like(q)
    for start in range(0, len(q), _QUERIES_AT_ONCE):
        block = _block(len(q), stored.keys.shape[1], start, bands)
        part = slice(start, start + len(block.positions))
        weights = _scores(q[part], stored.keys, exact.keys, bands, block)
        if sink_q is not None:
            _look_at_sinks(weights, sink_q[part], stored.keys[:, : bands.sinks], block)
        _softmax(weights, _visible(block, bands))
        if watch is not None:
            watch(int(block.positions[0]), weights.reshape(-1, *weights.shape[2:]))
        mixed[part] = _mix(weights, stored.values, exact.values, bands, block)
    return mixed


def _block(count: int, tokens: int, start: int, bands: Bands) -> _Block:
    first = tokens - count + start
    stop = min(first + _QUERIES_AT_ONCE, tokens)
    oldest = 0 if bands.newest is None else max(0, first - bands.newest + 1)
    sinks = np.arange(min(bands.sinks, oldest))
    columns = np.concatenate([sinks, np.arange(oldest, stop)])
    return _Block(start, np.arange(first, stop), columns)


def _visible(block: _Block, bands: Bands) -> NDArray[np.bool_]:
    distance = block.positions[:, None] - block.columns  # [Q, C]
    visible = distance >= 0
    if bands.newest is not None:
        visible &= (distance < bands.newest) | (block.columns < bands.sinks)
    return visible


def _scores(q: Floats, stored: Floats, exact: Floats, bands: Bands, block: _Block) -> Floats:
    """Scores ``[G, M, Q, C]``, of the newest tokens with exact keys."""
    scores = _matched(q, _taken(stored, block.columns))
    seen, near = _near(bands, block)
    if near.any():
        first = stored.shape[1] - exact.shape[1]
        sharp = _matched(q, exact[:, block.columns[seen] - first])
        scores[..., seen] = np.where(near, sharp, scores[..., seen])
    return scores


def _mix(weights: Floats, stored: Floats, exact: Floats, bands: Bands, block: _Block) -> Floats:
    """Weighted values ``[Q, G, M, D]``, of the newest tokens exact if those are kept."""
    groups, queries, count, _ = weights.shape
    mixed = _weighted(weights, _taken(stored, block.columns))
    seen, near = _near(bands, block)
    if near.any() and bands.recent_values:
        columns = block.columns[seen]
        first = stored.shape[1] - exact.shape[1]
        lost = exact[:, columns - first] - stored[:, columns]  # [G, n, D]
        mixed += _weighted(np.where(near, weights[..., seen], np.float32(0)), lost)
    out: Floats = mixed.reshape(groups, queries, count, -1).transpose(2, 0, 1, 3)
    return out


def _near(bands: Bands, block: _Block) -> tuple[slice, NDArray[np.bool_]]:
    """The columns that are among the newest of some query, and ``[Q, n]`` of which."""
    distance = block.positions[:, None] - block.columns  # [Q, C]
    near = (distance < bands.recent) & (distance >= 0)
    found = np.flatnonzero(near.any(axis=0))
    seen = slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 0)
    return seen, near[:, seen]


def _look_at_sinks(scores: Floats, q: Floats, sinks: Floats, block: _Block) -> None:
    held = int(np.count_nonzero(block.columns < sinks.shape[1]))
    scores[..., :held] = _matched(q, sinks[:, :held])


def _matched(q: Floats, keys: Floats) -> Floats:
    """Scores ``[G, M, Q, C]`` of queries ``[Q, G, M, D]`` and keys ``[G, C, D]``."""
    count, groups, queries, dim = q.shape
    stacked = q.transpose(1, 2, 0, 3).reshape(groups, queries * count, dim)
    scores: Floats = np.matmul(stacked, keys.swapaxes(1, 2))
    return scores.reshape(groups, queries, count, -1)


def _weighted(weights: Floats, values: Floats) -> Floats:
    groups, queries, count, columns = weights.shape
    mixed: Floats = np.matmul(weights.reshape(groups, queries * count, columns), values)
    return mixed  # [G, M * Q, D]


def _softmax(scores: Floats, visible: NDArray[np.bool_]) -> None:
    scores[..., ~visible] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)


def _taken(rows: Floats, columns: Ints) -> Floats:
    """Those columns of ``[G, T, D]``, a view where they are neighbours."""
    first, last = int(columns[0]), int(columns[-1])
    if last - first + 1 == len(columns):
        return rows[:, first : last + 1]
    return rows[:, columns]
