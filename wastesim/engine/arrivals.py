"""Requests come in at their own times, before the server looks at equal times."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

import simpy

from wastesim.engine.simtime import SimTime
from wastesim.request import Request


class Arrivals:
    """The SimPy process that brings each request to the door when it is due."""

    def __init__(
        self,
        env: SimTime,
        requests: Iterator[Request],
        door: Callable[[Request], None],
        closed: Callable[[], None],
    ) -> None:
        self._env = env
        self._requests = requests
        self._door = door
        self._closed = closed
        self.done = False

    def run(self) -> Generator[simpy.Event, None, None]:
        """One event per distinct arrival time; urgent, so that the server comes after."""
        for request in self._requests:
            if request.arrival_s > self._env.now:
                yield self._env.at(request.arrival_s, urgent=True)
            self._door(request)
        self.done = True
        self._closed()
