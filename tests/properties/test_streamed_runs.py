"""A run that is streamed has the numbers of the same run kept, and its files the same rows."""

from __future__ import annotations

import math
import pickle
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from wastesim import Result, load_experiment
from wastesim.errors import InputError
from wastesim.metrics import flat
from wastesim.records import Limits, Records, recorder
from wastesim.records.sketch import ACCURACY
from wastesim.result import run_one

from .test_small_experiments import experiments

EFFORT = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
OF_ROWS_KEPT = ("statistics.", "records.", "decode.")


@st.composite
def measured(draw: st.DrawFn) -> dict[str, Any]:
    """An experiment, at times with a window."""
    tree = draw(experiments())
    if draw(st.booleans()):
        from_s = draw(st.integers(0, 40)) / 2
        tree["measure"] = {"from_s": from_s}
        if draw(st.booleans()):
            tree["measure"]["until_s"] = from_s + draw(st.integers(1, 80)) / 2
    return tree


def run(tree: dict[str, Any], limits: Limits, folder: Path | None = None) -> Result | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "LIMITS", limits)
        with suppress(InputError):  # nothing is left to measure
            return run_one(load_experiment(tree), folder=folder)
    return None


def tiny(draw: Any) -> Limits:
    return Limits(draw(st.integers(0, 9)), draw(st.integers(0, 30)), draw(st.integers(1, 20)))


def assert_same(kept: dict[str, Any], streamed: dict[str, Any]) -> None:
    """Integers and texts exactly, floats to rounding, quantiles to the sketch's accuracy."""
    ours, theirs = flat(kept), flat(streamed)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        other = theirs[name]
        if name.startswith(OF_ROWS_KEPT):
            continue
        if isinstance(value, float) and other is not None:
            quantile = name.startswith("latency.") and not name.endswith("mean")
            error = ACCURACY + 1e-9 if quantile else 1e-9
            assert math.isclose(value, other, rel_tol=error, abs_tol=1e-12), (name, value, other)
        else:
            assert value == other, name
    assert kept["requests"]["reasons"] == streamed["requests"]["reasons"]


def assert_same_rows(ours: Records, theirs: Records) -> None:
    for name, column in ours.requests.items():
        np.testing.assert_array_equal(theirs.requests[name], column, err_msg=name)
    for name, column in ours.ticks.items():
        np.testing.assert_array_equal(theirs.ticks[name], column, err_msg=name)
    mine, others = (sorted(zip(*r.spans.values(), strict=True)) for r in (ours, theirs))
    assert mine == others


@EFFORT
@given(tree=measured(), data=st.data())
def test_streaming_changes_no_number(tree: dict[str, Any], data: st.DataObject) -> None:
    kept, streamed = run(tree, recorder.LIMITS), run(tree, tiny(data.draw))
    if kept is None or streamed is None:
        assert kept is streamed
        return
    event("streamed" if streamed.records.streamed else "kept")
    assert_same(kept.summary, pickle.loads(pickle.dumps(streamed)).summary)
    ticks, merged = kept.records.ticks, streamed.records.ticks
    for name in ("written", "future", "unused", "padding", "running", "waiting"):
        assert math.isclose(merged[name] @ merged["dt_s"], ticks[name] @ ticks["dt_s"],
                            rel_tol=1e-9, abs_tol=1e-9), name  # fmt: skip


@EFFORT
@given(tree=measured(), data=st.data(), form=st.sampled_from(["csv", "parquet"]))
def test_files_of_a_streamed_run_hold_the_rows_of_the_kept_one(
    tree: dict[str, Any], data: st.DataObject, form: str
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    with TemporaryDirectory() as name:
        folder = Path(name)
        kept = run(tree, recorder.LIMITS)
        tree = {**tree, "output": {"format": form}}
        streamed = run(tree, tiny(data.draw), folder)
        if kept is None or streamed is None:
            return
        streamed.records.save(folder, form)
        loaded = Records.load(folder)
    assert loaded.streamed is None
    assert_same_rows(kept.records, loaded)


@settings(EFFORT, max_examples=60)
@given(tree=experiments(), chunk=st.integers(1, 4), after_s=st.integers(2, 12))
def test_whoever_gives_up_is_corrected_in_rows_that_are_gone(
    tree: dict[str, Any], chunk: int, after_s: int
) -> None:
    tree["clients"] = {"cancel_share": 0.8, "cancel_after_s": after_s}
    with TemporaryDirectory() as name:
        folder = Path(name)
        kept = run(tree, recorder.LIMITS)
        streamed = run({**tree, "output": {"format": "csv"}}, Limits(0, 0, chunk), folder)
        assert kept is not None
        assert streamed is not None
        assert_same(kept.summary, streamed.summary)
        corrected = (folder / "corrections.csv").exists()
        event("rows were corrected that were gone" if corrected else "none were")
        streamed.records.save(folder)
        assert_same_rows(kept.records, Records.load(folder))
