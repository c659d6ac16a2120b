"""A progress bar on a terminal, and Ctrl-C that keeps what is finished."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from time import monotonic
from types import FrameType, TracebackType
from typing import Any

from wastesim.engine import Observer

REDRAW_S = 0.1


class Progress(Observer):
    """Counts ended requests; the first Ctrl-C asks the run to stop, a second one kills it.

    With another noun than requests it counts what it is `told` instead.
    """

    def __init__(self, total: int | None, *, quiet: bool, noun: str = "requests") -> None:
        self._total = total
        self._noun = noun
        self._ended = 0
        self._stop = False
        self._bar: Any = None
        self._task: Any = None
        self._drawn_s = 0.0
        self._shown = not quiet and sys.stderr.isatty()
        self._before: Any = None

    def __enter__(self) -> Progress:
        try:
            self._before = signal.signal(signal.SIGINT, self._on_interrupt)
        except ValueError:  # not the main thread: Ctrl-C is not ours to handle
            self._before = None
        if self._shown:
            self._open_bar()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._ended)
            self._bar.stop()

    def passed(self, now_s: float, running: int, waiting: int, ended: int) -> None:
        """Redraw now and then."""
        if self._noun == "requests":
            self._ended = ended
        if self._bar is not None and monotonic() - self._drawn_s > REDRAW_S:
            self._drawn_s = monotonic()
            words = f"{running} running, {waiting} waiting, t = {now_s:,.1f} s"
            self._bar.update(self._task, completed=self._ended, state=words)

    def told(self, name: str, done: int) -> None:
        """So many are done, the latest of that name."""
        self._ended = done
        if self._bar is not None:
            self._bar.update(self._task, completed=done, state=f"{name} is done")

    def should_stop(self) -> bool:
        """After Ctrl-C."""
        return self._stop

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._stop:
            raise KeyboardInterrupt
        self._stop = True
        with suppress(OSError):  # not print: the bar may be in the middle of a line
            os.write(2, b"\nstopping after this tick; Ctrl-C again to give up everything\n")

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn(self._noun),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[state]}"),
        )
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._noun, total=self._total, state="")
