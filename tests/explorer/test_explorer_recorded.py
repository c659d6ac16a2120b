"""What the page is filled with: the ledger's numbers, box by box, and no more than it can carry."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.explorer.encode import decode, encode
from wastesim.explorer.growth import growth, steps_at, written_at
from wastesim.explorer.recorded import headline, recorded
from wastesim.explorer.spans import boxes, held_at
from wastesim.explorer.stretch import Drawn, complete, inside, stretch

from .runs import POLICIES, part


def test_columns_come_back_in_the_narrowest_type_that_holds_them() -> None:
    columns = {
        "small": np.array([0, 255]),
        "middle": np.array([256, 1]),
        "large": np.array([2**32 - 1]),
        "times": np.array([0.5, np.nan]),
        "none": np.array([], dtype=np.int64),
    }
    blob = encode(columns)
    assert {name: kind for name, kind, _ in blob.columns} == {
        "small": "u1", "middle": "u2", "large": "u4", "times": "f4", "none": "u1",
    }  # fmt: skip
    for name, values in decode(blob).items():
        np.testing.assert_array_equal(values, columns[name])


def test_every_column_begins_at_a_multiple_of_its_width() -> None:
    at = 0
    for _, kind, length in recorded([part("paged")])[1][0].columns:
        width = int(kind[1])
        assert at % width == 0
        at += width * length


@pytest.mark.parametrize("value", [-1, 2**32])
def test_what_no_type_holds_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match=str(value)):
        encode({"x": np.array([value])})


@pytest.mark.parametrize("policy", POLICIES)
def test_boxes_add_up_to_the_ledger_in_every_tick(policy: str) -> None:
    records = part(policy).records
    found, ticks = boxes(records), records.ticks
    end_s = float(ticks["t_s"][-1] + ticks["dt_s"][-1])
    assert complete(records, found) == (float(ticks["t_s"][0]), end_s)


@pytest.mark.parametrize("policy", POLICIES)
def test_padding_is_told_from_unused_as_the_ledger_does(policy: str) -> None:
    records = part(policy).records
    found = boxes(records)
    assert found.rule
    beyond = found.held.stop - found.held.start - found.claimed
    np.testing.assert_array_equal(
        held_at(found.held, beyond, records.ticks["t_s"]), records.ticks["padding"]
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_written_cells_of_the_boxes_are_the_ledger_s_step_by_step(policy: str) -> None:
    records = part(policy).records
    found, ticks = boxes(records), records.ticks
    grown = growth(records, found.held, found.request, found.offset)
    middles = ticks["t_s"] + ticks["dt_s"] / 2
    for at in range(0, len(middles), 37):
        then = (found.held.from_s <= middles[at]) & (found.held.to_s > middles[at])
        steps = float(steps_at(records, middles[at : at + 1])[0])
        assert written_at(found.held, grown, steps)[then].sum() == ticks["written"][at]


def test_a_run_with_preemptions_says_what_is_approximate() -> None:
    tree, _ = recorded([part("paged", memory="1 GiB")])
    assert part("paged", memory="1 GiB").records.requests["preemptions"].any()
    assert "paged: where requests were preempted" in " ".join(tree["notes"])
    assert recorded([part("paged")])[0]["notes"] == []


@pytest.mark.parametrize("policy", POLICIES)
def test_merging_boxes_loses_no_cell(policy: str) -> None:
    records = part(policy).records
    found, spans = boxes(records), records.spans
    held_s = (found.held.stop - found.held.start) * (found.held.to_s - found.held.from_s)
    spans_s = (spans["stop"] - spans["start"]) * (spans["to_s"] - spans["from_s"])
    assert held_s.sum() == pytest.approx(spans_s.sum())
    assert len(found.request) <= len(spans["start"])


def test_too_many_boxes_shorten_the_stretch_and_it_is_said() -> None:
    records = part("paged").records
    run = Drawn("paged", records, boxes(records))
    whole = stretch([run])
    short = stretch([run], most=500)
    assert not whole.partial
    assert not whole.notes
    assert short.partial
    assert int(inside(run.boxes, short.from_s, short.to_s).sum()) <= 500
    assert "more boxes than one page should carry" in " ".join(short.notes)


def test_spans_that_were_not_kept_are_noticed() -> None:
    records = part("paged").records
    few = {name: column[:100] for name, column in records.spans.items()}
    cut = type(records)(records.requests, records.ticks, few, records.facts)
    found = stretch([Drawn("paged", cut, boxes(cut))])
    assert found.holes == ["paged"] or found.partial


def test_shares_of_the_page_are_the_ledger_s() -> None:
    one = part("contiguous")
    tree, blobs = recorded([one])
    columns = decode(blobs[0])
    assert tree["runs"][0]["step_s"] is None
    np.testing.assert_array_equal(columns["tick.written"], one.records.ticks["written"])
    assert tree["runs"][0]["mean"] == one.summary["memory"]["shares_of_pool"]["time"]


def test_variants_share_one_stretch_of_time() -> None:
    tree, blobs = recorded([part("contiguous"), part("paged")])
    assert len(blobs) == 2
    ends = [p.records.ticks["t_s"][-1] + p.records.ticks["dt_s"][-1]
            for p in (part("contiguous"), part("paged"))]  # fmt: skip
    assert tree["to_s"] == max(ends)


def test_the_headline_names_the_comparison_and_not_one_of_its_variants() -> None:
    said = headline([part("contiguous"), part("paged")])
    assert said == "small: 2 variants on 60 requests, llama-3-8b on l4-24gb"
