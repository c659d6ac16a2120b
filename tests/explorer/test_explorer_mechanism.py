"""The mechanism: what the page counts is what the NumPy transformer does."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

from wastesim.decode import decode_model, generate_cached, weights_of
from wastesim.decode.generating import cached, uncached
from wastesim.explorer import mechanism
from wastesim.explorer.mechanism import MAX_SEQ, MODEL, PROMPT, REPLY, mechanism_tree, step, total

WEIGHTS = weights_of(decode_model(MODEL))
IDS = [crc32(word.encode()) % WEIGHTS.model.vocab for word in PROMPT]


@pytest.mark.parametrize(("way", "kept"), [(cached, True), (uncached, False)])
def test_the_work_of_each_step_is_what_was_counted_while_generating(way, kept: bool) -> None:  # type: ignore[no-untyped-def]
    done = way(WEIGHTS, IDS, len(REPLY))
    layers = WEIGHTS.model.layers
    for number, work in enumerate(done.steps):
        expected = step(len(PROMPT), number, cached=kept)
        assert (work.columns_computed, work.columns_read) == (
            layers * expected.computed, layers * expected.looked_at,
        )  # fmt: skip


def test_both_ways_write_the_same_reply() -> None:
    assert cached(WEIGHTS, IDS, len(REPLY)).tokens == uncached(WEIGHTS, IDS, len(REPLY)).tokens


def test_totals_are_sums_of_steps() -> None:
    assert total(5, 7, cached=True) == (12, 15 + sum(range(6, 13)))
    assert total(5, 7, cached=False).computed == sum(range(5, 13))


def test_a_column_never_changes_once_it_is_computed() -> None:
    _, short = generate_cached(WEIGHTS, IDS, 1, MAX_SEQ)
    whole = mechanism.columns()
    keys, values = short.view(0)
    np.testing.assert_allclose(whole[0, :, : len(IDS)], keys[0, :, : mechanism.SHOWN].T, atol=1e-5)
    np.testing.assert_allclose(
        whole[1, :, : len(IDS)], values[0, :, : mechanism.SHOWN].T, atol=1e-5
    )


def test_the_last_word_has_no_column() -> None:
    tree = mechanism_tree()
    assert len(tree["keys"]) == len(PROMPT) + len(REPLY) - 1 < MAX_SEQ
    assert max(abs(n) for column in tree["keys"] for n in column) == 100
