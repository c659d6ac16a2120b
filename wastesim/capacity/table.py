"""Many models and contexts: one row per model, one column per context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wastesim.capacity.lines import capacity_tree
from wastesim.capacity.question import Question, answer
from wastesim.errors import ConfigError

_NOTHING = "–"


def table_tree(asked: Sequence[Question]) -> list[dict[str, Any]]:
    """What `--json` prints: a row per model and context; `why_not` where nothing fits."""
    return [_row(question) for question in asked]


def table_lines(asked: Sequence[Question]) -> list[str]:
    """Full requests of each context, model by model, under a line that says what is shown."""
    contexts = list(dict.fromkeys(question.context for question in asked))
    rows: dict[str, dict[int, dict[str, Any]]] = {}
    for question in asked:
        rows.setdefault(question.model.name, {})[question.context] = _row(question)
    head = ["model", "KV B/token", *(f"{context:,}" for context in contexts), "longest"]
    body = [
        [
            name,
            _cell(next(iter(cells.values())), "bytes_per_token"),
            *(_cell(cells.get(context), "requests_of_context") for context in contexts),
            _cell(next(iter(cells.values())), "largest_max_model_len"),
        ]
        for name, cells in rows.items()
    ]
    first = asked[0]
    title = (
        f"requests that fit on {first.gpu}, by their length in tokens, as {first.engine.title}"
        f" counts ({_NOTHING}: nothing is left for the cache)"
    )
    return [title, "", *_aligned([head, *body])]


def _row(question: Question) -> dict[str, Any]:
    row: dict[str, Any] = {"model": question.model.name, "context": question.context}
    try:
        found = answer(question)
    except ConfigError as error:
        return row | {"fits": False, "why_not": str(error)}
    return row | {
        "fits": found.fits,
        "bytes_per_token": found.bytes_per_token,
        "weights_bytes": found.weights_bytes,
        "kv_bytes": found.budget.kv_bytes,
        **capacity_tree(found),
    }


def _cell(row: dict[str, Any] | None, key: str) -> str:
    value = None if row is None else row.get(key)
    return _NOTHING if value is None else f"{value:,}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
