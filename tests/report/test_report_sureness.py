"""How sure the numbers are is told where people look: both pages and the terminal."""

from __future__ import annotations

import html
from typing import Any

import pytest

from wastesim.metrics import flat
from wastesim.report import print_summary
from wastesim.report.definitions import others
from wastesim.report.sureness import interval_rows, sureness

from .report_build import Built
from .report_runs import run

#: Three slots, replies of 20 ticks of 0.01 s: 15 requests a second are served.
SERVED_PER_S = 15


def loaded(write: Any, rate: float) -> Built:
    """300 equal requests at that rate."""
    built: Built = write(run(((10, 20),) * 300, gap_s=1 / rate))
    return built


def test_a_saturated_run_says_so_on_every_page(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    built = loaded(write, 2 * SERVED_PER_S)
    print_summary(built.summary, built.records, built.folder)
    terminal = capsys.readouterr().out
    for text in (html.unescape(built.html), built.markdown, terminal):
        assert "The server is saturated: " in text
        assert "requests/s come and " in text
        assert "with the length of the run" in text
    told = "| does it keep up | saturated |"
    assert told in built.markdown
    assert built.markdown.index("The server is saturated") < built.markdown.index("## Pictures")


def test_the_terminal_has_one_line_of_it(write: Any) -> None:
    found = sureness(loaded(write, 2 * SERVED_PER_S).summary)
    assert found.line.count("\n") == 0
    assert "Beware: " in found.line
    assert "more requests come" not in found.line.partition("Beware")[2]  # what is before a colon
    assert any("more requests come" in text for text in found.warnings)


def test_the_table_says_why_a_number_has_no_interval(write: Any) -> None:
    built = loaded(write, 2 * SERVED_PER_S)
    why = "saturated: it grows for as long as requests come"
    assert f"(no interval) | {why} |" in built.markdown


def test_intervals_are_told_with_the_words_of_their_numbers(write: Any) -> None:
    built = loaded(write, SERVED_PER_S / 2)
    rows = {label: value for label, value, _ in interval_rows(built.summary)}
    assert rows["running, over time"].startswith("1.5 (1.")
    assert f"running, over time {rows['running, over time']}" in sureness(built.summary).intervals
    assert "The server keeps up: " in built.markdown


def test_a_run_at_once_and_a_summary_without_statistics(example: Built) -> None:
    found = sureness(example.summary)
    assert found.verdict.startswith("All requests come at once")
    assert found.intervals == ""
    assert sureness({}) == ("", [], "")


def test_the_statistics_have_words_too(write: Any) -> None:
    values = flat(loaded(write, SERVED_PER_S / 2).summary)
    assert [line.key for line in others(values).lines] == []
