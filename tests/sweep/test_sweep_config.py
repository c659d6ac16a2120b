"""What is wrong with a sweep is said before anything runs, where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wastesim import load_experiment, simulate
from wastesim.errors import ConfigError
from wastesim.metrics import flat
from wastesim.report.sweep_names import known_names
from wastesim.sweep.estimate import estimate
from wastesim.sweep.plan import Cell, Task
from wastesim.sweep.work import run_task

from .sweep_runs import saved, varied

GRID = {"grid": {"server.max_num_seqs": [1, 2]}}

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"sweep": {}}, "'sweep' must have at least one of 'grid', 'zip', 'list' and 'sample'"),
    ({"sweep": {"grid": {"seed": [1, 2]}}}, "'replications' repeats a cell with other seeds"),
    ({"sweep": {"grid": {"name": ["a"]}}}, "'name' cannot differ between cells"),
    ({"sweep": {"grid": {"server.max_num_seqs": []}}}, "at least one value"),
    ({"sweep": {"grid": {"server.max_num_seqs": [1, 1]}}}, "must name each value once"),
    ({"sweep": {"grid": {"server.max_num_seq": [1]}}}, "did you mean 'max_num_seqs'?"),
    ({"sweep": {"grid": {"server.max_num_seqs": [0]}}}, "in a cell, 'server.max_num_seqs' must"),
    (
        {"sweep": {"zip": {"server.max_num_seqs": [1], "server.max_model_len": [16, 20]}}},
        "(server.max_num_seqs has 1, server.max_model_len has 2)",
    ),
    ({"sweep": {**GRID, "list": [{"server.max_num_seqs": 3}]}}, "by one design only"),
    ({"sweep": {**GRID, "replication": 3}}, "did you mean 'replications'?"),
    (
        {"sweep": {"sample": {"points": 2, "over": {"workload.speed": {"from": 3, "to": 2}}}}},
        "'to' must be > 'from' (got from 3, to 2)",
    ),
    ({"sweep": GRID, "search": {}}, "'search"),
    (
        {"study": "comparison", "compare": ["contiguous", "paged"], "sweep": GRID},
        "'study' must be allocation with a 'sweep'",
    ),
    ({"statistics": {"goodput": {}}}, "at least one of 'ttft_s', 'tpot_s' and 'e2el_s'"),
    (
        {"search": {"key": "server.max_num_seqs", "find": "largest", "among": [1, 2]}},
        "'find' largest needs 'where'",
    ),
    (
        {"search": {"key": "server.max_num_seqs", "find": "best", "among": [1, 2]}},
        "exactly one of 'maximize' and 'minimize'",
    ),
    (
        {"search": {"key": "server.max_num_seqs", "find": "best", "maximize": "x"}},
        "exactly one of 'between' (two ends) and 'among'",
    ),
]

SEARCH = {"key": "workload.request_rate", "find": "largest"}
GOAL = {"metric": "rejected_share", "at_most": 0.1}
INF, NAN = float("inf"), float("nan")
WRONG += [
    ({"search": {**SEARCH, "between": [1, INF], "where": GOAL}},
     "'search.between[1]' must be a finite number (got inf)"),
    ({"search": {**SEARCH, "between": [NAN, 2], "where": GOAL}},
     "'search.between[0]' must be a finite number"),
    ({"search": {**SEARCH, "between": [1, 2], "where": {**GOAL, "at_most": INF}}},
     "'search.where.at_most' must be a finite number"),
    ({"sweep": {"sample": {"points": 2,
                           "over": {"workload.request_rate": {"from": 1, "to": INF}}}}},
     "'sweep.sample.over.workload.request_rate.to' must be a finite number (got inf)"),
]  # fmt: skip

KEYS = ("server.max_num_seqs", "server.max_model_len", "server.block_size")
WRONG += [
    ({"sweep": {"grid": {"server.max_model_len": ["2k", 2000, "2Ki", 2048]}}},
     "'sweep.grid.server.max_model_len[1]' must name each value once: this is 2k again"),
    ({"sweep": {**GRID, "show": {"pareto": ["goodput"]}}},
     "'sweep.show.pareto' must be a list of two (got ['goodput'])"),
    ({"sweep": {"sample": {"points": 2, "over": {"server.max_num_seqs": {
        "from": 1.2, "to": 1.8, "whole": True}}}}}, "'to' must leave room for a whole number"),
    ({"sweep": {**GRID, "replications": 100_000_000_000}},
     "'sweep.replications' must be <= 10000 (got 100000000000)"),
    ({"sweep": {"sample": {"points": 10**11, "over": {"workload.request_rate": [1, 2]}}}},
     "'sweep.sample.points' must be <= 10000"),
    ({"sweep": {"grid": {key: list(range(1, 1001)) for key in KEYS}}},
     "'sweep': has 1,000,000,000 cells, more than 10,000: take fewer values"),
    ({"sweep": {"grid": {KEYS[0]: list(range(1, 1001))}, "replications": 1000}},
     "'sweep': has 1,000,000 runs, more than 100,000"),
    ({"search": {"key": KEYS[0], "find": "largest", "among": [4, 8, 16, 20, 12, 24, 64],
                 "where": GOAL}},
     "'among' must go up (got 20 before 12)"),
    ({"search": {**SEARCH, "between": [1, 2], "where": GOAL, "most_replications": 10**9}},
     "must be <= 10000"),
]  # fmt: skip
WRONG += [
    ({"sweep": {**GRID, "show": show}}, said)
    for show, said in (
        ({"metrics": ["nope.foo"]}, "'sweep.show.metrics[0]' must be a number of summary.json"),
        ({"metrics": ["rejected_share", "goodput"]}, "'sweep.show.metrics[1]' must not be goodput"),
        ({"pareto": ["rejected_share", "concurrency.men"]}, "did you mean 'concurrency.mean'?"),
        ({"x": "workload.foo"}, "must be a key that is varied: server.max_num_seqs (got work"),
        ({"lines": "server.policy"}, "'show.lines' must be a key that is varied"),
    )
]
WRONG += [
    ({"sweep": {"grid": {"server.policy": ["paged"]}, "show": {"x": "server.policy"}}},
     "'show.x' must be a key whose values are numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("sections", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_mistake_is_told(sections: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_experiment(varied(**sections))
    assert said in str(caught.value)


def test_a_wrong_value_is_pointed_at_where_it_stands(tmp_path: Path) -> None:
    path = saved(tmp_path, sweep={"grid": {"server.policy": ["contiguous", "pagd"]}})
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "pagd" in text)
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    (problem,) = caught.value.problems
    assert problem.where.startswith(f"{path}:{line}:")
    assert "did you mean 'paged'?" in problem.message


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"server.max_num_seqs": {"from": 1, "to": 10}}, "'whole: true' samples those"),
        ({"workload.request_rate": {"from": -5, "to": 1}}, "must be > 0"),
    ],
)
def test_what_is_sampled_is_checked_before_anything_runs(
    tmp_path: Path, over: dict[str, Any], said: str
) -> None:
    path = saved(tmp_path, sweep={"sample": {"points": 4, "over": over}})
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    (problem,) = caught.value.problems
    line = next(i for i, t in enumerate(path.read_text().splitlines(), 1) if next(iter(over)) in t)
    assert problem.where.startswith(f"{path}:{line}:")
    assert problem.message.startswith("in a cell, '")
    assert said in problem.message


def test_the_error_of_a_run_whose_values_are_wrong_is_one_line() -> None:
    """Cells beyond those that are looked at before tell when they run."""
    tree = {**varied(), "seed": -1, "clock": {"kind": "fixed", "step_s": -1}}
    told = run_task(Task("d", Cell({}, "c"), 0, 0, tree))
    assert told.status == "failed"
    assert "\n" not in told.error
    assert "'seed' must be >= 0 (got -1)" in told.error
    assert estimate([Task("d", Cell({}, "c"), 0, 0, tree)], 1).pieces == 0


@pytest.mark.parametrize(
    "sections",
    [
        {"search": {"key": "server.max_num_seq", "find": "largest", "between": [1, 2],
                    "where": GOAL}},
        {"sweep": {"grid": {"server.max_num_seq": [1, 2]}}},
    ],
)  # fmt: skip
def test_an_unknown_key_is_told_once_where_it_stands(
    tmp_path: Path, sections: dict[str, Any]
) -> None:
    path = saved(tmp_path, **sections)
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    (problem,) = caught.value.problems
    lines = path.read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "max_num_seq" in text)
    assert problem.where.startswith(f"{path}:{line}:")


def test_cells_are_checked_whole_so_that_keys_which_go_together_may_change_together() -> None:
    together = {"zip": {"server.policy": ["contiguous", "paged"],
                        "server.scheduler": ["orca", "vllm"]}}  # fmt: skip
    assert load_experiment(varied(sweep=together)).sweep is not None
    apart = {"grid": {"server.policy": ["paged"], "server.scheduler": ["orca"]}}
    with pytest.raises(ConfigError, match="needs a rule for preemption"):
        load_experiment(varied(sweep=apart))


def test_a_sweep_reads_back_from_what_was_saved_of_it() -> None:
    sample = {"points": 4, "over": {"workload.request_rate": {"from": 1, "to": 2}}}
    tree = varied(sweep={"zip": {"server.max_num_seqs": [1]}, "sample": sample})
    experiment = load_experiment(tree)
    assert load_experiment(experiment.to_tree()) == experiment


def test_paths_among_swept_values_are_relative_to_the_file(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("arrival_time_s,prompt_tokens,output_tokens\n0,1,2\n")
    path = saved(tmp_path, sweep={"grid": {"workload.trace": ["a.csv", "b.csv"]}})
    others = _without_workload(path.read_text().splitlines())
    path.write_text("\n".join([*others, "workload: {trace: a.csv}", ""]))
    experiment = load_experiment(path)
    assert experiment.sweep is not None
    assert experiment.sweep.grid == {
        "workload.trace": [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    }


def _without_workload(lines: list[str]) -> list[str]:
    kept, inside = [], False
    for line in lines:
        inside = line.startswith("workload:") or (inside and line.startswith(" "))
        if not inside:
            kept.append(line)
    return kept


def test_every_number_of_a_summary_can_be_asked_for() -> None:
    summary = simulate(varied(statistics={"goodput": {"ttft_s": 5}})).summary
    numbers = {k for k, v in flat(summary).items() if type(v) in (int, float)}
    assert numbers - {"schema_version"} <= set(known_names())
    texts = {k for k, v in flat(summary).items() if isinstance(v, str)}
    assert "statistics.saturation.verdict" in texts
    assert not texts & set(known_names())
