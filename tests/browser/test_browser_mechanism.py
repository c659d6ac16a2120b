"""The mechanism and the questions: every control does what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wastesim.explorer.mechanism import PROMPT, REPLY, step, total
from wastesim.explorer.questions import questions
from wastesim.report.comparison_parts import Part

from .chromium import Browser

pytestmark = pytest.mark.browser
Opened = Callable[..., Browser]
LAST = len(REPLY) - 1


def table(browser: Browser) -> list[list[int]]:
    """Work with a cache, and without: this step and so far, computed and looked at."""
    found: list[list[int]] = browser.js(
        "['c', 'n'].map((l) => [1, 2, 3, 4].map((n) =>"
        " Number(document.getElementById(`w-${l}${n}`).textContent.replaceAll(',', ''))))"
    )
    return found


def fates(browser: Browser) -> list[str]:
    found: list[str] = browser.js(
        "[...document.querySelectorAll('[data-fate]')].map((e) => e.dataset.fate)"
    )
    return found


def at(browser: Browser) -> int:
    return int(browser.js("wastesim.state.step"))


def test_the_work_of_every_step_is_python_s(opened: Opened) -> None:
    browser = opened("panel=mechanism")
    for number in range(LAST + 1):
        for line, cached in zip(table(browser), (True, False), strict=True):
            one = step(len(PROMPT), number, cached=cached)
            whole = total(len(PROMPT), number, cached=cached)
            assert line == [one.computed, whole.computed, one.looked_at, whole.looked_at]
        if number < LAST:
            browser.click("#m-step")
    assert browser.js("document.getElementById('m-step').disabled")


def test_cached_columns_are_kept_and_the_new_one_stands_out(opened: Opened) -> None:
    browser = opened("panel=mechanism&step=3")
    tokens = len(PROMPT) + 3
    assert fates(browser)[:tokens] == ["kept"] * (tokens - 1) + ["new"]
    browser.click("#m-without")
    assert fates(browser)[:tokens] == ["again"] * (tokens - 1) + ["new"]
    assert "computed again" in browser.js("document.getElementById('m-said').textContent")
    browser.click("#m-with")
    assert "kept" in fates(browser)


def test_buttons_step_back_and_start_over(opened: Opened) -> None:
    browser = opened("panel=mechanism&step=4")
    browser.click("#m-back")
    assert at(browser) == 3
    browser.click("#m-first")
    assert at(browser) == 0
    assert browser.js("document.getElementById('m-back').disabled")


def test_play_steps_to_the_end_and_stops(opened: Opened) -> None:
    browser = opened(f"panel=mechanism&step={LAST - 1}")
    browser.click("#m-play")
    assert browser.js("document.getElementById('m-play').getAttribute('aria-pressed')") == "true"
    browser.wait("document.getElementById('m-play').textContent === 'Play'")
    assert at(browser) == LAST


def test_keys_step_and_take_the_cache_away(opened: Opened) -> None:
    browser = opened("panel=mechanism")
    browser.js("document.getElementById('mechanism').focus()")
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "c"):
        browser.key(key)
    assert (at(browser), browser.js("wastesim.state.cache")) == (1, "0")
    browser.key("End")
    assert at(browser) == LAST
    browser.key("Home")
    assert at(browser) == 0


def test_every_right_answer_counts_and_is_explained(opened: Opened, one: Part) -> None:
    browser, asked = opened("panel=quiz"), questions([one])
    for number, question in enumerate(asked):
        browser.click(f".question:nth-child({number + 1}) [data-option='{question['answer']}']")
        why = browser.js(f"document.querySelectorAll('.why')[{number}].textContent")
        assert why.startswith(f"Right. {question['why']}")
    score = browser.js("document.getElementById('q-score').textContent")
    assert score.replace("\u00a0", " ").startswith(f"{len(asked)} of {len(asked)} right, 0 to go")
    browser.wait("location.hash.includes('answers=')")


def test_a_wrong_answer_is_corrected(opened: Opened, one: Part) -> None:
    browser, question = opened("panel=quiz"), questions([one])[0]
    wrong = (question["answer"] + 1) % len(question["options"])
    browser.click(f".question [data-option='{wrong}']")
    why = browser.js("document.querySelector('.why').textContent")
    assert why.startswith(f"Not quite: {question['options'][question['answer']]}.")


def test_a_question_leads_to_the_panel_that_shows_it_and_keeps_its_answers(opened: Opened) -> None:
    browser = opened("panel=quiz&answers=-2-0")
    browser.click(".question:nth-child(3) .why a")
    assert browser.js("wastesim.state.panel") == "bill"
    assert browser.js("document.getElementById('bill').hidden") is False
    assert browser.js("wastesim.state.answers") == "-2-0"
