"""Shapes of the executed models."""

from __future__ import annotations

import pytest

from wastesim.decode.geometry import DecodeModel, decode_model, decode_models
from wastesim.errors import ConfigError


def test_a_cell_holds_keys_and_values_of_every_layer_and_kv_head():
    tiny = decode_model("tiny")
    assert tiny.kv_bytes_per_cell(itemsize=4) == 2 * tiny.layers * 2 * 16 * 4 == 512


def test_tiny_has_grouped_queries_and_more_than_one_layer():
    tiny = decode_model("tiny")
    assert (tiny.layers, tiny.width, tiny.q_heads, tiny.kv_heads, tiny.vocab) == (2, 64, 4, 2, 256)
    assert tiny.queries_per_kv_head == 2


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(
        ConfigError, match=r"one of tiny, small \(got 'tinny'\), did you mean 'tiny'"
    ):
        decode_model("tinny")
    assert "tiny" in decode_models()


@pytest.mark.parametrize(
    ("heads", "dim", "message"), [((4, 3), 16, "multiple of 'kv_heads'"), ((4, 2), 15, "even")]
)
def test_impossible_shapes_are_refused(heads, dim, message):
    with pytest.raises(ConfigError, match=message):
        DecodeModel("odd", 1, 64, *heads, dim, ffn=64, vocab=16)
