"""Cache dtypes: what they cost in bytes, how far they are off, and that nothing goes missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.config.decode import CacheFormat
from wastesim.decode.codecs import codec_for, row_bytes, stored_bytes
from wastesim.decode.codecs.rotation import hadamard
from wastesim.errors import ConfigError

DIM = 64
#: format -> bytes of 64 numbers, scales and zero points included
BYTES = {
    "float32": 256,
    "float16": 128,
    "bfloat16": 128,
    "fp8_e4m3": 64,
    "int8": 64 + 2,
    "int4_sym": 2 * (16 + 2),
    "int4_asym": 2 * (16 + 2 + 2),
    "q8_0": 2 * (32 + 2),
    "q4_0": 2 * (16 + 2),
}
#: largest error of a group whose farthest number is 1, the rounding of its scale included
STEP = {"int8": 0.57 / 127, "q8_0": 0.57 / 127, "int4_sym": 0.51 / 7, "int4_asym": 1 / 15}


def rows(count: int = 200, dim: int = DIM, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_t(4, size=(count, 3, dim)).astype(np.float32)


def through(how: CacheFormat, vectors: np.ndarray) -> np.ndarray:
    codec = codec_for(how, vectors.shape[-1])
    return codec.decode(codec.encode(vectors))


@pytest.mark.parametrize(("dtype", "expected"), BYTES.items())
@pytest.mark.parametrize("turned", [False, True])
def test_bytes_of_a_vector_include_scales_and_zero_points(dtype, expected, turned):
    how = CacheFormat(dtype=dtype, hadamard=turned)
    codec = codec_for(how, DIM)
    assert codec.row_bytes == row_bytes(how, DIM) == expected
    encoded = codec.encode(rows())
    assert encoded.dtype == np.uint8
    assert encoded.shape == (200, 3, expected)
    assert codec.decode(encoded).shape == (200, 3, DIM)


@pytest.mark.parametrize("group", [16, 32, 64])
def test_smaller_groups_cost_more_bytes_and_less_error(group):
    for dtype, per_group in (("int4_sym", 2), ("int4_asym", 4)):
        how = CacheFormat(dtype=dtype, group_size=group)
        assert row_bytes(how, DIM) == DIM // 2 + DIM // group * per_group
        finer = CacheFormat(dtype=dtype, group_size=group // 2)
        off = [np.abs(through(f, rows()) - rows()).mean() for f in (how, finer)]
        assert off[1] < off[0]


@pytest.mark.parametrize("dtype", STEP)
def test_numbers_are_off_by_at_most_half_a_step_of_their_group(dtype):
    vectors = rows()
    groups = vectors.reshape(*vectors.shape[:-1], -1, DIM if dtype == "int8" else 32)
    farthest = np.abs(groups).max(axis=-1, keepdims=True)
    off = np.abs(through(CacheFormat(dtype=dtype), vectors).reshape(groups.shape) - groups)
    assert (off <= farthest * STEP[dtype] * 1.01 + 1e-6).all()


@pytest.mark.parametrize("dtype", [name for name in BYTES if name != "q4_0"])
def test_what_was_rounded_once_stays_as_it_is(dtype):
    how = CacheFormat(dtype=dtype)
    once = through(how, rows())
    assert np.allclose(through(how, once), once, rtol=0, atol=2e-3 * np.abs(once).max())


def test_float32_is_stored_exactly():
    assert np.array_equal(through(CacheFormat(), rows()), rows())


@pytest.mark.parametrize(("dtype", "name"), [("q8_0", "Q8_0"), ("q4_0", "Q4_0")])
def test_block_formats_are_ggmls_to_the_bit(dtype, name):
    gguf = pytest.importorskip("gguf", reason="GGML's formats are compared with the gguf package")
    kind = gguf.GGMLQuantizationType[name]
    vectors = rows()
    vectors[0, 0] = 0
    codec = codec_for(CacheFormat(dtype=dtype), DIM)
    flat = vectors.reshape(-1, DIM)
    encoded = codec.encode(flat)
    assert np.array_equal(encoded, gguf.quants.quantize(flat, kind))
    assert np.array_equal(codec.decode(encoded), gguf.quants.dequantize(encoded, kind))


@pytest.mark.parametrize("dtype", BYTES)
@given(values=st.lists(st.floats(2**-7, 1000, width=32), min_size=1, max_size=64))
@settings(max_examples=30, deadline=None)
def test_a_vector_that_is_not_zero_never_becomes_zero_bytes(dtype, values):
    """Or a written cell would not be found by looking."""
    vector = np.zeros((1, DIM), np.float32)
    vector[0, : len(values)] = values
    codec = codec_for(CacheFormat(dtype=dtype), DIM)
    assert codec.encode(vector).any()
    assert codec.encode(np.full((1, DIM), values[0], np.float32)).any()


@pytest.mark.parametrize("dtype", BYTES)
def test_extreme_vectors_stay_finite(dtype):
    for value in (0.0, 1e-30, 6e4, -6e4):
        assert np.isfinite(through(CacheFormat(dtype=dtype), np.full((2, DIM), value, "f4"))).all()


def test_a_hadamard_rotation_is_its_own_inverse_and_spreads_an_outlier():
    matrix = hadamard(DIM)
    assert np.allclose(matrix @ matrix, np.eye(DIM), atol=1e-6)
    vectors = rows()
    vectors[..., 5] *= 30
    plain, turned = (
        np.abs(through(CacheFormat(dtype="int4_sym", hadamard=on), vectors) - vectors).mean()
        for on in (False, True)
    )
    assert turned < plain


def test_what_cannot_be_stored_is_refused_with_both_numbers():
    with pytest.raises(ConfigError, match=r"multiple of its groups of 32 \(the model's is 48\)"):
        codec_for(CacheFormat(dtype="q8_0"), 48)
    with pytest.raises(ConfigError, match=r"power of two \(got 48\)"):
        codec_for(CacheFormat(dtype="int8", hadamard=True), 48)
    with pytest.raises(ValueError, match="'group_size' belongs to int4_sym and int4_asym"):
        CacheFormat(dtype="int8", group_size=32)
    with pytest.raises(ValueError, match="must be even"):
        CacheFormat(dtype="int4_sym", group_size=7)


def test_exact_newest_tokens_are_counted_once_and_pay_from_a_thousand_tokens_on():
    """Four bits with 128 exact tokens are 1.90 bytes per number at 340 tokens: more than int8."""
    mixed = CacheFormat(dtype="int4_asym", recent_tokens=128)
    per_number = [stored_bytes(mixed, DIM, n) / (2 * DIM * n) for n in (64, 128, 340, 1100)]
    assert per_number[:2] == [4, 4]
    assert per_number[2] == pytest.approx(1.90, abs=0.005)
    int8 = row_bytes(CacheFormat(dtype="int8"), DIM) / DIM
    assert per_number[3] < int8 < per_number[2]


def test_keys_and_values_are_counted_apart():
    keys = CacheFormat(dtype="int4_asym", recent_tokens=10, recent_of="keys")
    assert stored_bytes(keys, DIM, 30) == (20 * 40 + 10 * 256) + 30 * 40
    assert stored_bytes(keys, DIM, 30, "keys") == (20 * 40 + 10 * 256) + 30 * 256
    assert stored_bytes(keys, DIM, 30, "values") == 30 * 256 + 30 * 40
