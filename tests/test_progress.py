"""The progress bar, and Ctrl-C while it is shown."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from wastesim import Result, simulate
from wastesim.progress import Progress


def test_the_first_interrupt_asks_to_stop_and_the_second_raises(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Progress(5, quiet=True) as progress:
        assert not progress.should_stop()
        os.kill(os.getpid(), signal.SIGINT)
        assert progress.should_stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    said = capfd.readouterr().err
    assert said == "\nstopping after this tick; Ctrl-C again to give up everything\n"


def test_the_handler_before_is_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Progress(5, quiet=True):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_outside_the_main_thread_interrupts_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    entered: list[bool] = []

    def enter() -> None:
        with Progress(5, quiet=True):
            entered.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [True]
    assert signal.getsignal(signal.SIGINT) == before


def test_a_run_is_the_same_with_and_without_a_bar(
    toy: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = toy([(0, 3, 4), (1, 5, 6)], cells=64, max_model_len=16)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("wastesim.progress.REDRAW_S", 0.0)
    with Progress(2, quiet=False) as progress:
        again = simulate(result.experiment, progress)
    assert again.summary == result.summary
    assert "2/2" in capsys.readouterr().err


def test_nothing_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(5, quiet=False):
        pass
    assert capsys.readouterr() == ("", "")
