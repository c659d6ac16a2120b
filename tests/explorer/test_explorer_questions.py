"""Check yourself: at least six questions, and every number is one that was computed."""

from __future__ import annotations

import pytest

from wastesim.explore import example_parts, measured
from wastesim.explorer.questions import example, questions, stopped_early

from .runs import part


def test_there_are_at_least_six_each_with_one_right_answer_and_a_number() -> None:
    asked = questions([])
    assert len(asked) >= 6
    for question in asked:
        assert 0 <= question["answer"] < len(question["options"])
        assert len(set(question["options"])) == len(question["options"]) >= 2
        assert any(letter.isdigit() for letter in question["why"])


def test_the_first_option_is_not_always_the_right_one() -> None:
    assert len({question["answer"] for question in questions([])}) >= 3


def test_a_run_adds_a_question_about_itself() -> None:
    one = part("contiguous")
    lost = 1 - one.summary["memory"]["written_over_reserved"]["at_finish"]
    first = questions([one])[0]
    assert first["options"][first["answer"]] == f"about {round(100 * lost)} %"


def test_a_comparison_adds_one_about_its_variants() -> None:
    first = questions([part("contiguous"), part("paged")])[0]
    assert first["options"][first["answer"]] == "paged"


def test_a_cache_that_stops_after_forty_tokens_is_the_chapter_s() -> None:
    assert stopped_early() == pytest.approx(0.995, abs=2e-4)


def test_the_example_s_numbers_are_those_of_its_simulation() -> None:
    found = measured(example_parts())
    assert list(found) == list(example())
    for policy, numbers in example().items():
        assert found[policy] == pytest.approx(numbers), "python -m wastesim.explore --measure"
