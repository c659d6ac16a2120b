"""A readable log of a run: one line per happening, in constant memory.

Each line begins with the simulated time at which it was true; a request that was cancelled or
delivered between two ticks has its own time.  Lines of one tick stand in the order of the tick:
who gave up, who was preempted, who was admitted, then (at the tick's end) first and last tokens.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import IO

from wastesim.engine import Observer
from wastesim.engine.observer import Happening
from wastesim.errors import OutputError
from wastesim.records import RequestRow, TickRow
from wastesim.request import Request


class EventLog(Observer):
    """Writes to a file, or to standard output if the target is `-`; passes everything on.

    OutputError when the file cannot be written.  A reader of standard output who goes away
    (`| head`) ends the log and not the run.
    """

    def __init__(self, target: str, others: Observer, *, ticks: bool = False) -> None:
        self._target, self._others, self._ticks = target, others, ticks
        self._stream: IO[str] | None = None
        self._now_s = 0.0

    def __enter__(self) -> EventLog:
        try:
            if self._target == "-":
                self._stream = sys.stdout
            else:
                self._stream = Path(self._target).open("w", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{self._target}: cannot be written ({error.strerror})") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is None or self._target == "-":
            return
        try:
            self._stream.close()
        except OSError as full:
            raise OutputError(f"{self._target}: writing failed ({full.strerror})") from None

    def happened(self, what: Happening, t_s: float, request: Request, cells: int) -> None:
        """A request came, or went on."""
        words = {
            "arrived": f"arrives: {_tokens(request)}{_declared(request)}",
            "admitted": f"is admitted and holds {cells:,} cells",
            "preempted": "is preempted: its cells are free, and it waits again",
            "first_token": "gets its first token",
        }
        self._line(t_s, f"request {request.request_id:,} {words[what]}")
        self._others.happened(what, t_s, request, cells)

    def request(self, row: RequestRow) -> None:
        """A request has ended."""
        ended_s = self._now_s if row.finished_s is None else row.finished_s
        if row.status == "rejected":
            ended_s = row.arrival_s
        self._line(ended_s, f"request {row.request_id:,} {_end(row)}")
        self._others.request(row)

    def tick(self, row: TickRow) -> None:
        """A tick is over."""
        if self._ticks:
            self._line(row.t_s, _tick(row))
        self._now_s = row.t_s + row.dt_s
        self._others.tick(row)

    def should_stop(self) -> bool:
        """What the others say."""
        return self._others.should_stop()

    def _line(self, t_s: float, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(f"{t_s:>14,.6f} s  {text}\n")
        except BrokenPipeError:
            self._stream = None
            _discard_standard_output()
        except OSError as error:
            raise OutputError(f"{self._target}: writing failed ({error.strerror})") from None


def _tokens(request: Request) -> str:
    return f"{request.prompt_tokens:,} prompt tokens, {request.output_tokens:,} output tokens"


def _declared(request: Request) -> str:
    return "" if request.max_tokens is None else f", max_tokens {request.max_tokens:,}"


def _end(row: RequestRow) -> str:
    if row.status == "rejected":
        return f"is rejected: {row.reason}"
    used = f"{row.written_cells:,} of {row.reserved_cells:,} cells written"
    if row.status == "completed":
        cut = f", {row.truncated_tokens:,} cut" if row.truncated_tokens else ""
        return f"completes after {row.generated_tokens:,} output tokens{cut}; {used}"
    if row.status == "cancelled":
        return f"is cancelled after {row.generated_tokens:,} output tokens; {used}"
    return f"is left unfinished after {row.generated_tokens:,} output tokens ({row.reason})"


def _tick(row: TickRow) -> str:
    if not row.scheduled:
        return f"nothing runs for {row.dt_s:.6f} s; {row.waiting:,} waiting"
    return (
        f"tick of {row.dt_s:.6f} s: {row.scheduled:,} of {row.running:,} running,"
        f" {row.waiting:,} waiting; {row.prefill_tokens:,} prefill and {row.decode_tokens:,} decode"
        f" tokens; cells written {row.written:,}, future {row.future:,}, unused {row.unused:,},"
        f" padding {row.padding:,}, stranded {row.stranded:,}, idle {row.idle:,}"
    )


def _discard_standard_output() -> None:
    """As the Python manual has it: what is still to be flushed goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
