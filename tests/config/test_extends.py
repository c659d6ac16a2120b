"""`extends: other.yaml`: what is inherited, what wins, and where mistakes are reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wastesim import load_experiment
from wastesim.config import load_document
from wastesim.errors import ConfigError

BASE = """\
model: llama-3-8b
gpu: a100-sxm-40gb
workload: {lengths: sharegpt, num_requests: 20}
server:
  max_model_len: 2048
  max_num_seqs: 64
clock: {kind: roofline, overhead_s: 0.001}
"""
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """`write(name=text, ...)` makes NAME.yaml in the current folder, `sub__name` below `sub/`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()

    def files(**texts: str) -> None:
        for name, text in texts.items():
            (tmp_path / f"{name.replace('__', '/')}.yaml").write_text(text)

    return files


def tree(name: str = "e.yaml") -> dict[str, Any]:
    return load_document(name).tree


def said(name: str = "e.yaml", *options: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_experiment(name, options)
    return str(caught.value).splitlines()


def test_only_what_is_different_need_be_said(write: Write) -> None:
    write(base=BASE, e="extends: base.yaml\nserver: {max_model_len: 4096}\nseed: 3\n")
    experiment = load_experiment("e.yaml")
    assert experiment.name == "e"
    assert experiment.seed == 3
    assert experiment.server.max_model_len == 4096
    assert experiment.server.max_num_seqs == 64, "mappings are merged key by key"
    assert experiment.workload.num_requests == 20


def test_an_extended_experiment_is_the_same_as_one_written_out(write: Write) -> None:
    write(base=BASE, e="extends: base.yaml\nserver: {max_model_len: 4096}\n")
    write(sub__e=BASE.replace("2048", "4096"))
    assert load_experiment("e.yaml") == load_experiment("sub/e.yaml")


def test_chains_are_followed_and_the_nearest_wins(write: Write) -> None:
    write(
        base=BASE,
        middle="extends: base.yaml\nseed: 1\nserver: {max_num_seqs: 8, block_size: 32}\n",
        e="extends: middle.yaml\nserver: {max_num_seqs: 4}\n",
    )
    assert tree()["seed"] == 1
    assert tree()["server"] == {"max_model_len": 2048, "max_num_seqs": 4, "block_size": 32}


def test_a_mapping_of_another_kind_inherits_nothing(write: Write) -> None:
    write(base=BASE, e="extends: base.yaml\nclock: {kind: fixed, step_s: 1}\n")
    assert tree()["clock"] == {"kind": "fixed", "step_s": 1}


@pytest.mark.parametrize("clock", ["{flops_efficiency: 0.5}", "{kind: roofline, flops_efficiency: 0.5}"])  # noqa: E501  # fmt: skip
def test_a_mapping_of_the_same_kind_is_merged(clock: str, write: Write) -> None:
    write(base=BASE, e=f"extends: base.yaml\nclock: {clock}\n")
    assert tree()["clock"] == {"kind": "roofline", "overhead_s": 0.001, "flops_efficiency": 0.5}


def test_lists_and_values_are_replaced_as_a_whole(write: Write) -> None:
    write(base="a: [1, 2]\nb: {c: 1}\nd: 1\n", e="extends: base.yaml\na: [3]\nb: 5\nd: {x: 1}\n")
    assert tree() == {"a": [3], "b": 5, "d": {"x": 1}, "name": "e"}


def test_a_key_without_a_value_takes_away_what_was_inherited(write: Write) -> None:
    write(base=BASE, e="extends: base.yaml\nworkload: {lengths: , trace: t.csv}\n")
    Path("t.csv").write_text("prompt_tokens,output_tokens\n5,7\n")
    workload = load_experiment("e.yaml").workload
    assert (workload.lengths, workload.trace) == (None, str(Path.cwd() / "t.csv"))


def test_each_file_is_relative_to_itself(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        sub__base=BASE.replace("lengths: sharegpt", "trace: t.csv"),
        e="extends: sub/base.yaml\nclock: {kind: table, file: steps.csv}\n",
    )
    here = Path.cwd()
    monkeypatch.chdir("/")
    found = tree(str(here / "e.yaml"))
    assert found["workload"]["trace"] == str(here / "sub" / "t.csv")
    assert found["clock"]["file"] == str(here / "steps.csv")


def test_options_come_last(write: Write) -> None:
    write(base=BASE, e="extends: base.yaml\nseed: 1\n")
    experiment = load_experiment("e.yaml", ["seed=2", "server.max_num_seqs=3"])
    assert (experiment.seed, experiment.server.max_num_seqs) == (2, 3)


def test_a_mapping_in_python_extends_a_file_too(write: Write) -> None:
    write(base=BASE)
    assert load_experiment({"extends": "base.yaml", "seed": 4}).seed == 4


def test_mistakes_are_reported_in_the_file_they_stand_in(write: Write) -> None:
    write(
        sub__base=BASE.replace("64", "0").replace("2048", "no"),
        e="extends: sub/base.yaml\nseed: -1\nserver:\n  max_model_len: 0\n",
    )
    assert said("e.yaml", "output.figures=5") == [
        "e.yaml:2:1: 'seed' must be >= 0 (got -1)",
        "e.yaml:4:3: 'server.max_model_len' must be >= 1 (got 0)",
        "sub/base.yaml:6:3: 'server.max_num_seqs' must be >= 1 (got 0)",
        "--set output.figures: 'output.figures' must be true or false (got 5)",
    ]


def test_what_no_file_says_is_missing_in_the_extending_one(write: Write) -> None:
    write(base=BASE.replace("  max_model_len: 2048\n", ""), e="seed: 1\nextends: base.yaml\n")
    assert said() == ["base.yaml:4:1: 'server.max_model_len' is required"]
    write(base="seed: 1\nmodel: llama-3-8b\ngpu: l4-24gb\nserver: {max_model_len: 1}\n")
    assert said() == ["e.yaml:1:1: 'workload' is required"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none.yaml", "'extends' must be a file that exists (got 'none.yaml', no such file)"),
        ("sub", "'extends' must be a file that exists (got 'sub', a folder)"),
        ("5", "'extends' must be the path of a YAML file (got 5)"),
        ("", "'extends' must be the path of a YAML file (got None)"),
        ("[base.yaml]", "'extends' must be the path of a YAML file (got ['base.yaml'])"),
        ("e.yaml", "'extends' must not lead back to where it began (e.yaml -> e.yaml)"),
        ("sub/../e.yaml", "'extends' must not lead back to where it began (e.yaml -> e.yaml)"),
    ],
)
def test_a_file_that_cannot_be_extended_is_reported_at_the_key(
    text: str, expected: str, write: Write
) -> None:
    write(base=BASE, e=f"seed: 1\nextends: {text}\n")
    assert said() == [f"e.yaml:2:1: {expected}"]


def test_a_longer_circle_is_reported_where_it_closes(write: Write) -> None:
    write(a="extends: sub/b.yaml\n", sub__b="extends: c.yaml\n", sub__c="\nextends: ../a.yaml\n")
    assert said("a.yaml") == [
        "sub/c.yaml:2:1: 'extends' must not lead back to where it began"
        " (a.yaml -> b.yaml -> c.yaml -> a.yaml)"
    ]


def test_two_ways_to_one_file_are_no_circle(write: Write) -> None:
    write(base=BASE, a="extends: base.yaml\nseed: 1\n", e="extends: a.yaml\n")
    assert load_experiment("e.yaml").seed == 1


def test_an_extended_file_that_cannot_be_read_is_reported_by_its_name(write: Write) -> None:
    write(sub__base="a: [1\n", e="extends: sub/base.yaml\n")
    (line,) = said()
    assert line.startswith("sub/base.yaml:2:1: is not valid YAML")


def test_a_misspelt_extends_is_recognised(write: Write) -> None:
    write(base=BASE, e=BASE + "extend: base.yaml\n")
    assert said() == ["e.yaml:8:1: 'extend' is not a known key; did you mean 'extends'?"]


def test_an_option_cannot_extend(write: Write) -> None:
    write(base=BASE, e=BASE)
    (line,) = said("e.yaml", "extends=base.yaml")
    assert line.startswith("--set extends: 'extends' is not a known key")
