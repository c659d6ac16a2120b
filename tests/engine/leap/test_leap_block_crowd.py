"""Who comes in when, and what it takes, by hand."""

from __future__ import annotations

import numpy as np

from wastesim.engine.leap.block_crowd import Comers, Everybody, blocks_held, gather, with_comers
from wastesim.engine.leap.job import Entry


def waiting(*lengths: tuple[int, int]) -> list[Entry]:
    return [(i, 0.0, prompt, outputs, 0, 99, None) for i, (prompt, outputs) in enumerate(lengths)]


def three_come() -> Comers:
    """Two places and five tokens a tick.

    tick 0: request 0 stores its 2 prompt tokens, request 1 the first 3 of its 9; tick 1: request 0
    decodes its second and last token, which leaves 4 of the budget for request 1; tick 2: request
    1 stores the last 2, and request 2, in the place of request 0, its 3.
    """
    return gather(waiting((2, 2), (9, 4), (3, 9), (1, 1)), [0, 0], 2, 5)


def test_a_budget_cuts_prompts_and_gives_the_rest_to_the_next_tick() -> None:
    comers = three_come()
    assert comers.start.tolist() == [0, 0, 2]
    assert comers.sampled.tolist() == [0, 2, 2]
    assert comers.end.tolist() == [1, 5, 10]
    assert [column.tolist() for column in comers.cut] == [
        [1, 1, 1], [0, 1, 2], [0, 3, 7], [3, 4, 2],
    ]  # fmt: skip
    assert comers.ticks == 6  # in tick 6 the fourth takes request 1's place


def test_a_crowd_ends_where_no_prompt_is_begun_and_not_done() -> None:
    comers = three_come()
    assert [comers.until(ticks).ticks for ticks in range(8)] == [0, 0, 0, 3, 4, 5, 6, 6]
    assert [len(comers.until(ticks).entries) for ticks in (2, 3)] == [0, 3]


def test_blocks_come_with_prompts_and_when_the_last_one_is_full() -> None:
    """Blocks of 4 cells; one request runs, has 3 tokens stored, and ends with 5 in tick 1.

    It has one block, and takes another in tick 1, with 3 cells of padding.
    tick 0: 1 + 1 (request 0) + 1 (request 1's 3 tokens); tick 1: + 1 of who ran, + 1 of request
    1's 7 tokens, while request 0 stores 3; tick 2: - 2 - 1 given back, + 1 for request 1's 9 and
    1 for request 2's 3; tick 4: request 2 stores its fifth.
    """
    none_yet = np.zeros(1, dtype=np.int64)
    runs = Everybody(none_yet, none_yet + 1, none_yet + 5, none_yet + 3, none_yet + 1)
    comers = three_come()
    everybody = with_comers(runs, comers, 4)
    assert blocks_held(1, everybody, comers, 4).tolist() == [3, 5, 4, 4, 5, 5]
    assert everybody.final.tolist() == [5, 3, 12, 11]
    assert everybody.pad.tolist() == [3, 1, 0, 1]
    assert everybody.pad_tick[[0, 1, 3]].tolist() == [1, 0, 8]
