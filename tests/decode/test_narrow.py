"""Narrow floats in integer arithmetic: bit for bit what hardware and standards say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.decode.codecs.narrow import BFLOAT16, FLOAT16, FP8_E4M3, narrowed, table, widened

CODES = np.arange(65_536, dtype=np.uint16)


def float32(*bits: int) -> np.ndarray:
    return np.array(bits, np.uint32).view(np.float32)


def halves(numbers: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float16).view(np.uint16)


def test_all_65536_float16_values_widen_bit_for_bit():
    expected = CODES.view(np.float16).astype(np.float32)
    found = widened(CODES, FLOAT16)
    ordinary = ~np.isnan(expected)
    assert np.array_equal(found[ordinary].view(np.uint32), expected[ordinary].view(np.uint32))
    # whether a signalling NaN is made quiet is left to the machine; its other bits are kept
    quiet = np.uint32(0x40_0000)
    assert np.isnan(found[~ordinary]).all()
    assert np.array_equal(
        found[~ordinary].view(np.uint32) | quiet, expected[~ordinary].view(np.uint32) | quiet
    )


def test_all_65536_float16_values_survive_the_way_there_and_back():
    assert np.array_equal(narrowed(widened(CODES, FLOAT16), FLOAT16), CODES)


@pytest.mark.parametrize(
    ("bits", "code"),
    [
        (0x0000_0000, 0x0000),  # zero
        (0x8000_0000, 0x8000),  # minus zero
        (0x0000_0001, 0x0000),  # the smallest float32 there is
        (0x3300_0000, 0x0000),  # 2**-25: half of the smallest, to even, which is zero
        (0x3300_0001, 0x0001),  # a little more
        (0x3380_0000, 0x0001),  # 2**-24: the smallest float16
        (0x33C0_0000, 0x0002),  # 1.5 * 2**-24: half way, to even
        (0x387F_C000, 0x03FF),  # the largest subnormal
        (0x387F_E000, 0x0400),  # half way to the smallest normal
        (0x3880_0000, 0x0400),  # the smallest normal
        (0x3F80_0000, 0x3C00),  # one
        (0x3F80_1000, 0x3C00),  # one and half a step, to even
        (0x3F80_1001, 0x3C01),
        (0x3F80_3000, 0x3C02),  # half a step above an odd one, to even
        (0x477F_E000, 0x7BFF),  # 65,504: the largest
        (0x477F_EFFF, 0x7BFF),  # just below 65,520
        (0x477F_F000, 0x7C00),  # 65,520: infinity
        (0x7F7F_FFFF, 0x7C00),  # the largest float32
        (0x7F80_0000, 0x7C00),  # infinity
        (0xFF80_0000, 0xFC00),
        (0x7F80_0001, 0x7C01),  # a NaN whose payload is lost is still a NaN
        (0x7FC0_0000, 0x7E00),
    ],
)
def test_float32_corner_cases(bits, code):
    assert narrowed(float32(bits), FLOAT16)[0] == code
    if not np.isnan(float32(bits)[0]):
        assert halves(float32(bits))[0] == code


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=200))
def test_any_float32_becomes_the_float16_that_the_machine_makes(bits):
    numbers = float32(*bits)
    ordinary = ~np.isnan(numbers)
    assert np.array_equal(narrowed(numbers, FLOAT16)[ordinary], halves(numbers[ordinary]))


def test_bfloat16_is_the_upper_half_rounded_to_even():
    assert narrowed(float32(0x3F80_8000, 0x3F81_8000, 0x3F80_8001), BFLOAT16).tolist() == [
        0x3F80,
        0x3F82,
        0x3F81,
    ]
    assert np.array_equal(widened(CODES, BFLOAT16).view(np.uint32), CODES.astype(np.uint32) << 16)
    assert np.array_equal(narrowed(widened(CODES, BFLOAT16), BFLOAT16), CODES)


def test_fp8_e4m3_has_the_values_of_the_ocp_standard():
    values = table(FP8_E4M3)
    assert values[0x7E] == 448
    assert values[0x08] == 2.0**-6
    assert values[0x01] == 2.0**-9
    assert np.isnan(values[[0x7F, 0xFF]]).all()
    for code in range(0x7F):
        exponent, rest = code >> 3, code & 7
        exact = rest * 2.0**-9 if exponent == 0 else (1 + rest / 8) * 2.0 ** (exponent - 7)
        assert values[code] == exact
        assert values[code | 0x80] == -exact
    finite = np.r_[0:0x7F, 0x80:0xFF].astype(np.uint8)
    assert np.array_equal(narrowed(values[finite], FP8_E4M3), finite)


def test_fp8_rounds_to_the_nearest_and_saturates():
    values = np.array([449, 1e9, np.inf, 17, 19, 0.9 * 2.0**-9, 2.0**-10], np.float32)
    found = table(FP8_E4M3)[narrowed(values, FP8_E4M3)]
    assert found.tolist() == [448, 448, 448, 16, 20, 2.0**-9, 0]
