"""Which names of numbers a sweep or a search may ask for, known before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wastesim.config.search import Search
from wastesim.config.sweep import Sweep
from wastesim.config.validation import did_you_mean
from wastesim.config.yaml_reader import KeyPath
from wastesim.report.definitions import GROUPS, words

GOODPUT = "goodput"
REJECTED = "rejected_share"
NEEDS_OBJECTIVES = (
    "must not be goodput without objectives: 'statistics: {goodput: {ttft_s: 1, tpot_s: 0.05}}'"
)
#: Why requests were not served: which reasons there are shows when they are.
REASONS = "requests.reasons."


def check_metrics(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """`(("search", "where", "metric"), "must be ...")` of names that no run has a number for."""
    varied = _varied(tree)
    for path, name in _asked(tree):
        problem = _problem(name, tree, varied)
        if problem:
            yield path, problem


def known_names() -> list[str]:
    """Every number that a summary may have."""
    named = [line.key for group in GROUPS for line in group.lines if line.show is not words]
    return [*named, REJECTED, GOODPUT]


def _problem(name: str, tree: Mapping[str, Any], varied: set[str]) -> str:
    known = known_names()
    if name not in known and not name.startswith(REASONS):
        return f"must be a number of summary.json{did_you_mean(name, known)}"
    if name == GOODPUT or name.startswith("statistics.goodput"):
        given = _given(tree, "statistics", "goodput") or _touched(varied, "statistics")
        return "" if given else NEEDS_OBJECTIVES
    if name.startswith(("decode.", "counted.")):
        none = _given(tree, "decode", "engine") == "none" and not _touched(varied, "decode")
        return "must be defined: nothing is decoded with 'decode.engine: none'" if none else ""
    if name.startswith("time.measured_"):
        given = _given(tree, "measure") or _touched(varied, "measure")
        return "" if given else "must be defined: there is no 'measure'"
    return ""


def _asked(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    show = _given(tree, "sweep", "show")
    for key in ("metrics", "pareto"):
        names = _given(show, key)
        for index, name in enumerate(names if isinstance(names, list) else ()):
            if isinstance(name, str):
                yield ("sweep", "show", key, index), name
    for path in (("where", "metric"), ("maximize",), ("minimize",)):
        name = _given(tree, "search", *path)
        if isinstance(name, str):
            yield ("search", *path), name


def _given(tree: Any, *path: str) -> Any:
    for part in path:
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def _touched(varied: set[str], section: str) -> bool:
    return any(key.partition(".")[0] == section for key in varied)


def _varied(tree: Mapping[str, Any]) -> set[str]:
    """Keys that differ between runs; none where that section is wrong, which is told elsewhere."""
    try:
        if "sweep" in tree:
            return set(Sweep.model_validate(tree["sweep"]).keys)
        if "search" in tree:
            return {Search.model_validate(tree["search"]).key}
    except ValueError:
        pass
    return set()
