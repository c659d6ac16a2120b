"""YAML as experiments are written in it: version 1.2, with positions, and no surprises."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.config.yaml_reader import Document, dump_yaml, parse_value, parse_yaml, read_yaml
from wastesim.errors import ConfigError


def parse(text: str) -> Document:
    return parse_yaml(text, "e.yaml", Path("/base"))


def said(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e6", 1e6), ("1E6", 1e6), ("1.5e-3", 0.0015), ("12e03", 12_000.0),
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("off", "off"), ("y", "y"),
        ("true", True), ("True", True), ("false", False),
        ("inf", "inf"), (".inf", math.inf), ("-.inf", -math.inf),
        ("010", 10), ("0o10", 8), ("0x10", 16), ("1_000", 1000), ("+5", 5),
        ("1:30", "1:30"), ("~", None), ("null", None), ("", None),
        ("'5'", "5"), ('"5"', "5"), ("!!str 5", "5"), ("80 GiB", "80 GiB"),
        ("2020-01-01", "2020-01-01"), ("llama-3-8b", "llama-3-8b"),
        ("[1, a, {b: 2}]", [1, "a", {"b": 2}]),
    ],
)  # fmt: skip
def test_scalars_are_read_as_yaml_1_2_says(text: str, value: object) -> None:
    read = parse(f"key: {text}\n").tree["key"]
    assert read == value
    assert type(read) is type(value)


def test_not_a_number_is_a_float() -> None:
    assert math.isnan(parse("key: .nan").tree["key"])


def test_every_key_and_item_knows_where_it_stands() -> None:
    document = parse("# why\na: 1\nb:\n  - x\n  - {c: 2, d: 3}\n")
    assert document.where(()) == "e.yaml:2:1"
    assert document.where(("a",)) == "e.yaml:2:1"
    assert document.where(("b",)) == "e.yaml:3:1"
    assert document.where(("b", 0)) == "e.yaml:4:5"
    assert document.where(("b", 1, "c")) == "e.yaml:5:6"
    assert document.where(("b", 1, "d")) == "e.yaml:5:12"


def test_a_key_that_is_not_there_stands_where_its_mapping_does() -> None:
    document = parse("a:\n  b: 1\n")
    assert document.where(("a", "c", "d")) == "e.yaml:1:1"
    assert document.where(("z",)) == "e.yaml:1:1"
    assert document.value(("a", "b")) == 1
    assert document.value(("a", "b", "c")) is None


def test_anchors_and_merge_keys_are_followed() -> None:
    document = parse("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc: *a\n")
    assert document.tree["b"] == {"x": 1, "y": 3}
    assert document.tree["c"] == {"x": 1, "y": 2}
    assert document.where(("b", "y")) == "e.yaml:4:3"
    assert document.where(("b", "x")) == "e.yaml:2:1", "merged: it stands in another mapping"


@pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3\n", "{a: 1, b: 2, a: 1}"])
def test_a_key_given_twice_is_refused_at_the_second(text: str) -> None:
    place = "3:1" if "\n" in text else "1:14"
    assert said(text) == f"e.yaml:{place}: 'a' is given twice; keep one of them"


def test_whole_numbers_are_keys_and_read_as_text() -> None:
    document = parse("shares: {0: 1, 2: 3}\n")
    assert document.tree == {"shares": {"0": 1, "2": 3}}
    assert document.where(("shares", "2")) == "e.yaml:1:16"
    assert said("1: a\n'1': b\n") == "e.yaml:1:1: '1' is given twice; keep one of them"


def test_aliases_that_stand_for_billions_of_values_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert said("\n".join(lines)) == "e.yaml:1:1: has more than 100,000 values"


def test_every_value_without_meaning_is_reported() -> None:
    assert said("a: !x 1\nb: {c: !!binary aGk=}\n1.5: 2\n").splitlines() == [
        "e.yaml:1:1: 'a' must be a plain value (got one with the tag !x)",
        "e.yaml:2:5: 'c' must be a plain value (got one with the tag !!binary)",
        "e.yaml:3:1: a key must be text (got 1.5)",
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_byte_order_marks_and_line_ends_do_not_matter(
    newline: str, mark: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "e.yaml"
    path.write_bytes(mark + f"seed: 1{newline}name: x".encode())
    document = read_yaml(path)
    assert document.tree == {"seed": 1, "name": "x"}
    assert document.where(("name",)) == f"{path}:2:1"
    assert document.base == tmp_path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("1e3", 1000.0), ("no", "no"), ("", None), ("[1, 2]", [1, 2]), ("'5'", "5"),
        ("{kind: fixed, step_s: 20 ms}", {"kind": "fixed", "step_s": "20 ms"}),
        ("{unfinished", "{unfinished"), ("a: b: c", "a: b: c"), ("@x", "@x"), ("!x 5", "!x 5"),
        ("a#b", "a#b"), ("../t.csv", "../t.csv"), ("=", "="), ("9" * 5000, "9" * 5000),
    ],
)  # fmt: skip
def test_options_are_read_as_yaml_and_as_text_when_they_are_none(text: str, value: object) -> None:
    assert parse_value(text) == value


texts = st.text("ab01.:#-'\"{}[]&*!|>%@`,=~ éß…\n", max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner), max_leaves=8
)


@given(st.dictionaries(texts, values, min_size=1, max_size=4))
@settings(deadline=None)
def test_what_is_dumped_is_read_back(tree: dict[str, Any]) -> None:
    assert parse(dump_yaml(tree)).tree == tree


def test_dumped_keys_keep_their_order() -> None:
    assert (
        dump_yaml({"z": 1, "a": {"y": 2, "b": [1, 2]}}) == "z: 1\na:\n  y: 2\n  b:\n  - 1\n  - 2\n"
    )
