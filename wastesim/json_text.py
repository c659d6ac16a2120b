"""JSON as everybody reads it: Python would write NaN and Infinity, which no other reader takes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any


def json_text(content: Any, indent: int = 1, default: Callable[[Any], Any] | None = None) -> str:
    """`content` as JSON, indented: what is not defined is null, infinity is the text `inf`."""
    return json.dumps(
        _plain(content), indent=indent, ensure_ascii=False, allow_nan=False, default=default
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)  # as an experiment says `request_rate`
    return value
