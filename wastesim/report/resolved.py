"""What a report reads from the resolved experiment, such as the width of the cache's elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wastesim.config.workload import TooLong
from wastesim.errors import ConfigError, InputError
from wastesim.metrics import summarize
from wastesim.records import Records


def check_folder(folder: Path) -> None:
    """InputError unless there is such a folder, whatever it holds."""
    if not folder.is_dir():
        what = "is not a folder of results" if folder.exists() else "does not exist"
        raise InputError(f"{folder}: {what}; name the folder that a run was written to")


def read_resolved(folder: Path) -> str:
    """The text of a result folder's `resolved.yaml`; empty when there is none."""
    path = folder / "resolved.yaml"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def element_bytes(resolved: str) -> int | None:
    """Bytes per element of `server.kv_cache_dtype`; None when the text does not say."""
    from wastesim.catalog.kv import dtype_bytes
    from wastesim.config.yaml_reader import parse_yaml

    try:
        tree = parse_yaml(resolved, "resolved.yaml", Path()).tree
        return dtype_bytes(tree["server"]["kv_cache_dtype"])
    except (ConfigError, KeyError, TypeError, ValueError):
        return None


def too_long(resolved: str) -> TooLong | None:
    """What `workload.too_long` states; None when that is left to the scheduler."""
    workload = _tree(resolved).get("workload")
    found: TooLong | None = workload.get("too_long") if isinstance(workload, dict) else None
    return found


def compared(resolved: str) -> dict[str, dict[str, Any]]:
    """The variants of a comparison and what each changes; none for any other text."""
    variants = _tree(resolved).get("compare")
    return dict(variants) if isinstance(variants, dict) else {}


def summary_of(records: Records, resolved: str) -> dict[str, Any]:
    """The summary that the run itself made, from its records and its resolved experiment."""
    from wastesim.config.statistics import Statistics
    from wastesim.statistics import of_wanted

    wanted = Statistics.model_validate(_tree(resolved).get("statistics") or {})
    return {**summarize(records), "statistics": of_wanted(records, wanted)}


def named(resolved: str) -> str:
    """The experiment's name; empty when the text does not say."""
    return str(_tree(resolved).get("name", ""))


def _tree(resolved: str) -> dict[str, Any]:
    from wastesim.config.yaml_reader import parse_yaml

    try:
        return parse_yaml(resolved, "resolved.yaml", Path()).tree
    except ConfigError:
        return {}
