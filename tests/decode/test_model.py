"""The transformer's parts against their formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wastesim.decode.model import Transformer, greedy, one_blas_thread, rms_norm, rotate, silu


def test_rms_norm_divides_by_the_root_mean_square():
    x = np.array([[3.0, -4.0]], np.float32)
    weight = np.array([1.0, 0.5], np.float32)
    root = math.sqrt((9 + 16) / 2 + 0.1)
    assert np.allclose(rms_norm(x, weight, 0.1), [[3 / root, -2 / root]])


@pytest.mark.parametrize("position", [0, 1, 77, 5000])
def test_rope_turns_pairs_by_position_over_base_to_the_2i_over_d(weights, position):
    dim = 16
    x = np.random.default_rng(0).normal(size=(1, 3, dim)).astype(np.float32)
    turned = x.copy()
    rotate(turned, Transformer(weights).turns(np.array([position])))
    for head, i in np.ndindex(3, dim // 2):
        angle = position * 10_000 ** (-2 * i / dim)
        a, b = x[0, head, 2 * i], x[0, head, 2 * i + 1]
        expected = (
            a * math.cos(angle) - b * math.sin(angle),
            a * math.sin(angle) + b * math.cos(angle),
        )
        assert np.allclose(turned[0, head, 2 * i : 2 * i + 2], expected, atol=1e-5)


def test_rope_makes_scores_depend_on_distance_alone(weights):
    transformer = Transformer(weights)
    q, k = np.random.default_rng(0).normal(size=(2, 1, 1, 16)).astype(np.float32)

    def score(at_q: int, at_k: int) -> float:
        turned_q, turned_k = q.copy(), k.copy()
        rotate(turned_q, transformer.turns(np.array([at_q])))
        rotate(turned_k, transformer.turns(np.array([at_k])))
        return float((turned_q * turned_k).sum())

    assert score(9, 4) == pytest.approx(score(809, 804), abs=1e-4)


def test_silu_is_x_times_sigmoid_without_overflow():
    x = np.array([-1000.0, -2.0, 0.0, 3.0, 1000.0], np.float32)
    expected = [0.0, -2 / (1 + math.exp(2)), 0.0, 3 / (1 + math.exp(-3)), 1000.0]
    assert np.allclose(silu(x), expected, atol=1e-6)


def test_greedy_takes_the_lowest_id_among_equals():
    assert greedy(np.array([[0.0, 2.0, 2.0]], np.float32)).tolist() == [1]


def test_blas_is_held_to_one_thread_once():
    assert one_blas_thread() is one_blas_thread()
