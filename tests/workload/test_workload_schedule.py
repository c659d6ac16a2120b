"""Rates that change, closed loops, and replays at another speed."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.config.arrivals import WorkloadSpec
from wastesim.errors import InputError

from .workload_helpers import arrivals, trace_file, workload

PAIR = {"prompt": 5, "output": 5}


def times(number: int, **spec: object) -> np.ndarray:
    return arrivals(workload(lengths=PAIR, num_requests=number, **spec).requests())


def test_constant_arrivals_are_even() -> None:
    even = times(10_000, arrivals={"kind": "constant", "rate": 4.0})
    assert even.tolist() == [(i + 1) / 4 for i in range(10_000)]


def test_bursts_have_the_rate_of_each_phase() -> None:
    shape = {"kind": "on_off", "on_rate": 50.0, "off_rate": 5.0, "on_s": 10.0, "off_s": 30.0}
    drawn = times(40_000, arrivals=shape)
    phase = drawn % 40
    cycles = drawn[-1] / 40
    assert (phase < 10).sum() / cycles == pytest.approx(500, rel=0.03)
    assert (phase >= 10).sum() / cycles == pytest.approx(150, rel=0.05)


def test_nothing_arrives_in_a_silence() -> None:
    shape = {"kind": "on_off", "on_rate": 20.0, "on_s": 1.0, "off_s": 9.0}
    assert (times(20_000, arrivals=shape) % 10 <= 1 + 1e-9).all()


def test_random_phases_keep_the_mean_rate_and_are_burstier() -> None:
    shape = {"kind": "on_off", "on_rate": 40.0, "on_s": 5.0, "off_s": 15.0, "random": True}
    drawn = times(200_000, arrivals=shape)
    assert len(drawn) / drawn[-1] == pytest.approx(10, rel=0.06)
    counts = np.bincount((drawn / 5).astype(int))
    assert counts.var() / counts.mean() > 20


def test_a_ramp_reaches_its_rate_and_stays() -> None:
    shape = {"kind": "ramp", "from_rate": 0.0, "to_rate": 100.0, "over_s": 100.0}
    drawn = times(20_000, arrivals=shape)
    assert (drawn < 50).sum() == pytest.approx(1250, rel=0.1)
    assert (drawn < 100).sum() == pytest.approx(5000, rel=0.05)
    assert ((drawn > 150) & (drawn < 200)).sum() == pytest.approx(5000, rel=0.05)


def test_a_ramp_may_go_down() -> None:
    shape = {"kind": "ramp", "from_rate": 100.0, "to_rate": 10.0, "over_s": 100.0}
    drawn = times(8000, arrivals=shape)
    assert (drawn < 100).sum() == pytest.approx(5500, rel=0.05)
    assert ((drawn > 100) & (drawn < 200)).sum() == pytest.approx(1000, rel=0.1)


def test_a_day_has_its_peak_and_its_trough() -> None:
    shape = {"kind": "diurnal", "mean_rate": 1.0, "amplitude": 0.8, "peak_s": 50_400.0}
    drawn = times(86_400 * 3, arrivals=shape) % 86_400
    hours = np.bincount((drawn / 3600).astype(int), minlength=24) / 3 / 3600
    assert hours[13:15].mean() == pytest.approx(1.8, rel=0.03)
    assert hours[1:3].mean() == pytest.approx(0.2, rel=0.1)
    assert hours.mean() == pytest.approx(1.0, rel=0.01)


@settings(deadline=None, max_examples=60)
@given(
    shape=st.one_of(
        st.fixed_dictionaries(
            {
                "kind": st.just("on_off"),
                "on_rate": st.floats(0.01, 1e4),
                "off_rate": st.one_of(st.just(0.0), st.floats(0.01, 1e4)),
                "on_s": st.floats(0.5, 1e4),
                "off_s": st.floats(1e-3, 1e4),
                "random": st.booleans(),
            }
        ),
        st.fixed_dictionaries(
            {
                "kind": st.just("ramp"),
                "from_rate": st.floats(0, 1e4),
                "to_rate": st.floats(1e-3, 1e4),
                "over_s": st.floats(1e-3, 1e6),
            }
        ),
        st.fixed_dictionaries(
            {
                "kind": st.just("diurnal"),
                "mean_rate": st.floats(1e-3, 1e4),
                "amplitude": st.floats(0, 1),
                "period_s": st.floats(1, 1e6),
                "peak_s": st.floats(0, 1e6),
            }
        ),
    ),
    burstiness=st.floats(0.01, 100),
    seed=st.integers(0, 1000),
)
def test_times_of_any_changing_rate_are_finite_and_never_fall(
    shape: dict[str, object], burstiness: float, seed: int
) -> None:
    drawn = times(5000, arrivals=shape, burstiness=burstiness, seed=seed)
    assert np.isfinite(drawn).all()
    assert drawn[0] >= 0
    assert (np.diff(drawn) >= 0).all()


def test_rescaling_puts_the_last_arrival_where_vllm_puts_it_and_says_so() -> None:
    made = workload(lengths=PAIR, num_requests=6000, request_rate=3.0, rescale=True)
    drawn = arrivals(made.requests())
    assert drawn[-1] == pytest.approx(2000)
    assert drawn / drawn[0] == pytest.approx(
        times(6000, request_rate=3.0) / times(1, request_rate=3.0)[0]
    )
    assert "vLLM" in made.notes[0]


def test_a_closed_loop_is_marked_and_described() -> None:
    made = workload(lengths=PAIR, num_requests=10, max_concurrency=4)
    assert made.closed_loop == 4
    assert made.describe().endswith("all at t = 0, at most 4 in flight")
    assert workload(lengths=PAIR, num_requests=10).closed_loop is None


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "t.csv"
    rows = "".join(f"{10 + t},{t + 1},1\n" for t in range(100))
    path.write_text("arrival_time_s,prompt_tokens,output_tokens\n" + rows)
    return str(path)


def test_a_trace_can_be_replayed_at_another_speed(trace: str) -> None:
    made = workload(trace=trace, speed=4.0)
    assert arrivals(made.requests())[-1] == 99 / 4
    assert made.notes == ["the trace's arrivals run 4 times as fast"]


def test_a_part_of_a_trace_can_be_replayed_and_the_rest_is_counted(trace: str) -> None:
    made = workload(trace=trace, from_s=20, until_s=30.0)
    requests = list(made.requests())
    assert [r.prompt_tokens for r in requests] == list(range(21, 31))
    assert arrivals(requests).tolist() == list(range(10))
    assert made.counts == {"row_outside_the_asked_time": 90}


def test_a_part_without_rows_is_an_error(trace: str) -> None:
    said = "no row arrives at or after 'from_s' 200; the last arrives after 99 s"
    with pytest.raises(InputError, match=said):
        workload(trace=trace, from_s=200)
    with pytest.raises(InputError, match=r"'from_s' 0\.2 and before 'until_s' 0\.5; the last"):
        workload(trace=trace, from_s=0.2, until_s=0.5)


def test_a_first_part_that_is_unlike_the_whole_is_remarked_on(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    clock = [*range(0, 1000, 10), *np.arange(1000, 1100, 0.1).tolist()]
    rows = "".join(f"{t},1,1\n" for t in clock)
    path.write_text("arrival_time_s,prompt_tokens,output_tokens\n" + rows)
    (note,) = workload(trace=str(path), num_requests=100).notes
    assert "the first 100 rows come at 0.1 per second, all 1,100 at 0.999" in note
    assert workload(trace=str(path)).notes == []


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"arrivals": {"kind": "constant", "rate": 1.0}, "request_rate": 1.0}, "at most one of"),
        ({"rescale": True}, "'rescale' needs a finite 'request_rate'"),
        ({"speed": 2.0}, "'speed' needs a 'trace' with its own arrivals"),
        ({"from_s": 2.0}, "'from_s' needs a 'trace' with its own arrivals"),
        ({"time_unit": "s"}, "'time_unit' needs a 'trace'; to resample one"),
        ({"arrivals": {"kind": "constant", "rate": 1.0}, "burstiness": 2.0}, "no meaning"),
        (
            {"arrivals": {"kind": "on_off", "on_rate": 1e-9, "on_s": 1.0, "off_s": 1.0}},
            "must bring at least 0.001 requests in a cycle",
        ),
    ],
)
def test_keys_that_do_not_go_together_are_refused(spec: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WorkloadSpec.model_validate({"lengths": PAIR, "num_requests": 3, **spec})


def test_a_window_must_not_be_empty() -> None:
    with pytest.raises(ValueError, match="'until_s' must be > 'from_s'"):
        WorkloadSpec(trace="t.csv", from_s=3.0, until_s=3.0)


def test_the_azure_trace_at_twice_its_speed_keeps_its_shape() -> None:
    path = str(trace_file("AzureLLMInferenceTrace_conv.csv"))
    one, two = (arrivals(workload(trace=path, speed=s).requests()) for s in (1.0, 2.0))
    assert np.allclose(one, two * 2)
