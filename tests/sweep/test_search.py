"""Bisection and golden section on answers that are known, then on the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wastesim import load_experiment, run
from wastesim.config import Experiment
from wastesim.config.search import Search
from wastesim.errors import ConfigError
from wastesim.report.sweep_words import value as said
from wastesim.sweep.axes import axis_of
from wastesim.sweep.golden import best_of

from .sweep_runs import saved, varied

WHERE = {"metric": "goodput", "at_least": 0.9}


def search(**sections: Any) -> Search:
    known = {"key": "server.max_num_seqs", "find": "largest", "where": WHERE}
    return Search.model_validate({**known, **sections})


def test_real_numbers_above_zero_are_halved_by_their_ratio() -> None:
    axis = axis_of(search(between=[1, 64], tolerance=0.1))
    assert axis.middle(1, 64) == 8
    assert axis.middle(10, 10.9) is None


def test_whole_numbers_are_tried_until_they_are_neighbours() -> None:
    axis = axis_of(search(between=[10, 100], multiple_of=16, tolerance=0.001))
    assert (axis.value(axis.low), axis.value(axis.high)) == (16, 96)
    low, high, tried = axis.low, axis.high, []
    while (middle := axis.middle(low, high)) is not None:
        tried.append(axis.value(middle))
        low, high = (middle, high) if axis.value(middle) <= 50 else (low, middle)
    assert axis.value(low) == 48
    assert all(value % 16 == 0 for value in tried)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"between": [1025, 1039], "multiple_of": 16}, "must hold a multiple of 16"),
        ({"between": [2.1, 2.9]}, "must hold a whole number (got 2.1 to 2.9)"),
    ],
)
def test_a_range_without_a_value_to_try_is_told_where_it_stands(
    tmp_path: Path, sections: dict[str, Any], said: str
) -> None:
    known = {"key": "server.max_model_len", "find": "largest"}
    goal = {"metric": "rejected_share", "at_most": 0}
    path = saved(tmp_path, search={**known, "where": goal, **sections})
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    (problem,) = caught.value.problems
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "between" in text)
    assert problem.where.startswith(f"{path}:{line}:")
    assert said in problem.message


def test_of_keys_that_are_whole_numbers_whole_numbers_are_tried(tmp_path: Path) -> None:
    for key, of in {
        "server.max_num_seqs": 1, "server.max_num_batched_tokens": 1, "server.max_model_len": 1,
        "workload.request_rate": None, "server.gpu_memory_utilization": None,
    }.items():  # fmt: skip
        wanted = {"key": key, "find": "best", "between": [0.5, 1], "minimize": "concurrency.mean"}
        tree = varied(search=wanted)
        found_ = Experiment.model_validate(tree).search
        assert found_ is not None
        assert found_.multiple_of == of
    wanted = {"key": "server.max_num_seqs", "find": "best", "between": [1, 40],
              "minimize": "latency.ttft_s.p99", "replications": 2}  # fmt: skip
    content = found(tmp_path, search=wanted)
    assert all(isinstance(probe["value"], int) for probe in content["probes"])
    assert len(content["probes"]) > 3


def test_a_list_has_its_places() -> None:
    axis = axis_of(search(among=[1, 2, 4, 8]))
    assert [axis.value(place) for place in axis.places] == [1, 2, 4, 8]
    assert axis.middle(0, 3) == 1
    assert axis.middle(1, 2) is None


@pytest.mark.parametrize("summit", [0, 1, 7, 30, 49])
def test_golden_section_finds_a_summit_among_noise_that_is_shared(summit: int) -> None:
    """Replication r has the same luck at every place: the comparison does not see it."""
    luck = np.random.default_rng(1).normal(0, 100, 5)
    axis = axis_of(search(find="best", where=None, maximize="x", among=list(range(50))))
    asked: list[float] = []

    def height(place: float) -> Mapping[int, float]:
        asked.append(place)
        return {r: float(luck[r]) - (place - summit) ** 2 for r in range(5)}

    best, ties = best_of(axis, height, 0.95, 40)
    assert best == summit
    assert ties == []
    assert len(asked) <= 14


def test_few_places_are_all_looked_at_and_ties_are_told() -> None:
    axis = axis_of(search(find="best", where=None, maximize="x", among=list(range(5))))
    heights = {0: 1.0, 1: 5.0, 2: 0.0, 3: 5.0, 4: 2.0}  # two summits
    luck = np.random.default_rng(2).normal(0, 0.1, (5, 6))
    best, ties = best_of(
        axis, lambda p: {r: heights[int(p)] + luck[int(p)][r] for r in range(6)}, 0.95, 40
    )
    assert {best, *ties} == {1.0, 3.0}


def test_golden_section_on_real_numbers() -> None:
    axis = axis_of(search(find="best", where=None, minimize="x", between=[-4, 10], tolerance=0.01))
    best, _ = best_of(axis, lambda x: {0: -((x - 3.3) ** 2)}, 0.95, 60)
    assert best == pytest.approx(3.3, abs=0.1)


def test_a_search_that_is_stopped_has_no_answer() -> None:
    axis = axis_of(search(find="best", where=None, maximize="x", among=[1, 2, 3]))
    assert best_of(axis, lambda place: None, 0.95, 40) == (None, [])


def found(folder: Path, **sections: Any) -> dict[str, Any]:
    """A search on the engine, run from the command line."""
    path = saved(folder, **sections)
    words = [str(path), "--output", str(folder / "out"), "--executor", "serial", "--quiet"]
    assert run.main(words) == 0
    content: dict[str, Any] = json.loads((folder / "out/summary.json").read_text())
    return content


def test_the_smallest_max_model_len_that_rejects_nobody_is_the_longest_request(
    tmp_path: Path,
) -> None:
    """Prompts up to 6 and outputs up to 9 tokens: among 200, the longest has 15."""
    wanted = {
        "key": "server.max_model_len", "find": "smallest", "between": [2, 64], "multiple_of": 1,
        "where": {"metric": "rejected_share", "at_most": 0}, "replications": 1, "tolerance": 0.001,
    }  # fmt: skip
    content = found(tmp_path, search=wanted, workload={"num_requests": 200})
    assert content["answer"] == 15
    probes = {probe["value"]: probe["meets"] for probe in content["probes"]}
    assert probes[15] is True
    assert probes[14] is False
    assert (
        "The smallest max_model_len is 15, with rejected 0.0 %"
        in (tmp_path / "out/report.md").read_text()
    )


def test_the_largest_rate_is_where_the_queue_begins_to_grow(tmp_path: Path) -> None:
    """One slot and replies of one step: ever more than 1 a second cannot be served in time."""
    wanted = {
        "key": "workload.request_rate", "find": "largest", "between": [0.05, 20], "where": WHERE,
        "replications": 3, "most_replications": 6, "tolerance": 0.1,
    }  # fmt: skip
    content = found(
        tmp_path,
        search=wanted,
        statistics={"goodput": {"ttft_s": 5}},
        workload={"lengths": {"prompt": 1, "output": 1}, "num_requests": 300},
        server={"max_num_seqs": 1},
    )
    assert 0.4 < content["answer"] < 1.1
    runs = [probe["runs"] for probe in content["probes"]]
    assert set(runs) <= {3, 6}


def test_a_search_that_no_value_answers_says_so(tmp_path: Path) -> None:
    wanted = {"key": "server.max_num_seqs", "find": "largest", "among": [1, 2],
              "where": {"metric": "rejected_share", "at_least": 2}, "replications": 1}  # fmt: skip
    content = found(tmp_path, search=wanted)
    assert content["answer"] is None
    assert content["sentence"].startswith("No value of max_num_seqs will do, if the answer")
    assert "at 1, where it should be easiest" in content["sentence"]
    assert "values between them may do" in content["sentence"]


def test_a_search_that_runs_out_of_probes_says_where_the_answer_lies(tmp_path: Path) -> None:
    wanted = {
        "key": "server.max_model_len", "find": "smallest", "between": [2, 3000000],
        "multiple_of": 1, "where": {"metric": "rejected_share", "at_most": 0}, "replications": 1,
        "most_probes": 4,
    }  # fmt: skip
    server = {"max_model_len": 16, "kv_cache_memory_bytes": "64 MiB"}
    content = found(tmp_path, search=wanted, server=server)
    assert content["answer"] is None
    low, high = content["between"]
    assert low < 15 < high
    assert content["sentence"].startswith(
        "The search gave up after 4 probes (most_probes): the smallest max_model_len lies"
        f" between {high:,}, where the condition holds, and {low:,}, where it does not."
    )


def test_a_summit_that_was_not_closed_in_on_is_no_answer(tmp_path: Path) -> None:
    wanted = {"key": "server.max_num_seqs", "find": "best", "between": [1, 4000],
              "multiple_of": 1, "maximize": "concurrency.mean", "replications": 1,
              "most_probes": 3}  # fmt: skip
    content = found(tmp_path, search=wanted)
    assert content["answer"] is None
    assert "gave up after 3 probes (most_probes): the best max" in content["sentence"]


def test_numbers_of_a_sentence_are_written_out() -> None:
    assert [said(v) for v in (1e6, 2048, 18.90625, 0.0000012)] == [
        "1,000,000", "2,048", "18.9062", "1.2e-06",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("concurrency.meen", "did you mean 'concurrency.mean'?"),
        ("goodput", "goodput without objectives"),
        ("policy", "must be a number of summary.json"),
        ("decode.tokens", "nothing is decoded with 'decode.engine: none'"),
        ("time.measured_from_s", "there is no 'measure'"),
    ],
)
@pytest.mark.parametrize("goal", ["maximize", "metric"])
def test_a_metric_that_no_run_has_is_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], metric: str, said: str, goal: str
) -> None:
    wanted = {"find": "best", "maximize": metric}
    if goal == "metric":
        wanted = {"find": "largest", "where": {"metric": metric, "at_most": 1}}
    path = saved(tmp_path, search={"key": "server.max_num_seqs", "among": [1, 2], **wanted})
    words = [str(path), "--output", str(tmp_path / "out"), "--executor", "serial"]
    assert run.main(words) == 2
    line = next(i for i, t in enumerate(path.read_text().splitlines(), 1) if f"{goal}:" in t)
    told = capsys.readouterr().err
    assert said in told
    assert told.startswith(f"error: {path}:{line}:")
    assert not (tmp_path / "out").exists()


def test_a_reason_for_which_nothing_happened_is_zero(tmp_path: Path) -> None:
    wanted = {"key": "server.max_num_seqs", "find": "largest", "among": [1, 2], "replications": 1,
              "where": {"metric": "requests.reasons.rejected.too_long", "at_most": 0}}  # fmt: skip
    assert found(tmp_path, search=wanted)["answer"] == 2


def test_a_metric_that_is_undefined_everywhere_has_no_best(tmp_path: Path) -> None:
    wanted = {"key": "server.max_num_seqs", "find": "best", "among": [1, 2], "replications": 1,
              "maximize": "memory.fragmentation.free_spans"}  # fmt: skip
    content = found(tmp_path, search=wanted)
    assert content["answer"] is None
    assert "is undefined at each of the 2 that were probed." in content["sentence"]


def test_a_search_resumes(tmp_path: Path) -> None:
    wanted = {"key": "server.max_num_seqs", "find": "best", "among": [1, 2, 3],
              "maximize": "concurrency.mean", "replications": 2}  # fmt: skip
    content = found(tmp_path, search=wanted)
    written = {f: f.stat().st_mtime_ns for f in (tmp_path / "out/runs").glob("*.json")}
    words = ["--output", str(tmp_path / "out"), "--executor", "serial", "--quiet", "--resume"]
    assert run.main([str(tmp_path / "toy.yaml"), *words]) == 0
    again = json.loads((tmp_path / "out/summary.json").read_text())
    assert again == content
    assert {f: f.stat().st_mtime_ns for f in written} == written
