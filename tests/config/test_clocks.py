"""`clock:` of an experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from wastesim import load_experiment
from wastesim.config import clocks, server
from wastesim.errors import ConfigError

EXPERIMENT = """\
model: llama-3-8b
gpu: a100-sxm-40gb
workload: {lengths: sharegpt, num_requests: 5}
server: {max_model_len: 2048}
"""


def load(tmp_path: Path, clock: str, *overrides: str):
    path = tmp_path / "e.yaml"
    path.write_text(f"{EXPERIMENT}clock: {clock}\n")
    return load_experiment(path, overrides)


def test_a_table_is_relative_to_the_experiment(tmp_path: Path) -> None:
    clock = load(tmp_path, "{kind: table, file: steps.csv}").clock
    assert clock == clocks.TableClock(kind="table", file=str(tmp_path / "steps.csv"))


def test_a_table_on_the_command_line_is_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    clock = load(tmp_path, "{kind: table, file: steps.csv}", "clock.file=mine.csv").clock
    assert clock.file == str(tmp_path / "here" / "mine.csv")


def test_a_table_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"e\.yaml:5:1: 'clock\.file' is required"):
        load(tmp_path, "{kind: table}")


def test_a_table_needs_no_decode(tmp_path: Path) -> None:
    clock = load(tmp_path, "{kind: table, file: steps.csv}", "decode.engine=none").clock
    assert clock.kind == "table"


def test_the_clocks_are_still_where_they_were() -> None:
    for name in ("Clock", "FixedClock", "MeasuredClock", "RooflineClock", "TableClock"):
        assert getattr(server, name) is getattr(clocks, name)
