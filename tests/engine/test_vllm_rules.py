"""The rules of vLLM's scheduler, each by hand on a toy server: one tick is one second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

#: Blocks of one cell: memory is counted in tokens.
TOKEN = {"policy": "token", "scheduler": "vllm"}


def paged(block: int, **options: Any) -> dict[str, Any]:
    return {"policy": "paged", "block_size": block, **options}


def ticks(result, *names: str) -> list[tuple]:
    columns = [result.records.ticks[name].tolist() for name in names]
    return list(zip(*columns, strict=True))


def requests(result, *names: str) -> list[tuple]:
    columns = [result.records.requests[name].tolist() for name in names]
    return list(zip(*columns, strict=True))


def test_a_prompt_goes_in_chunks_behind_the_decodes(toy) -> None:
    """Budget 5: A's 3 and 2 of B; then A's next token and the 4 that B has left."""
    server = {**TOKEN, "max_num_batched_tokens": 5}
    result = toy([(0, 3, 4), (0, 6, 2)], cells=50, max_model_len=20, server=server)
    assert ticks(result, "prefill_tokens", "decode_tokens") == [(5, 0), (4, 1), (0, 2), (0, 1)]
    assert requests(result, "first_token_tick", "finished_tick") == [(0, 3), (1, 2)]


def test_without_chunks_a_prompt_waits_for_a_step_that_takes_it_whole(toy) -> None:
    server = {**TOKEN, "max_num_batched_tokens": 5, "enable_chunked_prefill": False}
    result = toy([(0, 3, 2), (0, 4, 1)], cells=50, max_model_len=20, server=server)
    assert ticks(result, "prefill_tokens", "decode_tokens", "stranded") == [(3, 0, 0), (4, 1, 0)]


def test_long_prefills_go_in_pieces_unless_there_is_only_one_request(toy) -> None:
    server = {**TOKEN, "long_prefill_token_threshold": 2}
    alone = toy([(0, 5, 1)], cells=50, max_model_len=20, server=server)
    assert ticks(alone, "prefill_tokens") == [(5,)]
    both = toy([(0, 5, 1), (0, 1, 3)], cells=50, max_model_len=20, server=server)
    assert ticks(both, "prefill_tokens", "decode_tokens") == [(3, 0), (2, 1), (1, 1)]


def test_the_newest_is_preempted_and_comes_back_first_computing_all_it_knows(toy) -> None:
    """8 cells, two requests of 3 + 5: at t = 2 both are at 4 and the first needs a fifth."""
    result = toy([(0, 3, 5), (0, 3, 5), (0, 1, 1)], cells=8, max_model_len=8, server={
        **TOKEN, "max_num_seqs": 2})  # fmt: skip
    assert ticks(result, "running", "waiting", "written", "preempted", "stranded") == [
        (2, 1, 6, 0, 0),
        (2, 1, 8, 0, 0),
        (1, 2, 5, 1, 3),
        (1, 2, 6, 0, 2),
        (1, 2, 7, 0, 1),
        (2, 0, 6, 0, 0),
        (1, 0, 6, 0, 0),
        (1, 0, 7, 0, 0),
    ]
    names = ("preemptions", "scheduled_tokens", "finished_s")
    assert requests(result, *names) == [(0, 7, 5.0), (1, 3 + 1 + 5 + 1 + 1, 8.0), (0, 1, 6.0)]


def test_a_request_that_is_last_preempts_itself(toy) -> None:
    """Two blocks of 4: the second request needs a second block and is the newest itself."""
    result = toy([(0, 1, 4), (0, 4, 3)], cells=8, max_model_len=8, server=paged(4))
    assert ticks(result, "running", "preempted", "prefill_tokens", "decode_tokens") == [
        (2, 0, 5, 0), (1, 1, 0, 1), (1, 0, 0, 1), (1, 0, 0, 1), (1, 0, 5, 0), (1, 0, 0, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("watermark", "admitted"), [(0.1, 0.0), (0.2, 1.0)])
def test_the_watermark_counts_only_while_somebody_runs(toy, watermark, admitted) -> None:
    """10 cells, 3 taken: 6 and a watermark of 1 fit, 6 and 2 do not. Alone, 10 fit."""
    server = {**TOKEN, "watermark": watermark}
    result = toy([(0, 3, 1), (0, 6, 1)], cells=10, max_model_len=12, server=server)
    assert requests(result, "admitted_s") == [(0.0,), (admitted,)]
    whole = toy([(0, 10, 1)], cells=10, max_model_len=12, server=server)
    assert requests(whole, "status") == [("completed",)]


@pytest.mark.parametrize(("reserve", "admitted"), [(True, 2.0), (False, 0.0)])
def test_the_full_prompt_gate_wants_room_for_more_than_the_first_chunk(
    toy, reserve, admitted
) -> None:
    server = {**TOKEN, "max_num_batched_tokens": 4, "scheduler_reserve_full_isl": reserve}
    result = toy([(0, 3, 2), (0, 8, 1)], cells=10, max_model_len=12, server=server)
    assert requests(result, "admitted_s") == [(0.0,), (admitted,)]


def test_the_number_of_requests_is_limited_without_stranding_memory(toy) -> None:
    server = {**TOKEN, "max_num_seqs": 1}
    result = toy([(0, 1, 2), (0, 1, 1)], cells=10, max_model_len=4, server=server)
    assert ticks(result, "running", "waiting", "stranded") == [(1, 1, 0), (1, 1, 0), (1, 0, 0)]


def test_a_request_is_cut_at_the_limit_and_a_prompt_of_the_limit_rejected(toy) -> None:
    result = toy([(0, 3, 50), (0, 8, 1)], cells=20, max_model_len=8, server=TOKEN)
    names = ("status", "output_tokens", "truncated_tokens", "stored_tokens")
    assert requests(result, *names) == [("completed", 5, 45, 7), ("rejected", 1, 0, 0)]


def test_asynchronous_scheduling_keeps_the_finished_for_one_more_step(toy) -> None:
    server = {**TOKEN, "async_scheduling": True}
    result = toy([(0, 2, 2)], cells=20, max_model_len=8, server=server)
    assert ticks(result, "scheduled", "running", "written", "finished", "reserved_end") == [
        (1, 1, 2, 0, 2), (1, 1, 3, 0, 3), (0, 1, 3, 1, 0),
    ]  # fmt: skip
    assert requests(result, "first_token_tick", "finished_tick") == [(0, 1)]


def test_a_request_that_can_never_fit_is_refused_with_both_numbers(toy) -> None:
    result = toy([(0, 2, 10), (0, 2, 3)], cells=4, max_model_len=16, server=TOKEN)
    assert requests(result, "status") == [("rejected",), ("completed",)]
    assert result.summary["requests"]["reasons"]["rejected"] == {
        "never fits: needs 11 cells, an empty pool can give 4": 1
    }


def test_let_in_all_the_same_it_blocks_the_head_and_the_run_says_why(toy) -> None:
    """It fills 4 cells, preempts the other and itself, and then needs 5 to come back."""
    result = toy([(0, 2, 10), (0, 2, 3)], cells=4, max_model_len=16, server={
        **TOKEN, "refuse_impossible": False})  # fmt: skip
    assert requests(result, "status", "preemptions") == [("unfinished", 1), ("unfinished", 1)]
    assert result.records.facts.stopped_because == (
        "nothing runs, and request 0 at the head of the queue can never be served: refused for"
        " memory, it needs 11 cells in the end and an empty pool can give 4"
    )


def test_what_admits_and_preempts_itself_for_ever_is_stopped(toy) -> None:
    """Without the full-prompt gate its first chunk always fits, its last one never does."""
    result = toy([(0, 6, 2), (0, 1, 1)], cells=4, max_model_len=16, server={
        **TOKEN, "refuse_impossible": False, "scheduler_reserve_full_isl": False,
        "max_num_batched_tokens": 2})  # fmt: skip
    assert requests(result, "status") == [("unfinished",), ("unfinished",)]
    assert result.records.requests["preemptions"][0] > 1000
    assert "request 0 at the head of the queue can never be served" in (
        result.records.facts.stopped_because
    )


def test_a_copy_that_needs_more_than_is_free_beside_it_starts_anew(toy) -> None:
    """16 of 47 cells, then 32: both do not fit, so the only request is preempted and comes back."""
    buffers = {"claim": "doubling", "place": "first_fit", "start_tokens": 16}
    result = toy([(0, 10, 20)], cells=47, max_model_len=32, server={"policy": buffers})
    assert requests(result, "status", "preemptions", "scheduled_tokens") == [
        ("completed", 1, 10 + 6 + 17 + 12)
    ]


def test_preempted_requests_that_end_waiting_hold_nothing(toy) -> None:
    server = {**TOKEN, "refuse_impossible": False}
    result = toy([(0, 2, 10)], cells=4, max_model_len=16, server=server)
    assert requests(result, "stored_tokens", "reserved_cells") == [(0, 0)]


def test_a_single_window_frees_what_it_no_longer_sees(toy) -> None:
    """Blocks of 2, window 3: the block with tokens 0 and 1 goes when 4 tokens are computed."""
    result = toy([(0, 4, 6)], cells=20, max_model_len=12, server=paged(2, kv_groups=[3]))
    assert ticks(result, "written", "reserved_end")[:5] == [(4, 4), (3, 4), (4, 4), (3, 4), (4, 4)]
    spans = result.records.spans
    times = list(zip(spans["start"].tolist(), spans["from_s"].tolist(), spans["to_s"].tolist(),
                     strict=True))  # fmt: skip
    assert times[:2] == [(0, 0.0, 1.0), (2, 0.0, 3.0)]
    lives = spans["to_s"] - spans["from_s"]
    assert (
        int(np.round(lives @ (spans["stop"] - spans["start"])))
        == sum(held for (held,) in ticks(result, "reserved_end")[:-1]) + 4
    )
