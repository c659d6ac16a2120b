"""Every shipped experiment: it loads, says what it answers and how long it takes, and runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import wastesim
from wastesim.config import read_yaml
from wastesim.decode.stock import STOCK
from wastesim.records import Records
from wastesim.sweep.plan import plan

EXPERIMENTS = sorted((Path(__file__).resolve().parents[1] / "experiments").glob("*.yaml"))
OWN = ("allocation", "comparison")  # other studies' files are loaded and run by their own tests
RUNS = [path for path in EXPERIMENTS if read_yaml(path).tree.get("study", OWN[0]) in OWN]
NUMBER = r"(\d+|a|one|two|three|four|five|six|eight|ten|twenty|thirty|half a)"
DURATION = re.compile(rf"{NUMBER} (second|minute|hour)s?")


def named(path: Path) -> str:
    return path.stem


def skip_without_its_model(path: Path) -> None:
    """Real weights are there only where `make models` has fetched them."""
    model = read_yaml(path).tree.get("decode", {}).get("model")
    if model in STOCK and not STOCK[model].path.is_file():
        pytest.skip(f"needs {model}: make models")


def opening(path: Path) -> str:
    """The comment that a file opens with, in one line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# "))
    return " ".join(comment)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=named)
def test_it_opens_with_its_question_and_how_long_it_takes(path: Path) -> None:
    comment = opening(path)
    assert "?" in comment
    assert DURATION.search(comment), comment


@pytest.mark.parametrize("path", RUNS, ids=named)
def test_it_loads(path: Path) -> None:
    skip_without_its_model(path)
    experiment = wastesim.load_experiment(path)
    assert experiment.name == path.stem
    assert len(experiment.variants) == len(experiment.compare or ())


@pytest.mark.parametrize("path", RUNS, ids=named)
def test_it_runs_with_few_requests(path: Path) -> None:
    skip_without_its_model(path)
    given = wastesim.load_experiment(path)
    few = [
        f"workload.num_requests={40 if given.decode.engine == 'none' else 5}",
        *([] if given.measure is None else ["measure={from_s: 0}"]),
    ]
    experiment: Any = wastesim.load_experiment(path, few)
    if given.sweep:  # of many runs the first
        experiment = dict(plan(experiment).tasks[0].tree)
    found = wastesim.simulate(experiment)
    results = found.results.values() if given.compare else [found]
    for result in results:
        records: Records = result.records
        assert (records.requests["status"] != "unfinished").all()
        assert result.summary["requests"]["completed"] > 0
