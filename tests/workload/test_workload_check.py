"""Names and files of a workload are checked before anything is simulated."""

from pathlib import Path

import pytest

from wastesim.errors import InputError
from wastesim.workload import check_workload, workload_names

from .workload_helpers import workload


def test_shipped_names_and_files_that_exist_raise_no_problem(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("x")
    for name in workload_names():
        assert list(check_workload({"workload": {"lengths": name}})) == []
    assert list(check_workload({"workload": {"lengths": str(trace)}})) == []
    assert list(check_workload({"workload": {"trace": "t.csv"}}, tmp_path)) == []


def test_a_misspelt_workload_is_recognised() -> None:
    ((path, message),) = check_workload({"workload": {"lengths": "sharegtp"}})
    assert path == ("workload", "lengths")
    assert "did you mean 'sharegpt'?" in message
    assert "(got 'sharegtp')" in message


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ({"trace": "none.csv"}, ("workload", "trace")),
        ({"lengths": "none.csv"}, ("workload", "lengths")),
        ({"lengths": "none.yaml"}, ("workload", "lengths")),
        ({"lengths": {"kind": "resample", "file": "none.csv"}}, ("workload", "lengths", "file")),
        ({"lengths": {"kind": "joint", "table": "none.csv"}}, ("workload", "lengths", "table")),
        (
            {"lengths": {"prompt": {"kind": "quantiles", "file": "none.csv"}, "output": 3}},
            ("workload", "lengths", "prompt", "file"),
        ),
        (
            {"max_tokens": {"kind": "mixture", "parts": [{"of": {"file": "none.csv"}}]}},
            ("workload", "max_tokens", "parts", 0, "of", "file"),
        ),
        (
            {"lengths": {"kind": "mixture", "parts": [{"of": "sharegpt"}, {"of": "none"}]}},
            ("workload", "lengths", "parts", 1, "of"),
        ),
    ],
)
def test_a_missing_file_is_a_problem_at_its_key(
    tmp_path: Path, tree: object, path: tuple[str, ...]
) -> None:
    ((found, message),) = check_workload({"workload": tree}, tmp_path)
    assert found == path
    assert "must be" in message


@pytest.mark.parametrize("tree", [{}, {"workload": None}, {"workload": 3}, {"workload": []}])
def test_a_tree_of_another_shape_is_left_to_the_models(tree: dict[str, object]) -> None:
    assert list(check_workload(tree)) == []


def test_a_workload_file_that_refers_to_itself_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "loop.yaml"
    path.write_text("{title: t, lengths: loop.yaml, provenance: {source: a, licence: b, made: c}}")
    with pytest.raises(InputError, match="refers to itself"):
        workload(lengths=str(path), num_requests=1)


def test_an_unknown_name_is_an_error_without_the_check_too() -> None:
    with pytest.raises(InputError, match="did you mean 'sharegpt'"):
        workload(lengths="sharegptt", num_requests=1)


def test_every_mistake_in_a_workload_file_is_a_problem_of_the_key_that_names_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "w.yaml").write_text("titel: x\nlengths: {prompt: 0, output: 5}\n")
    found = list(check_workload({"workload": {"lengths": "w.yaml"}}, tmp_path))
    assert {path for path, _ in found} == {("workload", "lengths")}
    text = "\n".join(message for _, message in found)
    assert "w.yaml:1:1: 'titel' is not a known key; did you mean 'title'?" in text
    assert "w.yaml:2:11: 'lengths.prompt' must be >= 1 (got 0)" in text
    assert "'provenance' is required" in text
