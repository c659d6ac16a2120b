"""Some of very many requests, drawn by a hash of their ids.

No generator, no order: the same requests are drawn in every run that has them, so that two runs
of one workload can be compared request by request.
"""

from __future__ import annotations

import numpy as np

from wastesim.records.rows import Array

#: Rows that are kept, or about half as many: a mean within 1 % for most, a timeline of 15 MB.
MOST_ROWS = 32_768


class Sample:
    """Takes rows in chunks and keeps at most `most_rows`, those whose hash ends in most zeros."""

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._most_rows = most_rows
        self._bits = 0  # of the hash that have to be zero
        self._chunks: list[dict[str, Array]] = []
        self._length = 0

    def add(self, rows: dict[str, Array]) -> None:
        """More rows."""
        chosen = self._drawn(rows)
        self._chunks.append(chosen)
        self._length += len(chosen["request_id"])
        while self._length > self._most_rows:
            self._bits += 1
            self._chunks = [self._drawn(self._joined())]
            self._length = len(self._chunks[0]["request_id"])

    def columns(self) -> dict[str, Array]:
        """What was drawn, in the order of ids."""
        rows = self._joined()
        order = np.argsort(rows["request_id"], kind="stable")
        return {name: values[order] for name, values in rows.items()}

    def _joined(self) -> dict[str, Array]:
        names = self._chunks[0]
        return {name: np.concatenate([chunk[name] for chunk in self._chunks]) for name in names}

    def _drawn(self, rows: dict[str, Array]) -> dict[str, Array]:
        mask = (hashed(rows["request_id"]) & np.uint64((1 << self._bits) - 1)) == 0
        return {name: values[mask] for name, values in rows.items()}


def hashed(ids: Array) -> Array:
    """SplitMix64 (Steele, Lea and Flood, 2014): every bit of the id changes every bit."""
    z = ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = z ^ (z >> np.uint64(31))
    return mixed
