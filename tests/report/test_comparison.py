"""The report of a comparison, made from records and summaries alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wastesim.metrics import summarize
from wastesim.records import SHARES, Records
from wastesim.report.comparison import write_comparison
from wastesim.report.comparison_answer import headline, speed
from wastesim.report.comparison_causes import cause
from wastesim.report.comparison_parts import Part, columns
from wastesim.report.figures.comparison_blocks import points
from wastesim.report.figures.comparison_maps import FREE, FUTURE, NEVER, WRITTEN, moment

from .report_runs import run

RESOLVED = "name: pair\nstudy: comparison\ncompare:\n  one: {server: {policy: x}}\n  two: {}\n"


def part(name: str, records: Records) -> Part:
    return Part(name, records, summarize(records))


def changed(name: str, **shares: float | None) -> Part:
    """The example with other shares of the pool."""
    made = part(name, run())
    made.summary["memory"]["shares_of_pool"]["step"].update(shares)
    return made


def write(folder: Path, parts: list[Part], **more: Any) -> tuple[str, str]:
    words = {"missing": (), "resolved": RESOLVED, "provenance": {"command": "wastesim run p.yaml"}}
    assert write_comparison(parts, folder, figures=True, **{**words, **more}) == []
    return (folder / "report.html").read_text(), (folder / "report.md").read_text()


def test_the_page_begins_with_its_answer_and_has_one_table(tmp_path: Path) -> None:
    parts = [changed("one", written=0.2), changed("two", written=0.9)]
    html, markdown = write(tmp_path, parts)
    assert "two fills 90.0" in re.sub("\u00a0", " ", html.split("<h1>")[1].split("</h1>")[0])
    assert markdown.startswith("# two fills 90.0 % of the KV pool with written tokens and one 20.0")
    assert html.count('<table class="compare">') == 1
    assert html.count("<tr><td><a href=") == 2
    assert "wastesim run p.yaml" in html
    assert "server.policy: x" in html


def tied(waiting: int, kept: float = 0.5) -> list[Part]:
    """Three that fill the pool alike, of which the last reserves least, and one that does not."""
    parts = [changed(name, written=0.4) for name in "abc"] + [changed("d", written=0.1)]
    for each in parts:
        each.summary["concurrency"]["waiting_peak"] = waiting
        each.summary["memory"]["written_over_reserved"]["step"] = 0.5
        each.summary["throughput"]["output_tokens_per_s"] = 100.0
    parts[2].summary["memory"]["written_over_reserved"]["step"] = kept
    parts[3].summary["throughput"]["output_tokens_per_s"] = 50.0
    return parts


def test_those_that_are_equal_are_told_together() -> None:
    """Nobody wins because it was named first."""
    parts = tied(waiting=3, kept=0.9)
    said = headline(parts).replace("\u00a0", " ")
    assert said.startswith("a, b and c fill 40.0 % of the KV pool with written tokens and d 10.0 %")
    assert said.endswith("Of what c reserves 90.0 % is written, of a's 50.0 %.")
    assert speed(parts).startswith("a, b and c make 100 output tokens/s, 2.00 times as many as d")
    more = [*parts, changed("e", written=0.4)]
    assert headline(more).startswith("4 of 5 variants fill 40.0")


def test_a_load_that_tells_nobody_apart_is_told() -> None:
    assert headline(tied(waiting=0)).endswith("Nobody waited with them: more load would tell them"
                                              " apart.")  # fmt: skip
    assert "Nobody waited" not in headline(tied(waiting=1))


def test_the_page_fetches_nothing(tmp_path: Path) -> None:
    html, _ = write(tmp_path, [changed("one"), changed("two")])
    links = re.findall(r'(?:src|href)="([^"#][^"]*)"', html)
    links = [link for link in links if not link.startswith("data:")]
    assert set(links) == {"variants/one/report.html", "variants/two/report.html"}


def test_missing_variants_are_said_first(tmp_path: Path) -> None:
    html, markdown = write(tmp_path, [changed("one")], missing=("two", "three"))
    assert html.index("two, three did not") < html.index("<h1>")
    assert markdown.startswith("> **This comparison was interrupted: 1 variant finished")


def test_a_comparison_without_a_finished_variant_still_has_a_page(tmp_path: Path) -> None:
    html, _ = write(tmp_path, [], missing=("one",))
    assert "Nothing ran in any variant." in html


def test_the_first_columns_of_the_csv() -> None:
    row = columns(changed("one"))
    assert list(row)[:6] == ["policy", "written", "future", "unused", "other", "running_mean"]
    assert row["other"] == pytest.approx(row["padding"] + row["stranded"] + row["idle"])
    assert sum(row[key] for key in list(row)[1:5]) == pytest.approx(100)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"unused": 5.0}, "unused: lengths over-estimated, 500.0 % of the pool"),
        ({"future": 5.0}, "future: held for tokens still to come"),
        ({"padding": 5.0}, "padding: requests rounded up"),
        ({"stranded": 5.0}, "stranded: "),
        ({"idle": 5.0}, "idle: free"),
        ({"written": 0.97}, "little is lost; most of it "),
    ],
)
def test_the_dominant_cause_in_words(shares: dict[str, float], words: str) -> None:
    assert cause(changed("one", **shares)).startswith(words)


def test_a_variant_in_which_nothing_ran_says_why() -> None:
    refused = changed("one", **dict.fromkeys(SHARES))
    refused.summary["requests"] |= {"submitted": 20, "rejected": 20}
    assert cause(refused) == "nothing ran: all 20 requests were rejected"
    refused.summary["requests"] |= {"rejected": 3}
    assert cause(refused) == "nothing ran: none of 20 requests was admitted"


def test_free_memory_in_pieces_is_cut_up() -> None:
    records = run()
    ticks = {**records.ticks, "stranded": records.ticks["idle"] * 0 + 10}
    for largest, words in ((2, "too cut up"), (9, "too little free memory")):
        cut = replace(records, ticks={**ticks, "largest_free": ticks["stranded"] * 0 + largest})
        found = Part("one", cut, changed("one", stranded=5.0).summary)
        assert words in cause(found)


def test_pools_of_different_sizes_are_compared_by_size() -> None:
    small = changed("small")
    large = part("large", replace(small.records, facts=replace(small.records.facts)))
    large.records.facts.capacity_cells *= 2
    assert headline([small, large]).startswith("The KV pool holds ")


def test_the_map_shows_a_moment_whose_spans_are_all_known() -> None:
    records = run()
    found = moment(records)
    assert found is not None
    assert found.running == records.ticks["running"].max()
    assert len(found.cells) == records.facts.capacity_cells
    held = records.facts.capacity_cells - int((found.cells == FREE).sum())
    at = int((records.ticks["t_s"] <= found.at_s).sum()) - 1
    reserved = sum(int(records.ticks[n][at]) for n in ("written", "future", "unused", "padding"))
    assert held == reserved
    assert set(found.cells.tolist()) <= {WRITTEN, FUTURE, NEVER, FREE}


def test_a_map_without_spans_is_not_drawn() -> None:
    records = run()
    none = {name: column[:0] for name, column in records.spans.items()}
    assert moment(replace(records, spans=none)) is None


def test_block_sizes_are_only_drawn_when_nothing_else_differs() -> None:
    parts = [changed("a"), changed("b")]
    sizes = {"a": {"server": {"block_size": 4}}, "b": {"server": {"block_size": 8}}}
    found = points(parts, sizes)
    assert found is not None
    assert found.sizes == [4, 8]
    assert points(parts, {**sizes, "b": {"server": {"block_size": 8, "watermark": 0.1}}}) is None
    assert points(parts, {}) is None
