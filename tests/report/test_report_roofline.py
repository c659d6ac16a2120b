"""The throughput curve, by hand and against a run's own ticks."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.report.roofline import Roofline, roofline

from .report_runs import FACTS, edited, run


def test_memory_bound_steps_share_the_weights() -> None:
    curve = Roofline(1000, 10, 5, 0.001, 100, 1e9)
    assert curve.tokens_per_s(np.array([1, 10])) == pytest.approx(
        [1 / (1050 / 100), 10 / (1500 / 100)]
    )
    assert curve.limit_tokens_per_s() == pytest.approx(100 / 50)


def test_compute_bound_steps_stop_gaining() -> None:
    curve = Roofline(1, 0.001, 1, 100, 1e9, 1000)
    assert curve.tokens_per_s(np.array([5, 50])) == pytest.approx([10, 10])


def test_weights_are_read_off_the_ticks() -> None:
    curve = roofline(run())
    assert curve is not None
    assert curve.weights_bytes == pytest.approx(FACTS.weights_bytes)
    assert curve.bytes_per_token == FACTS.bytes_per_token


def test_steps_with_a_prefill_are_left_out() -> None:
    records = run(((3, 4),))
    assert records.totals.ticks.decoding["steps"] == len(records.ticks["t_s"]) - 1 == 3


@pytest.mark.parametrize("clock", ["fixed", "measured"])
def test_other_clocks_have_no_curve(clock: str) -> None:
    assert roofline(run(facts=edited(clock=clock))) is None


def test_nothing_decoded_has_no_curve() -> None:
    assert roofline(run(())) is None
    assert roofline(run(((3, 1),))) is None
