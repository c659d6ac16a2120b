"""docs/cases.md is complete: every case has a line, and every line that names a test has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = {path.name: path for folder in ("cases", "workload")
         for path in (ROOT / "tests" / folder).glob("test_*cases*.py")}  # fmt: skip
ROW = re.compile(r"^\| ([VLTSR]\d\d) \| (.+) \| (.+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall((ROOT / "docs" / "cases.md").read_text(encoding="utf-8"))


def test_the_lines_are_those_of_the_collected_cases() -> None:
    path = ROOT.parent / "shared" / "cases" / "practitioner_cases.yaml"
    if not path.exists():
        pytest.skip("the practitioners' cases are not beside the checkout")
    collected = re.findall(r"^- id: (\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(collected) == sorted(case for case, _, _ in rows())


def test_there_are_95_lines_and_each_case_has_one() -> None:
    names = [case for case, _, _ in rows()]
    assert len(names) == len(set(names)) == 95


@pytest.mark.parametrize(("case", "what", "where"), rows())
def test_a_line_names_a_test_or_says_why_there_is_none(case: str, what: str, where: str) -> None:
    if where == "not a test":
        assert what.startswith("behaviour:")
    else:
        text = TESTS[where].read_text(encoding="utf-8")
        assert re.search(rf"def test_(?:\w+_)?{case.lower()}_", text)


def test_at_least_four_of_five_are_tests() -> None:
    tested = [case for case, _, where in rows() if where != "not a test"]
    assert len(tested) / 95 >= 0.8
