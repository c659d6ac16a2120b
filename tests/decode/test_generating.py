"""The same tokens three ways, and the work of each by counting and by formula."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.decode.batch_run import decode_together, ragged
from wastesim.decode.generating import cached, uncached, unturned
from wastesim.decode.model import Transformer
from wastesim.decode.reference import check_tokens
from wastesim.decode.work import matrix_numbers

PROMPT = np.random.default_rng(9).integers(256, size=200).tolist()


def test_200_tokens_after_200_are_the_same_without_with_late_turned_and_in_a_ragged_batch(weights):
    replies = [make(weights, PROMPT, 200).tokens for make in (uncached, cached, unturned)]
    assert replies[0] == replies[1] == replies[2]
    others = ragged(PROMPT, 6, 150)
    together = decode_together(weights.model, [others[0], PROMPT, *others[1:]], 200)
    assert list(together[1]) == replies[0]
    assert check_tokens(weights, PROMPT, replies[0]).equal == 200


@pytest.mark.parametrize(("prompt", "new"), [(1, 1), (7, 5), (40, 30)])
def test_work_equals_its_closed_forms(weights, prompt, new):
    model, layers = weights.model, weights.model.layers
    without = uncached(weights, PROMPT[:prompt], new).work
    with_ = cached(weights, PROMPT[:prompt], new).work
    lengths = np.arange(prompt, prompt + new)
    assert without.projected_tokens == lengths.sum()
    assert without.columns_computed == layers * lengths.sum()
    assert without.columns_read == layers * (lengths * (lengths + 1) // 2).sum()
    assert with_.projected_tokens == prompt + new - 1
    assert with_.columns_computed == layers * (prompt + new - 1)
    assert with_.columns_read == layers * (prompt * (prompt + 1) // 2 + lengths[1:].sum())
    linear = 2 * matrix_numbers(model) + 3 * layers * 6 * 16
    assert with_.flop(model) == (
        linear * (prompt + new - 1) + 2 * new * 64 * 256 + 4 * 4 * 16 * with_.columns_read
    )


def test_what_is_counted_is_what_the_model_was_given(weights):
    """A transformer that reports every call agrees with the counts."""
    computed = 0
    inner = Transformer._attention

    def spied(self, index, layer, x, turns, at):
        def told(layer_index, q, kv):
            nonlocal computed
            computed += len(kv)
            return at(layer_index, q, kv)

        return inner(self, index, layer, x, turns, told)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transformer, "_attention", spied)
        work = cached(weights, PROMPT[:20], 10).work
    assert computed == work.columns_computed


def test_turning_keys_late_turns_all_of_them_at_every_step(weights):
    early, late = (make(weights, PROMPT[:20], 10).work for make in (cached, unturned))
    model = weights.model
    lengths = np.arange(20, 30)
    more = model.layers * model.kv_heads * (lengths.sum() - 29)
    assert late.vectors_turned - early.vectors_turned == more
    assert late.columns_computed == early.columns_computed
