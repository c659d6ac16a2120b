"""What to change: each option, its cost, and the sentence that recommends one."""

from __future__ import annotations

from typing import Any

import pytest

from wastesim.metrics import summarize
from wastesim.records import Records
from wastesim.report.advice import Advice, advise
from wastesim.report.closed_forms import exact, paged, slots
from wastesim.report.lengths import asked
from wastesim.report.remedy import first_change, lines
from wastesim.report.text import DASH

from .report_runs import LENGTHS, edited, run


def advice(records: Records, element_bytes: int | None = 2) -> Advice:
    found = advise(records, element_bytes)
    assert found is not None
    return found


def by_kind(found: Advice, kind: str) -> list[Any]:
    return [option for option in found.options if option.kind == kind]


def test_now_is_the_exact_anchor_of_the_run() -> None:
    records = run()
    now = advice(records).now
    assert now.fit == 3
    assert now.written == pytest.approx(summarize(records)["memory"]["exact_anchor"]["step"])


def test_a_shorter_limit_rejects_what_is_longer() -> None:
    shorter = by_kind(advice(run()), "shorter")  # totals 15, 50, 6, 60, 63, 16, 33
    assert [(o.change, o.fit) for o in shorter] == [("max_model_len 64", 5)]
    assert shorter[0].rejected == 0


def test_rejected_counts_those_already_rejected() -> None:
    found = advice(run(((10, 5), (90, 90))))
    assert found.now.rejected == 0.5
    assert {o.rejected for o in found.options if o.kind != "paged"} == {0.5}


def test_what_no_pool_can_hold_is_rejected_now_and_served_by_what_can(toy: Any) -> None:
    """Of 90 cells no slot of 100 can be made, but there are six blocks of 16.

    The longest of the seven, 63 tokens, stores 62: a slot of 64 holds everybody.
    """
    records = toy([(0, p, o) for p, o in LENGTHS], cells=90, max_model_len=100).records
    found = advice(records)
    assert (found.now.fit, found.now.rejected, found.now.written) == (0, 1.0, None)
    (shorter,), (blocks,), (narrower,) = (
        by_kind(found, kind) for kind in ("shorter", "paged", "dtype")
    )
    assert (shorter.change, shorter.fit, shorter.rejected) == ("max_model_len 64", 1, 0.0)
    assert blocks.rejected == 0.0
    assert (narrower.fit, narrower.rejected) == (1, 0.0)  # 180 cells hold what 90 do not
    said = first_change(found, summarize(records))
    assert "(now 0)" in said
    assert "serves 100.0 % of these requests that are rejected now" in said


#: Beside those of the example one of 120 tokens, 20 more than the limit, and a prompt of 100.
TOO_LONG = (*LENGTHS, (30, 90), (100, 5))


def test_each_policy_serves_what_is_too_long_as_its_scheduler_does() -> None:
    """Slots and an oracle reject both; paged allocation serves one of them, cut at the limit."""
    records = run(TOO_LONG)
    found, lengths = advice(records), asked(records)
    (blocks,), (oracle,) = by_kind(found, "paged"), by_kind(found, "exact")
    assert found.now.rejected == oracle.rejected == 2 / 9
    assert blocks.rejected == 1 / 9
    assert blocks.fit == paged(lengths.cut_at(100), 350, 16).fit
    assert oracle.fit == exact(lengths.at_most(100), 350).fit
    assert blocks.fit < (paged(lengths.at_most(100), 350, 16).fit or 0)
    assert "outputs of 11.1 % of requests are cut at max_model_len" in blocks.caveat
    assert "cut" not in found.now.caveat + oracle.caveat


def test_the_runs_own_scheduler_counts_for_the_run_and_what_keeps_it() -> None:
    """Slots under vLLM's scheduler cut too, and cut more with a shorter limit."""
    records = run(TOO_LONG, facts=edited(scheduler="vllm"))
    found, cut = advice(records), asked(records).cut_at(100)
    assert found.now.written == slots(cut, 350, 100).written
    assert {o.rejected for o in (found.now, *found.options)} == {1 / 9}
    assert by_kind(found, "exact")[0].fit == exact(cut, 350).fit


def test_a_grown_run_is_compared_with_an_oracle_that_rejects() -> None:
    records = run(TOO_LONG, facts=edited(policy="realloc", scheduler="vllm"))
    found = advice(records)
    assert found.now.rejected == 2 / 9  # as the example's rows say
    (oracle,) = by_kind(found, "exact")
    assert oracle.rejected == 2 / 9
    assert oracle.fit == exact(asked(records).at_most(100), 350).fit


def test_a_stated_rule_replaces_every_schedulers() -> None:
    records = run(TOO_LONG)
    rejects, cuts = advise(records, 2, "reject"), advise(records, 2, "truncate")
    assert rejects is not None
    assert cuts is not None
    assert {option.rejected for option in rejects.options} == {2 / 9}
    assert {option.rejected for option in cuts.options} == {1 / 9}


def test_half_the_bytes_hold_twice_the_cells() -> None:
    (half,) = by_kind(advice(run()), "dtype")
    assert half.fit == 700 // 100
    assert half.written == advice(run()).now.written


def test_a_wide_cache_has_two_narrower_types_and_an_unknown_one_none() -> None:
    assert [o.fit for o in by_kind(advice(run(), 4), "dtype")] == [7, 14]
    assert by_kind(advice(run(), None), "dtype") == []
    assert by_kind(advice(run(), 1), "dtype") == []


def test_no_more_run_than_max_num_seqs() -> None:
    found = advice(run(facts=edited(max_num_seqs=4)))
    (paged,) = by_kind(found, "paged")
    assert paged.fit is not None
    assert paged.fit > 4
    assert paged.at_once == 4
    assert found.gain(paged) == 4 / 3
    line = next(line for line in lines(found) if line.change == paged.change)
    assert line.fit == f"{paged.fit}, 4 run (1.3 x)"


def test_memory_that_holds_more_than_may_run_says_so() -> None:
    records = run(facts=edited(max_num_seqs=2, ceiling=2))
    (seqs,) = by_kind(advice(records), "seqs")
    assert (seqs.change, seqs.at_once, advice(records).gain(seqs)) == ("max_num_seqs 3", 3, 1.5)
    sentence = first_change(advice(records), summarize(records))
    assert sentence.startswith("Change first: max_num_seqs 3.")
    assert "lets only 2 run" in sentence


def test_another_policy_is_taken_as_it_ran() -> None:
    records = run(facts=edited(policy="buddy"))
    found = advice(records)
    assert found.now.written == pytest.approx(
        summarize(records)["memory"]["written_over_reserved"]["step"]
    )
    assert found.now.fit == 3
    assert by_kind(found, "shorter") == []


def test_throughput_needs_a_roofline() -> None:
    assert advice(run()).now.tokens_per_s is not None
    assert advice(run(facts=edited(clock="fixed"))).now.tokens_per_s is None
    assert lines(advice(run(facts=edited(clock="fixed"))))[0].speed == DASH


def test_the_sentence_names_the_change_and_both_numbers() -> None:
    records = run(facts=edited(max_num_seqs=100))
    sentence = first_change(advice(records), summarize(records))
    (paged,) = by_kind(advice(records), "paged")
    assert sentence.startswith("Change first: paged allocation, block_size 16.")
    assert f"memory holds {paged.fit} requests at once (now 3)" in sentence
    assert "max_model_len 64 holds 5 at once and rejects none of them" in sentence


def test_a_run_that_never_waited_gains_memory() -> None:
    records = run(gap_s=1.0)
    assert "memory, not speed" in first_change(advice(records), summarize(records))


def test_nothing_served_has_no_advice() -> None:
    records = run(((90, 90),))
    assert advise(records, 2) is None
    assert first_change(None, summarize(records)) == ""
    assert lines(None) == []
