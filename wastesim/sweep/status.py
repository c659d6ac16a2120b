"""`python -m wastesim.sweep status DIR`: how far a sweep is, from its folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from wastesim.errors import InputError
from wastesim.report.resolved import check_folder
from wastesim.sweep.store import PLAN, RUNS, at_work, read_json


class Status(NamedTuple):
    """Counts of a sweep's runs, and what is known of its time."""

    name: str
    planned: int | None  # a search does not know
    done: int
    failed: dict[str, str]  # label of the run -> error
    working: bool
    run_s: float | None
    left_s: float | None


def status(folder: Path) -> Status:
    """Read it; InputError when there is no sweep."""
    check_folder(folder)
    plan = read_json(folder / PLAN)
    if plan is None:
        raise InputError(f"{folder}: holds no sweep (no {PLAN})")
    outcomes = _outcomes(folder, plan)
    done = [found for found in outcomes.values() if found["status"] == "done"]
    failed = {d: found["error"] for d, found in outcomes.items() if found["status"] == "failed"}
    names = plan.get("runs") or {}
    planned = len(names) if plan.get("study") == "sweep" else None
    run_s = sum(found["wall_s"] for found in done) / len(done) if done else None
    working = at_work(folder)
    left = None if planned is None or run_s is None else planned - len(outcomes)
    left_s = left * (run_s or 0.0) / plan.get("width", 1) if left is not None else None
    told = {names.get(digest, digest): error for digest, error in failed.items()}
    return Status(plan["name"], planned, len(done), told, working, run_s, left_s)


def _outcomes(folder: Path, plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The plan's runs that have a file; of a search, all there are."""
    wanted = plan.get("runs") if plan.get("study") == "sweep" else None
    files = {path.stem: path for path in sorted((folder / RUNS).glob("*.json"))}
    found = {d: read_json(p) for d, p in files.items() if wanted is None or d in wanted}
    return {digest: content for digest, content in found.items() if content is not None}


def told(found: Status) -> list[str]:
    """The status in lines."""
    of = f" of {found.planned:,}" if found.planned is not None else ""
    lines = [f"{found.name}: {found.done:,}{of} runs done, {len(found.failed):,} failed"]
    lines += [f"  failed: {label}: {error}" for label, error in found.failed.items()]
    left = (found.planned or 0) - found.done - len(found.failed)
    if found.working:
        more = f", about {duration(found.left_s)} left" if found.left_s is not None else ""
        lines.append(f"at work{more}")
    elif found.planned is not None and left:
        lines.append(f"nobody works on it; {left:,} runs are missing: '--resume' goes on")
    if found.run_s is not None:
        lines.append(f"a run takes {duration(found.run_s)} on average")
    return lines


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
