"""JSON without NaN and Infinity, wherever one is written."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import wastesim
from wastesim.json_text import json_text


def test_what_json_has_no_number_for_is_null_or_text():
    told = {"a": math.nan, "b": [math.inf, -math.inf, 1.5], "c": (math.nan, {"d": 2})}
    assert json.loads(json_text(told)) == {
        "a": None,
        "b": ["inf", "-inf", 1.5],
        "c": [None, {"d": 2}],
    }


def test_everything_else_is_as_ever():
    told = {"text": "größer", "number": 3, "path": Path("a")}
    assert json_text({"text": "größer", "n": [1]}) == json.dumps(
        {"text": "größer", "n": [1]}, indent=1, ensure_ascii=False
    )
    assert json.loads(json_text(told, default=str))["path"] == "a"


def test_every_file_of_json_is_written_so():
    """What `json.dumps` may write is a digest, or lines that refuse NaN themselves."""
    package = Path(wastesim.__file__).parent
    for path in package.rglob("*.py"):
        for call in re.findall(r"json\.dumps\([^\n]*", path.read_text(encoding="utf-8")):
            written = "indent=" in call and path.name != "schema.py"
            assert not written, f"{path.name}: {call}: use json_text"
