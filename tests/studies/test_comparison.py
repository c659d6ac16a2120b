"""`study: comparison`: one experiment, the same requests, several variants."""

from __future__ import annotations

import csv
import json
import multiprocessing
from pathlib import Path

import pytest

import wastesim
from wastesim import run
from wastesim.engine import Observer
from wastesim.errors import ConfigError, InputError
from wastesim.records import RequestRow, TickRow
from wastesim.report import __main__ as report
from wastesim.studies import Comparison, compare

from .comparison_helpers import tree

FIRST_COLUMNS = ["policy", "written", "future", "unused", "other", "running_mean"]
FILE = """\
study: comparison
model: {layers: 1, hidden: 8, q_heads: 1, kv_heads: 1, head_dim: 1, params: 1000}
gpu: {memory: 4 GiB, bandwidth: 1 GB/s, flops: 1 GFLOP/s}
workload: {lengths: {prompt: 3, output: 4}, num_requests: 5, request_rate: inf}
server: {max_model_len: 16, kv_cache_memory_bytes: 256}
decode: {engine: none}
clock: {kind: fixed, step_s: 1}
output: {figures: false}
compare:
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems(here: Path, compare_lines: str) -> list[str]:
    (here / "e.yaml").write_text(FILE + compare_lines)
    with pytest.raises(ConfigError) as caught:
        wastesim.load_experiment("e.yaml")
    return str(caught.value).splitlines()


def test_variants_run_in_order_on_the_same_requests() -> None:
    found = wastesim.simulate(tree())
    assert isinstance(found, Comparison)
    assert list(found.results) == ["contiguous", "orca_oracle", "token"]
    lengths = {
        tuple(result.records.requests["prompt_tokens"].tolist())
        + tuple(result.records.requests["output_tokens"].tolist())
        for result in found.results.values()
    }
    assert len(lengths) == 1


def test_a_variant_is_the_experiment_with_its_keys_laid_over() -> None:
    nested = {"server": {"policy": "paged", "watermark": 0.25}}
    dotted = {"server.policy": "paged", "server.watermark": 0.25}
    found = wastesim.load_experiment(tree(compare={"a": nested, "b": dotted})).variants
    assert found["a"].server == found["b"].server
    assert (found["a"].server.watermark, found["a"].server.max_model_len) == (0.25, 16)
    assert (found["a"].study, found["a"].compare, found["a"].name) == (
        "allocation",
        None,
        "small, a",
    )


def test_a_list_is_shorthand_for_policies() -> None:
    found = wastesim.load_experiment(tree(compare=["paged", "token"])).variants
    assert [variant.server.policy.name for variant in found.values()] == ["paged", "token"]


def test_a_policy_written_out_inherits_nothing_of_another() -> None:
    policy = {"claim": "prompt", "place": "blocks"}
    found = wastesim.load_experiment(tree(compare={"own": {"server": {"policy": policy}}}))
    assert found.variants["own"].server.policy.name == "custom"


def test_a_clock_of_another_kind_inherits_nothing() -> None:
    found = wastesim.load_experiment(tree(compare={"roofline": {"clock": {"kind": "roofline"}}}))
    assert found.variants["roofline"].clock.kind == "roofline"


def test_a_variant_equals_the_same_experiment_alone() -> None:
    alone = wastesim.load_experiment(
        tree(study="allocation", compare=None), ["server.policy=token"]
    )
    assert (
        wastesim.simulate(tree()).results["token"].summary["memory"]
        == (wastesim.simulate(alone).summary["memory"])
    )


def test_processes_give_the_same_as_one_after_the_other() -> None:
    experiment, told = wastesim.load_experiment(tree()), []
    apart = compare(experiment, workers=2, told=lambda name, done: told.append((name, done)))
    together = compare(experiment)
    assert apart.summary == together.summary
    assert sorted(name for name, _ in told) == sorted(experiment.variants)
    assert [done for _, done in told] == [1, 2, 3]
    assert not multiprocessing.active_children()


class StopIn(Observer):
    """Wants the end in the tick with that number."""

    def __init__(self, tick: int) -> None:
        self.left = tick

    def tick(self, row: TickRow) -> None:
        self.left -= 1

    def should_stop(self) -> bool:
        return self.left <= 0


def test_an_interrupt_keeps_the_variants_that_were_finished() -> None:
    ticks = wastesim.simulate(tree()).results["contiguous"].summary["time"]["ticks"]
    found = compare(wastesim.load_experiment(tree()), StopIn(ticks + 2))
    assert list(found.results) == ["contiguous"]
    assert found.missing == ("orca_oracle", "token")
    assert found.interrupted
    assert found.summary["missing"] == ["orca_oracle", "token"]


def test_an_interrupt_before_the_window_keeps_what_was_measured() -> None:
    late = wastesim.load_experiment(tree(measure={"from_s": 5}))
    assert list(compare(late, StopIn(18)).results) == ["contiguous"]


def test_an_interrupt_reaches_processes() -> None:
    found = compare(wastesim.load_experiment(tree()), StopIn(0), workers=2)
    assert found.interrupted
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_says_in_which_variant_it_was(workers: int) -> None:
    longer = tree(compare={"a": {}, "late": {"measure": {"from_s": 1e6}}})
    with pytest.raises(InputError, match=r"in variant 'late', 'measure.from_s' is 1e\+06 s"):
        compare(wastesim.load_experiment(longer), workers=workers)


def test_mistakes_in_a_variant_are_told_where_they_stand(here: Path) -> None:
    said = problems(here, "  one: {server: {policy: pagd}}\n  two:\n    server.block_size: 0\n")
    assert said[0].startswith(
        "e.yaml:10:18: in variant 'one', 'server.policy' must be a preset (contiguous,"
    )
    assert said[0].endswith("did you mean 'paged'? (got 'pagd')")
    assert said[1] == "e.yaml:12:5: in variant 'two', 'server.block_size' must be >= 1 (got 0)"


def test_paths_in_a_variant_are_relative_to_the_file(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "t.csv").write_text("prompt_tokens,output_tokens\n3,4\n")
    (here / "sub" / "e.yaml").write_text(FILE + "  a: {workload.lengths: t.csv}\n")
    variant = wastesim.load_experiment("sub/e.yaml").variants["a"]
    assert variant.workload.lengths == str(here / "sub" / "t.csv")


def test_names_in_variants_are_checked_too(here: Path) -> None:
    (said,) = problems(here, "  one: {model: opt-13}\n")
    assert said.startswith("e.yaml:10:9: in variant 'one', 'model' must be")


def test_a_mistake_of_the_experiment_is_told_once(here: Path) -> None:
    (here / "e.yaml").write_text(
        FILE.replace("max_model_len: 16", "max_model_len: 0") + "  a: {}\n"
    )
    with pytest.raises(ConfigError) as caught:
        wastesim.load_experiment("e.yaml")
    assert str(caught.value) == "e.yaml:5:10: 'server.max_model_len' must be >= 1 (got 0)"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("  a: {seed: 3}\n", "e.yaml:10:7: 'compare.a.seed' cannot differ between variants"),
        ("  a: 3\n", "e.yaml:10:3: 'compare.a' must be a mapping of changed keys (got 3)"),
        ("  a/b: {}\n", "e.yaml:9:1: 'compare' must name variants so that a folder"),
        ("  [paged, paged]\n", "e.yaml:9:1: 'compare' must name each policy once"),
        ("  {}\n", "e.yaml:9:1: 'compare' must be a mapping of names to changed keys"),
        ("  [pagd]\n", "e.yaml:10:4: in variant 'pagd', 'server.policy' must be a preset"),
    ],
)
def test_what_cannot_be_compared_is_refused(here: Path, lines: str, said: str) -> None:
    assert problems(here, lines)[0].startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"study": "allocation"}, "'compare' needs 'study: comparison'"),
        ({"compare": None}, "needs"),
    ],
)
def test_study_and_compare_go_together(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        wastesim.load_experiment(tree(**changes))


def test_the_results_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "e.yaml").write_text(FILE + "  [contiguous, paged]\n")
    assert run.main(["e.yaml", "--output", "out"]) == 0
    printed = capsys.readouterr()
    assert "paged" in printed.out
    assert printed.err == ""
    with (here / "out" / "summary.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0][:6] == FIRST_COLUMNS
    assert [row[0] for row in rows[1:]] == ["contiguous", "paged"]
    for row in rows[1:]:
        assert sum(map(float, row[1:5])) == pytest.approx(100)
    summary = json.loads((here / "out" / "summary.json").read_text())
    assert [variant["variant"] for variant in summary["variants"]] == ["contiguous", "paged"]
    for name in ("contiguous", "paged"):
        inner = here / "out" / "variants" / name
        files = {file.name for file in inner.iterdir()}
        assert {"resolved.yaml", "summary.json", "requests.csv", "report.html"} <= files
        assert run.main([str(inner / "resolved.yaml"), "--output", "again", "--quiet"]) == 0
        again = json.loads((here / "again" / "summary.json").read_text())
        assert again == json.loads((inner / "summary.json").read_text())


def test_its_report_is_built_anew_from_the_saved_folder(here: Path) -> None:
    (here / "e.yaml").write_text(FILE + "  [contiguous, paged]\n")
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 0
    pages = [here / "out" / name for name in ("report.html", "report.md")]
    inner = here / "out" / "variants" / "paged" / "report.html"
    before = [page.read_text() for page in pages]
    for page in (*pages, inner):
        page.unlink()
    assert report.main(["out", "--quiet", "--no-figures"]) == 0
    assert [page.read_text() for page in pages] == before
    assert inner.exists()


def test_the_saved_comparison_runs_to_the_same_summary(here: Path) -> None:
    (here / "e.yaml").write_text(FILE + "  [contiguous, paged]\n")
    assert run.main(["e.yaml", "--output", "out", "--seed", "3", "--quiet"]) == 0
    assert run.main(["out/resolved.yaml", "--output", "again", "--quiet"]) == 0
    first, second = (json.loads((here / d / "summary.json").read_text()) for d in ("out", "again"))
    assert first == second


def test_an_interrupted_comparison_says_so_and_exits_130(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "e.yaml").write_text(FILE + "  [contiguous, paged]\n")
    monkeypatch.setattr("wastesim.studies.parallel.usual_workers", lambda experiment: 1)
    counts = iter(range(10_000))
    monkeypatch.setattr("wastesim.progress.Progress.should_stop", lambda self: next(counts) > 2)
    assert run.main(["e.yaml", "--output", "out"]) == run.INTERRUPTED
    assert "interrupted" in capsys.readouterr().out
    assert json.loads((here / "out" / "run.json").read_text())["interrupted"] is True


def test_observers_of_a_comparison_see_every_request() -> None:
    class Counting(Observer):
        seen = 0

        def request(self, row: RequestRow) -> None:
            self.seen += 1

    observer = Counting()
    compare(wastesim.load_experiment(tree()), observer)
    assert observer.seen == 3 * 12
