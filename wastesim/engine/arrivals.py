"""Requests come in at their own times, before the server looks at equal times."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Protocol

import simpy

from wastesim.engine.simtime import SimTime
from wastesim.request import Request


class Host(Protocol):
    """The server, as arrivals see it."""

    def arrive(self, request: Request) -> None:
        """A request knocks."""

    def close(self) -> None:
        """No more requests will come."""

    def fewer_than(self, limit: int) -> simpy.Event | None:
        """None if fewer than `limit` requests are here, else an event for when that is so."""


class Arrivals:
    """The SimPy process that brings each request to the door when it is due.

    In a closed loop at most `limit` requests are here at once: one that is due earlier is sent
    when another ends, and arrives then, as vLLM's load generator has it.
    """

    def __init__(
        self, env: SimTime, requests: Iterator[Request], host: Host, limit: int | None = None
    ) -> None:
        self._env = env
        self._requests = requests
        self._host = host
        self._limit = limit

    def run(self) -> Generator[simpy.Event, None, None]:
        """One event per distinct arrival time; urgent, so that the server comes after."""
        for request in self._requests:
            if request.arrival_s > self._env.now:
                yield self._env.at(request.arrival_s, urgent=True)
            if self._limit is None:
                self._host.arrive(request)
                continue
            while (event := self._host.fewer_than(self._limit)) is not None:
                yield event
            sent_s = max(request.arrival_s, self._env.now)
            self._host.arrive(replace(request, arrival_s=sent_s))
        self._host.close()
