"""Quantities: read without guessing, printed so that they can be read back."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.units import (
    GIB,
    format_bytes,
    format_count,
    format_digits,
    format_percent,
    format_seconds,
    parse_bandwidth,
    parse_bytes,
    parse_flops,
    parse_seconds,
    parse_tokens,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80 GB", 80 * 10**9),
        ("80 GiB", 80 * 2**30),
        ("80GiB", 80 * 2**30),
        ("  80   GiB  ", 80 * 2**30),
        ("40960 MiB", 40 * 2**30),
        ("1.5 kB", 1500),
        ("1.5 KiB", 1536),
        (".5 KiB", 512),
        ("1e3 MB", 10**9),
        ("2 TiB", 2 * 2**40),
        ("1 PB", 10**15),
        ("512 B", 512),
        ("1,000,000 B", 10**6),
        ("1_000_000 B", 10**6),
        ("0 B", 0),
        ("+5 B", 5),
        ("9007199254740993 B", 2**53 + 1),
        ("9007199254740993 KiB", (2**53 + 1) * 1024),
    ],
)
def test_gb_is_decimal_and_gib_is_binary_exactly(text: str, expected: int) -> None:
    assert parse_bytes(text) == expected


@pytest.mark.parametrize("letter", ["K", "M", "G", "T", "k"])
def test_a_prefix_without_a_unit_is_unclear(letter: str) -> None:
    with pytest.raises(ValueError, match=f"'{letter}' alone is unclear: {letter}B is decimal"):
        parse_bytes(f"80 {letter}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("80", "must be a size with one of the units B, kB"),
        ("80 gib", "did you mean 'GiB'?"),
        ("80 Gb", "did you mean 'GB'?"),
        ("80 bananas", "must be a size with one of the units"),
        ("GiB", "must be a number and a unit such as '80 GiB'"),
        ("", "must be a number and a unit"),
        ("80 GiB 3", "must be a size with one of the units"),
        ("1,5 GB", "a decimal point is written '.'"),
        ("1,50 GB", "a decimal point is written '.'"),
        ("1,0000 GB", "must be a number and a unit"),
        ("12,34,567 GB", "must be a number and a unit"),
        ("1__0 GB", "must be a number and a unit"),
        ("1_ GB", "must be a number and a unit"),
        ("0x10 GB", "must be a size with one of the units"),
        ("inf GB", "must be a number and a unit"),
        ("nan GB", "must be a number and a unit"),
        ("1e400 GB", "must be a finite number"),
        ("9" * 5000 + " B", "must be a number and a unit"),
    ],
)
def test_what_is_unclear_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        parse_bytes(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("8192", 8192), ("8k", 8000), ("8Ki", 8192), ("1M", 10**6), ("1Mi", 2**20), ("0.5k", 500),
     ("8,192", 8192), ("8_192", 8192), ("1e3", 1000)],
)  # fmt: skip
def test_tokens_are_whole_and_k_is_a_thousand(text: str, expected: int) -> None:
    assert parse_tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5", "must be a whole number of tokens"),
        ("8.1234k", "must be a whole number of tokens"),
        ("8K", "did you mean 'k'?"),
        ("8ki", "did you mean 'Ki'?"),
        ("8 GB", "must be a number of tokens with one of the units k, M, Ki, Mi"),
        ("many", "must be a number and a unit such as '8Ki'"),
        ("1e400k", "must be a finite number"),
    ],
)
def test_fractions_of_a_token_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        parse_tokens(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (parse_bandwidth, "3.3 TB/s", 3.3e12),
        (parse_bandwidth, "1555 GB/s", 1.555e12),
        (parse_bandwidth, "1 GiB/s", 2.0**30),
        (parse_flops, "1000 TFLOP/s", 1e15),
        (parse_flops, "312 TFLOPS", 3.12e14),
        (parse_flops, "5 FLOP/s", 5.0),
        (parse_seconds, "20 ms", 0.02),
        (parse_seconds, "310 us", 310e-6),
        (parse_seconds, "5 ns", 5e-9),
        (parse_seconds, "2 min", 120.0),
        (parse_seconds, "1.5 h", 5400.0),
    ],
)
def test_rates_and_durations(parse: Callable[[str], float], text: str, expected: float) -> None:
    assert parse(text) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("parse", "text"),
    [(parse_bandwidth, "3.3 TB"), (parse_flops, "1000 TFLOP"), (parse_seconds, "20"),
     (parse_seconds, "20 m"), (parse_flops, "1e300 PFLOP/s"), (parse_seconds, "1,5 s")],
)  # fmt: skip
def test_rates_and_durations_need_their_unit(parse: Callable[[str], float], text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse(text)


@given(st.integers(0, 10**18))
@settings(deadline=None)
def test_whole_bytes_are_read_back_exactly(value: int) -> None:
    assert parse_bytes(f"{value} B") == value
    assert parse_bytes(f"{value:,} B") == value
    assert parse_bytes(f"{value:_} B") == value


@given(st.text("-+.,_019eE kKMGiB", max_size=12))
@settings(deadline=None)
def test_any_text_is_either_a_size_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(parse_bytes(text), int)


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
@settings(deadline=None)
def test_rates_are_read_back_exactly(value: float) -> None:
    assert parse_bandwidth(f"{value!r} B/s") == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(512, "512 B"), (16 * GIB, "16.00 GiB"), (347_136, "339.00 KiB"), (3 * 2**40, "3.00 TiB"),
     (-2 * GIB, "-2.00 GiB"), (0, "0 B")],
)  # fmt: skip
def test_bytes_are_printed_in_binary_units(value: int, text: str) -> None:
    assert format_bytes(value) == text


def test_what_is_printed_is_read_back() -> None:
    for value in (0, 512, 5 * 2**20, 16 * GIB, 3 * 2**40):
        assert parse_bytes(format_bytes(value)) == value


def test_undefined_is_printed_as_a_dash_and_never_as_zero() -> None:
    assert format_percent(None) == format_percent(math.nan) == "–"
    assert format_seconds(None) == format_seconds(math.nan) == "–"


def test_counts_shares_and_times_are_printed_for_people() -> None:
    assert format_count(155_987) == "155,987"
    assert format_count(0.5) == "0.50"
    assert format_percent(0.2434) == "24.3 %"
    assert format_seconds(1.25) == "1.25 s"
    assert format_seconds(12_345) == "12,345 s"
    assert format_seconds(0.0241) == "24.1 ms"
    assert format_seconds(310e-6) == "310 µs"
    assert format_seconds(0) == "0 s"


@pytest.mark.parametrize(
    ("value", "text"),
    [(100, "100"), (99.97, "100"), (99.4, "99"), (12.34, "12"), (1234.6, "1,235"),
     (0.0312, "0.031"), (3.1e-7, "3.1e-07")],
)  # fmt: skip
def test_two_digits_of_a_large_number_are_no_power_of_ten(value: float, text: str) -> None:
    assert format_digits(value, 2) == text
