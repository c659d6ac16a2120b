"""The answer in words, in every outcome that a run can have."""

from __future__ import annotations

from wastesim.metrics import summarize
from wastesim.records import Records
from wastesim.report.answer import Answer, answer, reserved_shares

from .report_runs import edited, run


def of(records: Records) -> Answer:
    return answer(records, summarize(records))


def test_the_first_sentence_has_share_and_denominator() -> None:
    assert of(run()).headline == (
        "66.3 % of the KV memory that requests reserved was never written: the 7 completed requests"
        " held 700 cells at the end and had written 236 of them."
    )


def test_the_cause_is_the_largest_loss() -> None:
    assert of(run()).cause.startswith("The main cause is unused: lengths were over-estimated")


def test_rounding_can_be_the_cause() -> None:
    records = run()
    ticks = records.ticks
    ticks["padding"], ticks["unused"] = ticks["unused"], ticks["padding"]
    assert of(records).cause.startswith("The main cause is padding: requests were rounded up")


def test_without_a_loss_the_cause_is_what_comes_later() -> None:
    records = run()
    records.ticks["unused"][:] = 0
    assert of(records).cause.startswith("The main cause is future")


def test_shares_of_what_was_reserved_are_whole() -> None:
    shares = reserved_shares(run())
    assert shares is not None
    assert abs(sum(shares.values()) - 1) < 1e-12
    assert reserved_shares(run(())) is None


def test_idle_is_not_said_to_be_unwanted_while_requests_wait() -> None:
    records = run()
    assert "free with nobody waiting for it (idle)" in of(records).pool
    stranded = records.ticks["stranded"]
    records.ticks["idle"], records.ticks["stranded"] = (
        records.ticks["idle"] + stranded,
        0 * stranded,
    )
    crowded = of(records).pool
    assert "nobody waiting for it" not in crowded
    assert "something else than memory held up the first in the queue (idle)" in crowded


def test_a_reached_ceiling_says_how_long_and_why() -> None:
    assert "was reached, for 46.2 % of the time" in of(run()).ceiling
    assert "memory: 350 cells hold 3 slots of 100" in of(run()).ceiling


def test_memory_can_run_out_below_the_ceiling() -> None:
    records = run(facts=edited(ceiling=3))
    records.facts.ceiling = 8
    assert "was not reached: memory held at most 3 of these" in of(records).ceiling


def test_a_small_loss_is_called_small() -> None:
    records = run(((50, 49),))
    assert of(records).cause.startswith("Little is lost; what is lost is unused")


def test_a_ceiling_out_of_reach_says_so() -> None:
    assert "was not reached (peak 1) and nobody waited" in of(run(((3, 1),))).ceiling


def test_one_request_is_no_plural() -> None:
    assert "the only completed request held 100 cells" in of(run(((3, 1),))).headline


def test_an_interrupted_run_says_so_first() -> None:
    found = of(run(ticks=9))
    assert found.sentences[0] == (
        "This run was interrupted (stopped before all requests were served): 5 requests did not"
        " finish, and every number is of what ran."
    )


def test_a_measured_window_says_so_first() -> None:
    records = run(facts=edited(window={"begin_s": 0.01, "end_s": 250.0}))
    assert of(records).sentences[0] == ("Only a part of the run was measured, from 10 ms to 250 s.")


def test_nothing_completed_falls_back_to_time() -> None:
    headline = of(run(((50, 40),), ticks=3)).headline
    assert headline == (
        "49.0 % of the KV memory that requests reserved held nothing: an average over time, as no"
        " request completed."
    )


def test_nothing_reserved_says_why() -> None:
    nothing = "No KV memory was ever reserved: "
    assert of(run(())).headline == nothing + "no request arrived."
    assert of(run(((90, 90),))).headline == nothing + "the only request was rejected."
    assert of(run(((90, 90), (99, 9)))).headline == nothing + "all 2 requests were rejected."
    assert of(run(ticks=0)).headline == nothing + "none of 7 requests was admitted."


def test_the_ceiling_of_a_run_without_time_was_not_tested() -> None:
    assert "was not tested" in of(run(())).ceiling


def test_a_limit_can_be_the_reason() -> None:
    facts = edited(ceiling=2, ceiling_reason="max_num_seqs: 2 (memory would hold 3)")
    assert "what sets it is max_num_seqs: 2" in of(run(facts=facts)).ceiling
