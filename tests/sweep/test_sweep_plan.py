"""From `sweep:` to runs: cells, seeds, digests and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wastesim import load_experiment
from wastesim.config.designs import sampled
from wastesim.config.sweep import Sample
from wastesim.sweep.plan import Plan, plan, replication_seed

from .sweep_runs import varied


def planned(**sweep: Any) -> Plan:
    return plan(load_experiment(varied(sweep=sweep)))


def test_a_grid_is_every_combination_in_the_order_of_the_file() -> None:
    found = planned(grid={"server.max_model_len": [16, 20], "server.max_num_seqs": [1, 2, 3]})
    assert [tuple(cell.values.values()) for cell in found.cells] == [
        (16, 1), (16, 2), (16, 3), (20, 1), (20, 2), (20, 3),
    ]  # fmt: skip
    assert found.cells[0].label == "max_model_len 16, max_num_seqs 1"


def test_zip_goes_through_all_keys_at_once_and_list_says_each_cell() -> None:
    zipped = planned(zip={"server.max_model_len": [16, 20], "server.max_num_seqs": [1, 2]})
    assert [tuple(cell.values.values()) for cell in zipped.cells] == [(16, 1), (20, 2)]
    listed = planned(list=[{"server": {"max_model_len": 20}}, {"server.max_num_seqs": 2}])
    assert [cell.values for cell in listed.cells] == [
        {"server.max_model_len": 20},
        {"server.max_num_seqs": 2},
    ]


def test_designs_that_are_given_together_are_combined() -> None:
    found = planned(
        grid={"server.max_num_seqs": [1, 2]},
        zip={"server.max_model_len": [16, 20]},
        sample={"points": 4, "over": {"workload.request_rate": {"from": 0.1, "to": 1}}},
    )
    assert len(found.cells) == 2 * 2 * 4


def test_replication_r_has_the_same_seed_in_every_cell_and_the_first_is_the_experiments() -> None:
    found = planned(grid={"server.max_num_seqs": [1, 2]}, replications=3)
    seeds = [[task.seed for task in found.of(cell)] for cell in found.cells]
    assert seeds[0] == seeds[1]
    assert seeds[0][0] == 0
    assert len(set(seeds[0])) == 3


def test_more_replications_leave_the_earlier_ones_as_they_were() -> None:
    few = planned(grid={"server.max_num_seqs": [1]}, replications=2)
    many = planned(grid={"server.max_num_seqs": [1]}, replications=5)
    assert [task.digest for task in few.tasks] == [task.digest for task in many.tasks[:2]]
    assert replication_seed(7, 0) == 7
    assert replication_seed(7, 1) != replication_seed(8, 1)
    assert 0 <= replication_seed(7, 1) < 2**53


def test_the_first_replication_of_a_cell_is_what_run_would_do_with_set() -> None:
    found = planned(grid={"server.max_num_seqs": [3]})
    alone = load_experiment(varied(server={"max_num_seqs": 3}))
    tree = dict(found.tasks[0].tree)
    assert {**tree, "name": "toy"} == {**alone.to_tree()}


def test_a_digest_follows_the_content_of_a_trace_not_only_its_name(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"

    def digest(rows: str) -> str:
        from wastesim.sweep import plan as module

        trace.write_text("arrival_time_s,prompt_tokens,output_tokens\n" + rows)
        module._file_digest.cache_clear()
        tree = varied(sweep={"grid": {"server.max_num_seqs": [1]}})
        tree["workload"] = {"trace": str(trace)}
        return plan(load_experiment(tree)).tasks[0].digest

    assert digest("0,1,2\n") == digest("0,1,2\n") != digest("0,1,3\n")


def test_digests_do_not_follow_the_name_or_what_is_written() -> None:
    one = planned(grid={"server.max_num_seqs": [1]}).tasks[0].digest
    tree = varied(sweep={"grid": {"server.max_num_seqs": [1]}}, name="other")
    tree["output"] = {"figures": True}
    assert plan(load_experiment(tree)).tasks[0].digest == one


@pytest.mark.parametrize("method", ["random", "latin_hypercube", "sobol"])
def test_samples_fill_their_ranges_and_repeat_with_their_seed(method: str) -> None:
    over = {
        "a": {"from": 1.0, "to": 100.0, "scale": "log"},
        "b": {"from": 10, "to": 20, "whole": True},
        "c": ["x", "y"],
    }
    sample = _sample(method, over, 64)
    points = sampled(sample)
    assert len(points) == 64
    assert all(1 <= p["a"] <= 100 and 10 <= p["b"] <= 20 for p in points)
    assert all(isinstance(p["b"], int) for p in points)
    below = sum(p["a"] < 10 for p in points)  # half the points below the geometric middle
    assert 20 <= below <= 44
    assert {p["c"] for p in points} == {"x", "y"}
    assert sampled(sample) == points


def test_a_latin_hypercube_has_one_point_in_each_part_of_every_axis() -> None:
    over = {"a": {"from": 0.0, "to": 8.0}, "b": {"from": 0.0, "to": 8.0}}
    points = sampled(_sample("latin_hypercube", over, 8))
    assert sorted(int(p["a"]) for p in points) == list(range(8))
    assert sorted(int(p["b"]) for p in points) == list(range(8))


def test_rounded_samples_that_meet_are_one_cell() -> None:
    found = planned(
        sample={
            "points": 16,
            "over": {"server.max_num_seqs": {"from": 1, "to": 3, "whole": True}},
        }
    )
    assert sorted(cell.values["server.max_num_seqs"] for cell in found.cells) == [1, 2, 3]


def _sample(method: str, over: dict[str, Any], points: int) -> Any:
    from wastesim.config.sweep import Sample

    renamed = {f"server.{key}": axis for key, axis in over.items()}
    made = Sample.model_validate({"method": method, "points": points, "over": renamed})
    return made.model_copy(
        update={"over": {k.removeprefix("server."): v for k, v in made.over.items()}}
    )


def test_whole_numbers_are_sampled_inside_their_ends() -> None:
    sample = {"points": 16, "over": {"n": {"from": 1.2, "to": 3.8, "whole": True}}}
    assert {point["n"] for point in sampled(Sample.model_validate(sample))} == {2, 3}


def test_mappings_and_large_numbers_are_named_as_tables_name_them() -> None:
    clocks = [{"kind": "fixed", "step_s": s} for s in (1, 2)]
    found = planned(grid={"clock": clocks, "server.max_model_len": [2048]})
    assert [cell.label for cell in found.cells] == [
        "clock fixed (step_s 1), max_model_len 2,048",
        "clock fixed (step_s 2), max_model_len 2,048",
    ]
