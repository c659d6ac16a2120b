"""`study: capacity`: `wastesim run` answers by formula, in a folder that is whole or not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wastesim
from wastesim import run
from wastesim.capacity import main
from wastesim.errors import ConfigError

SHIPPED = Path(__file__).parents[2] / "experiments" / "capacity.yaml"
YAML = """\
name: small
study: capacity
model: llama-3-8b
gpu: {memory: 40 GiB, bandwidth: 1 TB/s, flops: 100 TFLOP/s}
workload:
  lengths: {prompt: {kind: fixed, value: 100}, output: {kind: fixed, value: 101}}
  num_requests: 5
server: {policy: contiguous, max_model_len: 2048}
"""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the shipped study writes."""
    out = tmp_path_factory.mktemp("capacity") / "out"
    assert run.main([str(SHIPPED), "--output", str(out), "--quiet"]) == 0
    return out


def summary_of(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def test_the_folder_has_numbers_words_and_the_picture(shipped: Path) -> None:
    names = {path.relative_to(shipped).as_posix() for path in shipped.rglob("*") if path.is_file()}
    assert names == {
        "experiment.yaml", "resolved.yaml", "run.json", "summary.json", "report.html", "report.md",
        "figures/capacity.svg", "figures/capacity.png",
    }  # fmt: skip
    assert (shipped / "experiment.yaml").read_text() == SHIPPED.read_text()
    assert json.loads((shipped / "run.json").read_text())["seed"] == 0


def test_it_says_what_the_verb_says(shipped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = summary_of(shipped)
    assert (found["schema_version"], found["study"], found["name"]) == (1, "capacity", "capacity")
    assert found["capacity"]["full_length_requests"] == 218
    assert main([str(SHIPPED), "--json"]) == 0
    verb = json.loads(capsys.readouterr().out)
    assert {key: found[key] for key in verb if key != "explanation"} == {
        key: verb[key] for key in verb if key != "explanation"
    }


def test_the_report_shows_every_term_and_runs_again(shipped: Path, tmp_path: Path) -> None:
    text = (shipped / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# 218 requests of 2,048 tokens fit: llama-3-8b on h100-sxm-80gb")
    assert "![" in text
    for line in summary_of(shipped)["explanation"]:
        assert line in text
    assert "http" not in (shipped / "report.html").read_text(encoding="utf-8")
    again = tmp_path / "again"
    assert run.main([str(shipped / "resolved.yaml"), "--output", str(again), "--quiet"]) == 0
    assert summary_of(again) == summary_of(shipped)


def test_inline_cards_and_lengths_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "small.yaml", tmp_path / "out"
    path.write_text(YAML)
    assert run.main([str(path), "--output", str(out), "--set", "output.figures=false"]) == 0
    printed = capsys.readouterr().out
    assert "requests of 2,048 tokens fit: llama-3-8b on card (40.00 GiB)" in printed
    assert (
        "expected concurrency for the experiment's lengths (mean prompt 100, output 101" in printed
    )
    assert summary_of(out)["lengths"]["live_tokens"] == 150
    assert not (out / "figures").exists()


@pytest.mark.parametrize(
    ("stated", "slots", "live"),
    [
        ([], 150, 547.7),
        (["workload.too_long=reject"], 150, 150),
        (["workload.too_long=truncate"], 547.7, 547.7),
        (["server.scheduler=vllm"], 547.7, 547.7),
    ],
)
def test_too_long_requests_are_served_as_the_experiment_says(
    stated: list[str], slots: float, live: float, tmp_path: Path
) -> None:
    """Half of them: rejected 150 written cells are left, cut (101 x 150 + 100 x 949.5) / 201."""
    rows = "arrival_s,prompt_tokens,output_tokens\n0,100,101\n1,900,201\n"
    (tmp_path / "own.csv").write_text(rows)
    path, out = tmp_path / "small.yaml", tmp_path / "out"
    before, after = YAML.index("workload:"), YAML.index("server:")
    path.write_text(YAML[:before] + "workload: {trace: own.csv}\n" + YAML[after:])
    words = [part for key in ("server.max_model_len=1000", *stated) for part in ("--set", key)]
    assert run.main([str(path), "--output", str(out), "--quiet", *words]) == 0
    lengths = summary_of(out)["lengths"]
    assert lengths["too_long_share"] == pytest.approx(0.5, abs=0.01)
    assert 1000 * lengths["written"]["contiguous"] == pytest.approx(slots, rel=0.01)
    assert lengths["live_tokens"] == pytest.approx(live, rel=0.01)


def test_the_lengths_of_a_trace_count(tmp_path: Path) -> None:
    """Its own columns too."""
    (tmp_path / "own.csv").write_text("when,question,answer\n" + "0,100,101\n1,100,101\n" * 9)
    path, out = tmp_path / "small.yaml", tmp_path / "out"
    before, after = YAML.index("workload:"), YAML.index("server:")
    trace = (
        "workload:\n  trace: own.csv\n  time_unit: s\n"
        "  columns: {arrival: when, prompt: question, output: answer}\n"
    )
    path.write_text(YAML[:before] + trace + YAML[after:])
    assert run.main([str(path), "--output", str(out), "--quiet"]) == 0
    assert summary_of(out)["lengths"]["live_tokens"] == 150


def test_a_card_on_the_command_line_wins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SHIPPED), "--gpu", "a100-sxm-40gb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gpu"] == "a100-sxm-40gb"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "gpu=h10"], "must be a GPU of the catalog"),
        (["--set", "server.gpu_memory_utilization=0.1"], "no memory is left for keys and values"),
        (
            ["--set", "sweep={grid: {server.max_model_len: [1024, 2048]}}"],
            "'study' must be allocation with a 'sweep'",
        ),
        (["--set", "compare=[paged]"], "'compare' needs 'study: comparison'"),
        (
            ["--set", "workload.too_long=error", "--set", "server.max_model_len=1024"],
            "have more than 'server.max_model_len' 1,024 tokens; set 'workload.too_long' to",
        ),
        (["--trace"], "a capacity study simulates nothing"),
        (["--verify"], "nothing is decoded: set 'engine' to numpy or leave '--verify' out"),
        (
            ["--verify", "--set", "decode.engine=numpy"],
            "a capacity study simulates nothing",
        ),
    ],
)
def test_bad_input_ends_with_two_and_leaves_nothing(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run.main([str(SHIPPED), "--output", str(out), *words]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "file"
    taken.write_text("mine")
    assert run.main([str(SHIPPED), "--output", str(taken)]) == 2
    assert "is a file" in capsys.readouterr().err
    assert taken.read_text() == "mine"


def test_it_is_not_simulated_by_mistake() -> None:
    with pytest.raises(ConfigError, match="must be allocation or comparison to be simulated"):
        wastesim.simulate(SHIPPED)


def test_the_same_file_simulates_when_it_is_told_to() -> None:
    few = ["study=allocation", "workload.num_requests=20", "output.records=none"]
    found = wastesim.simulate(wastesim.load_experiment(SHIPPED, few))
    assert found.summary["requests"]["completed"] == 20
