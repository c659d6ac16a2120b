"""Wall time of a repeated piece of work."""

from __future__ import annotations

from time import perf_counter


class Stopwatch:
    """`with watch: ...` adds up; `last_s` and `total_s` are what it saw."""

    def __init__(self) -> None:
        self.last_s = self.total_s = 0.0
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(self, *_: object) -> None:
        self.last_s = perf_counter() - self._began
        self.total_s += self.last_s
