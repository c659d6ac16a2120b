"""The pages: whole, offline, in order, and every number is the summary's."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from wastesim.metrics import flat, summarize
from wastesim.records import Records
from wastesim.report.content import tables
from wastesim.report.counts import agreement
from wastesim.report.definitions import GROUPS, others
from wastesim.report.text import DASH

from .report_build import Built
from .report_runs import FACTS, edited, run

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Tags in order, with what was left open, ids, references and section headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.broken: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.headings: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("href", "src", "xlink:href") and value:
                self.references.append(value)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.broken.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def words(page: str) -> str:
    """What a reader sees: no style, no drawings, no tags, plain spaces."""
    text = re.sub(r"<(style|svg)\b.*?</\1>", "", page, flags=re.S)
    text = html.unescape(re.sub(r"<[^>]+>", "\n", text))
    return re.sub(r"[ \u00a0]+", " ", text)


def test_the_page_is_well_formed_and_in_the_readers_order(example: Built) -> None:
    outline = Outline(example.html)
    assert (outline.open, outline.broken) == ([], [])
    assert outline.headings == [
        "Pictures",
        "Numbers",
        "Explanations",
        "How to reproduce this",
        "What to change",
    ]


def test_the_page_fetches_nothing(example: Built) -> None:
    outline = Outline(example.html)
    assert "http" not in example.html
    assert "//" not in "".join(outline.references)
    assert all(ref.startswith(("#", "data:")) for ref in outline.references)
    assert "@import" not in example.html
    assert "<script" not in example.html


def test_ids_are_unique_and_references_resolve(example: Built) -> None:
    outline = Outline(example.html)
    assert len(set(outline.ids)) == len(outline.ids)
    inner = {ref[1:] for ref in outline.references if ref.startswith("#")}
    inner |= set(re.findall(r"url\(#([^)]+)\)", example.html))
    assert inner <= set(outline.ids)


def test_the_answer_comes_first_on_both_pages(example: Built) -> None:
    headline = "66.3 % of the KV memory that requests reserved was never written"
    assert words(example.html).index(headline) < words(example.html).index("Pictures")
    assert example.markdown.startswith(f"# {headline}: the 7 completed requests held 700 cells")


def test_every_number_of_the_summary_is_defined() -> None:
    assert [line.key for line in others(flat(summarize(run()))).lines] == []


def test_every_number_has_one_line_and_its_own_name_in_a_table() -> None:
    keys = [line.key for group in GROUPS for line in group.lines]
    assert len(set(keys)) == len(keys)
    for group in GROUPS:
        labels = [line.label for line in group.lines]
        assert len(set(labels)) == len(labels), group.title


def test_a_number_without_a_definition_is_shown_under_its_key(write: Any) -> None:
    records = run()
    table = tables({**summarize(records), "new": {"share": 0.25, "flag": True, "word": "x"}})[-1]
    assert [(row.label, row.value) for row in table.rows] == [("new.share", "0.25")]


def test_every_number_on_the_pages_is_the_summarys(example: Built) -> None:
    values = flat(example.summary)
    told = [
        group for group in GROUPS if any(values.get(line.key) is not None for line in group.lines)
    ]
    assert [group.title for group in GROUPS if group not in told] == ["A run too long to keep"]
    for line in (line for group in told for line in group.lines):
        shown = line.show(values.get(line.key))
        assert f"| {line.label} | {shown} |" in example.markdown
        row = rf"<td>{re.escape(line.label)}</td><td class=\"value\">{re.escape(shown)}</td>"
        assert re.search(row, html.unescape(example.html)), line.key


def test_markdown_refers_to_figures_relatively(example: Built) -> None:
    targets = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", example.markdown)
    assert len(targets) == 7
    assert all((example.folder / target).is_file() for target in targets)


def test_tables_in_markdown_have_equal_columns(example: Built) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", example.markdown, flags=re.M):
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_both_pages_say_how_to_reproduce_and_what_to_change(example: Built) -> None:
    for text in (words(example.html), example.markdown):
        assert "wastesim run example.yaml" in text
        assert "kv_cache_dtype: float16" in text
        assert "numpy 2.4" in text
        assert "paged allocation, block_size 16" in text
        assert "not simulations" in text


def test_explanations_counts_and_notes_are_told(example: Built) -> None:
    for text in (words(example.html), example.markdown):
        assert "capacity_cells = 350 because the test says so" in text
        assert "rows with no length: 2" in text
        assert "a note" in text
        assert "they agree to the cell" in text
        assert "they agree to the byte" in text


def test_rejected_requests_are_told_by_reason(write: Any) -> None:
    built = write(run(((10, 5), (90, 90), (80, 80))))
    assert "| rejected | 2 | too long: prompt + output > max_model_len 100 |" in built.markdown
    assert "too long: prompt + output > max_model_len 100" in words(built.html)


ODD: dict[str, Records] = {
    "empty": run(()),
    "one token": run(((3, 1),)),
    "all rejected": run(((90, 90), (300, 2))),
    "interrupted": run(ticks=9),
    "never ran": run(ticks=0),
    "nothing completed": run(((50, 40),), ticks=3),
    "with gaps": run(gap_s=0.3),
    "another policy": run(facts=edited(policy="paged", clock="measured")),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_runs_are_told_plainly(name: str, write: Any) -> None:
    built = write(ODD[name])
    for text in (words(built.html), built.markdown):
        assert not re.search(r"\b(nan|None|inf|NaN)\b", text)
        assert "figures were turned off" in text


@pytest.mark.parametrize("name", ["one token", "interrupted", "nothing completed"])
def test_odd_runs_can_be_drawn(name: str, write: Any) -> None:
    built = write(ODD[name], figures=True)
    assert built.warnings == []
    assert not re.search(r"\bnan\b", built.html)


def test_an_interrupted_run_says_so_before_all_else(write: Any) -> None:
    built = write(run(ticks=9))
    assert "This run was interrupted" in built.html.split("<h1>")[0]
    assert built.markdown.startswith("> **This run was interrupted")


def test_a_run_without_decode_says_so(write: Any) -> None:
    nothing = {"ledger": None, "arrays": None, "pages": None}
    off = {"engine": "none", "tokens": None, "wall_s": None}
    built = write(run(facts=edited(executed_model=None, decode=off, counted=nothing)))
    for text in (words(built.html), built.markdown):
        assert "accounted only, decode off" in text
        assert "Decode was off" in text
        assert "The real decode" not in text


def test_foreign_words_are_escaped(write: Any) -> None:
    facts = replace(FACTS, name="<script>alert(1)</script>", explanations=["a | b < c"])
    built = write(run(facts=facts), resolved="a: '</code><b>'\n")
    assert "<script" not in built.html
    assert "</code><b>" not in built.html


def test_nothing_known_of_the_experiment_is_no_error(write: Any) -> None:
    built = write(run(), resolved="", provenance={})
    assert "resolved.yaml" not in built.markdown
    assert "kv_cache_dtype" not in built.markdown


def test_counts_that_differ_are_not_hidden() -> None:
    told = agreement({"ledger": 10, "arrays": 12, "pages": None})
    assert "they differ by -2" in told[0]
    assert "were not counted" in told[1]


def test_undefined_is_a_dash(write: Any) -> None:
    built = write(run(((3, 1),)))
    assert f"| time per output token, median | {DASH} |" in built.markdown
