"""The JSON Schema for editors: it accepts what is right, and marks what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from wastesim import run
from wastesim.config.schema import experiment_schema, schema_text
from wastesim.config.yaml_reader import read_yaml

ROOT = Path(__file__).parents[2]
SCHEMA = experiment_schema()
GOOD: dict[str, Any] = {
    "model": "llama-3-8b",
    "gpu": "a100-sxm-40gb",
    "workload": {"lengths": "sharegpt", "num_requests": 20},
    "server": {"max_model_len": 2048},
}
GPU = {"memory": "80 GiB", "bandwidth": "3.3 TB/s", "flops": "1000 TFLOP/s"}
MODEL = {"layers": 2, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 8, "params": 8.03e9}

TYPES: Mapping[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
}  # fmt: skip


def accepts(schema: Any, value: Any) -> bool:
    """Whether `value` is valid; knows the keywords that `test_only_known_keywords` allows."""
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema and not accepts(SCHEMA["$defs"][schema["$ref"].split("/")[-1]], value):
        return False
    if "if" in schema:
        branch = "then" if accepts(schema["if"], value) else "else"
        if not accepts(schema[branch], value):
            return False
    return (
        _of_type(schema, value)
        and value in schema.get("enum", [value])
        and value == schema.get("const", value)
        and all(accepts(part, value) for part in schema.get("allOf", []))
        and any(accepts(part, value) for part in schema.get("anyOf", [True]))
        and (not _is_number(value) or _within(schema, value))
        and (not isinstance(value, dict) or _keys_fit(schema, value))
        and (not isinstance(value, list) or _items_fit(schema, value))
    )


def _items_fit(schema: Mapping[str, Any], value: list[Any]) -> bool:
    enough = len(value) >= schema.get("minItems", 0)
    return enough and all(accepts(schema.get("items", True), item) for item in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_type(schema: Mapping[str, Any], value: Any) -> bool:
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds

    def fits(kind: str) -> bool:
        if kind in ("number", "integer"):
            return _is_number(value) and (kind == "number" or float(value).is_integer())
        return isinstance(value, TYPES[kind])

    return not kinds or any(fits(kind) for kind in kinds)


def _within(schema: Mapping[str, Any], value: float) -> bool:
    return (
        value >= schema.get("minimum", value)
        and value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
    )


def _keys_fit(schema: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    if not set(schema.get("required", [])) <= value.keys():
        return False

    def fits(key: str) -> bool:
        if key in known:
            return accepts(known[key], value[key])
        matching = [part for pattern, part in patterns.items() if re.search(pattern, key)]
        rest = matching or [schema.get("additionalProperties", True)]
        return all(accepts(part, value[key]) for part in rest)

    return all(fits(key) for key in value)


def with_key(path: str, value: Any) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(json.dumps(GOOD))
    *above, last = path.split(".")
    at = tree
    for key in above:
        at = at.setdefault(key, {})
    at[last] = value
    return tree


def test_the_verb_prints_it_without_an_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run.main(["--schema"])
    assert caught.value.code == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA == json.loads(schema_text())


def test_it_is_a_schema_an_editor_can_follow() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    text = schema_text()
    names = {ref.split("/")[-1] for ref in re.findall(r'"\$ref": "([^"]+)"', text)}
    assert names <= SCHEMA["$defs"].keys()
    assert "Experiment" in names


def test_every_key_of_an_experiment_is_in_it() -> None:
    from wastesim import Experiment

    keys = SCHEMA["$defs"]["Experiment"]["properties"].keys()
    assert keys == {*Experiment.model_fields, "extends"}


def test_only_known_keywords_are_in_it() -> None:
    """So that nothing in it is ignored by an editor, or by the validator of these tests."""
    allowed = {
        "$defs", "$ref", "$schema", "additionalProperties", "allOf", "anyOf", "const", "default",
        "description", "else", "enum", "exclusiveMaximum", "exclusiveMinimum", "if", "items",
        "maximum", "minItems", "minimum", "patternProperties", "properties", "required", "then",
        "title", "type",
    }  # fmt: skip

    def keywords(node: Any) -> set[str]:
        if isinstance(node, list):
            return set().union(*map(keywords, node)) if node else set()
        if not isinstance(node, dict):
            return set()
        named = ("$defs", "properties", "patternProperties")
        inner = [
            child
            for key, value in node.items()
            if key not in ("default", "enum", "const")
            for child in (value.values() if key in named else [value])
        ]
        return set(node) | set().union(*map(keywords, inner)) if inner else set(node)

    assert keywords(SCHEMA) - allowed == set()


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").rglob("*.yaml")), ids=str)
def test_every_experiment_that_comes_with_wastesim_is_accepted(path: Path) -> None:
    assert accepts(SCHEMA, read_yaml(path).tree)


RIGHT = [
    ("model", MODEL),
    ("model", {**{k: v for k, v in MODEL.items() if k != "hidden"}, "hidden_size": 8}),
    ("gpu", GPU),
    ("gpu", {"memory_bytes": 8e10, "bandwidth_bytes_per_s": 3.3e12, "flops_per_s": 10**15}),
    ("gpu", GPU | {"fp8_flops": "2 PFLOP/s"}),
    ("seed", 7),
    ("workload.num_requests", 1e6),
    ("workload.request_rate", "inf"),
    ("workload.request_rate", 3.5),
    ("workload.lengths", {"prompt": 5, "output": {"kind": "uniform", "low": 1, "high": "2k"}}),
    ("workload.lengths", {"kind": "joint", "table": "t.csv"}),
    ("workload.lengths", {"kind": "resample", "file": "t.csv", "columns": {"prompt": "p"}}),
    ("workload", {"trace": "t.csv"}),
    ("server.max_model_len", "8Ki"),
    ("server.overhead", "1.5 GiB"),
    ("server.kv_cache_memory_bytes", 10**9),
    ("server.kv_cache_memory_bytes", "10 GiB"),
    ("server.policy", "contiguous"),
    ("clock", {"kind": "fixed", "step_s": 0.02}),
    ("clock", {"kind": "fixed", "step_s": "20 ms"}),
    ("clock", {"kind": "roofline"}),
    ("decode", {"engine": "none"}),
    ("output.figures", False),
]


@pytest.mark.parametrize(("path", "value"), RIGHT)
def test_what_the_loader_takes_is_accepted(path: str, value: Any) -> None:
    assert accepts(SCHEMA, with_key(path, value))


WRONG = [
    ("modle", "x"),
    ("model", 5),
    ("model", {"layers": 2}),
    ("gpu", GPU | {"memory": 80}),
    ("gpu", {key: value for key, value in GPU.items() if key != "memory"}),
    ("gpu", GPU | {"memroy": "80 GiB"}),
    ("seed", -1),
    ("seed", 1.5),
    ("workload.num_requests", 0),
    ("workload.request_rate", "fast"),
    ("workload.request_rate", 0),
    ("workload.lengths", {"prompt": {"kind": "fixed", "value": 0}, "output": 5}),
    ("server.max_model_len", 0),
    ("server.max_num_seqs", "8"),
    ("server.overhead", 2),
    ("server.gpu_memory_utilization", 1.5),
    ("server", {}),
    ("server.max_num_seq", 5),
    ("clock", {"kind": "fixed"}),
    ("clock", {"kind": "rooflin"}),
    ("clock", "roofline"),
    ("decode.engine", "torch"),
    ("output.figures", "no"),
]


@pytest.mark.parametrize(("path", "value"), WRONG)
def test_what_the_loader_refuses_is_marked(path: str, value: Any) -> None:
    assert not accepts(SCHEMA, with_key(path, value))


def test_nothing_is_required_of_a_file_that_extends_another() -> None:
    assert accepts(SCHEMA, {"extends": "base.yaml"})
    assert accepts(SCHEMA, {"extends": "base.yaml", "server": {"max_num_seqs": 4}})
    assert not accepts(SCHEMA, {"extends": "base.yaml", "server": {"max_num_seqs": 0}})
    assert not accepts(SCHEMA, {"extends": "base.yaml", "sever": {}})
    assert not accepts(SCHEMA, {"extends": 5})
    assert not accepts(SCHEMA, {"model": "llama-3-8b"})


def test_it_agrees_with_another_validator() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    assert all(validator.is_valid(with_key(path, value)) for path, value in RIGHT)
    assert not any(validator.is_valid(with_key(path, value)) for path, value in WRONG)
