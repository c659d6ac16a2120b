"""`--set a.b=c`: what it may replace, and what paths in it are relative to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wastesim import load_experiment
from wastesim.config import Override, load_document
from wastesim.errors import ConfigError

GOOD = """\
model: llama-3-8b
gpu: a100-sxm-40gb
workload: {lengths: sharegpt, num_requests: 20}
server: {max_model_len: 2048}
clock: {kind: roofline, overhead_s: 0.001}
"""
TRACE = "prompt_tokens,output_tokens\n5,7\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an experiment in `there/`; the current folder is `here/`."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "there" / "e.yaml").write_text(GOOD)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def tree(*options: str, source: str = "../there/e.yaml") -> dict[str, Any]:
    return load_document(source, [Override.parse(text) for text in options]).tree


def test_one_key_is_replaced_and_the_others_stay(folder: Path) -> None:
    changed = tree("server.max_model_len=4Ki")
    assert changed == tree() | {"server": {"max_model_len": "4Ki"}}


def test_keys_that_were_not_there_are_made(folder: Path) -> None:
    assert tree("decode.engine=none")["decode"] == {"engine": "none"}
    assert tree("a.b.c.d=1")["a"] == {"b": {"c": {"d": 1}}}


def test_a_whole_mapping_is_replaced_not_merged(folder: Path) -> None:
    assert tree("clock={kind: fixed, step_s: 1}")["clock"] == {"kind": "fixed", "step_s": 1}


def test_later_options_win_and_build_on_earlier_ones(folder: Path) -> None:
    options = ["seed=1", "seed=2", "clock={kind: fixed}", "clock.step_s=20 ms"]
    changed = tree(*options)
    assert changed["seed"] == 2
    assert changed["clock"] == {"kind": "fixed", "step_s": "20 ms"}


def test_a_value_may_hold_equals_signs(folder: Path) -> None:
    assert tree("name=a=b")["name"] == "a=b"


def test_nothing_can_be_set_below_a_value(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"'model\.layers' cannot be set, because 'model' is"):
        load_experiment("../there/e.yaml", ["model.layers=3"])


def test_options_do_not_change_what_they_were_given() -> None:
    source = {"server": {"max_model_len": 5}}
    load_document(source, [Override.parse("server.max_model_len=6")])
    assert source == {"server": {"max_model_len": 5}}


@pytest.mark.parametrize("written", ["t.csv", "./t.csv", "sub/../t.csv", "t"])
def test_a_trace_in_a_file_is_relative_to_the_file(written: str, folder: Path) -> None:
    name = Path(written).name
    (folder / "there" / name).write_text(TRACE)
    (folder / "there" / "e.yaml").write_text(GOOD.replace("lengths: sharegpt", f"trace: {written}"))
    assert load_experiment("../there/e.yaml").workload.trace == str(folder / "there" / name)


@pytest.mark.parametrize("written", ["t.csv", "../here/t.csv", "t"])
def test_a_trace_in_an_option_is_relative_to_the_current_folder(written: str, folder: Path) -> None:
    name = Path(written).name
    (folder / "here" / name).write_text(TRACE)
    options = ["workload.lengths=", f"workload.trace={written}"]
    found = load_experiment("../there/e.yaml", options)
    assert found.workload.trace == str(folder / "here" / name)


def test_a_whole_mapping_in_an_option_has_its_paths_resolved_too(folder: Path) -> None:
    (folder / "here" / "t.csv").write_text(TRACE)
    for option in ("workload={trace: t.csv}", "workload.lengths={kind: resample, file: t.csv}"):
        changed = tree(option)["workload"]
        path = changed.get("trace") or changed["lengths"]["file"]
        assert path == str(folder / "here" / "t.csv")


def test_other_options_leave_the_paths_of_the_file_alone(folder: Path) -> None:
    (folder / "there" / "e.yaml").write_text(GOOD.replace("sharegpt", "pairs.csv"))
    assert tree("seed=1")["workload"]["lengths"] == str(folder / "there" / "pairs.csv")


@pytest.mark.parametrize("name", ["sharegpt", "azure-conversation"])
def test_the_name_of_a_workload_is_not_a_path(name: str, folder: Path) -> None:
    assert tree(f"workload.lengths={name}")["workload"]["lengths"] == name


def test_an_absolute_path_stays(folder: Path) -> None:
    assert tree("workload.trace=/data/t.csv")["workload"]["trace"] == "/data/t.csv"


def test_the_experiment_is_called_as_its_file_unless_it_says_otherwise(folder: Path) -> None:
    assert load_experiment("../there/e.yaml").name == "e"
    assert load_experiment("../there/e.yaml", ["name=mine"]).name == "mine"


@pytest.mark.parametrize("text", ["seed", "=1", "a..b=1", ".a=1", "a.=1", ""])
def test_an_option_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--set: must look like server\.max_model_len=4096"):
        Override.parse(text)


def test_files_deep_inside_a_workload_are_relative_to_the_experiment(tmp_path: Path) -> None:
    """A mixture of a file, a shipped name, and marginals of which one is a table of quantiles."""
    experiment = tmp_path / "deep.yaml"
    experiment.write_text(
        "workload:\n"
        "  lengths:\n"
        "    kind: mixture\n"
        "    parts:\n"
        "      - {weight: 1, of: sharegpt}\n"
        "      - {weight: 1, of: mine/trace.csv}\n"
        "      - {weight: 1, of: {prompt: {kind: quantiles, file: q.csv, column: prompt}}}\n"
    )
    parts = load_document(experiment).tree["workload"]["lengths"]["parts"]
    assert [part["of"] for part in parts[:2]] == ["sharegpt", str(tmp_path / "mine" / "trace.csv")]
    assert parts[2]["of"]["prompt"]["file"] == str(tmp_path / "q.csv")
