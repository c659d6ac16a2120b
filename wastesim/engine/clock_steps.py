"""Read a CSV file of measured steps: one step per row, units in the columns' names."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from wastesim.errors import InputError, Problem

#: Names of each column that people's tables have, ours first.
NAMES = {
    "decode_requests": ("decode_requests", "batch", "batch_size", "num_seqs", "running",
                        "running_requests", "num_decode_requests", "decode_batch"),
    "kv_tokens": ("kv_tokens", "context_tokens", "total_context_tokens", "num_kv_tokens",
                  "total_kv_tokens"),
    "prefill_tokens": ("prefill_tokens", "num_prefill_tokens", "prompt_tokens",
                       "total_prefill_tokens"),
}  # fmt: skip
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_TIME = re.compile(r"(?:step|step_time|time|latency|duration|iteration|iteration_time)_(\w+)")
_MOST_PROBLEMS = 10


class MeasuredStep(NamedTuple):
    """One measured step; `kv_tokens` were stored before it, by the requests that decode."""

    line: int
    decode_requests: int
    kv_tokens: int
    prefill_tokens: int
    step_s: float


class _Places(NamedTuple):
    """Where each quantity stands in a row."""

    counts: dict[str, int]
    time: int
    unit_s: float


def read_steps(path: Path, *, repeats: bool = False) -> list[MeasuredStep]:
    """The steps of a file; InputError with file and line of everything that is wrong.

    `repeats` allows several measurements of the same work.
    """
    lines = _lines(path)
    places = _places(path, lines)
    steps: list[MeasuredStep] = []
    problems: list[Problem] = []
    for number, cells in lines[1:]:
        found = _step(places, number, cells)
        if isinstance(found, str):
            problems.append(Problem(f"{path}:{number}", found))
        else:
            steps.append(found)
    problems += [] if repeats else list(_repeated(path, steps))
    if problems:
        raise InputError(problems[:_MOST_PROBLEMS])
    if not any(step.decode_requests and not step.prefill_tokens for step in steps):
        _refuse(path, 1, "must have a row that decodes without prefill (prefill_tokens 0)")
    return steps


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """(line number, cells) of every line that is neither empty nor a comment."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError([Problem(str(path), f"cannot be read ({error.strerror})")]) from None
    except UnicodeDecodeError as error:
        raise InputError([Problem(str(path), f"must be UTF-8 text ({error.reason})")]) from None
    rows = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
    rows = [(n, line) for n, line in rows if not line.lstrip().startswith("#")]
    if not rows:
        _refuse(path, 1, "is empty")
    return [(n, [cell.strip() for cell in next(csv.reader([line]))]) for n, line in rows]


def _places(path: Path, lines: Sequence[tuple[int, list[str]]]) -> _Places:
    """The columns by the names on the first line."""
    line, names = lines[0][0], [name.lower().replace(" ", "_") for name in lines[0][1]]
    counts: dict[str, int] = {}
    for quantity, known in NAMES.items():
        found = [place for place, name in enumerate(names) if name in known]
        if len(found) > 1:
            _refuse(path, line, f"has more than one column for {quantity}: {_shown(names, found)}")
        if not found and quantity != "prefill_tokens":
            _refuse(path, line, f"has no column '{quantity}'; columns: {', '.join(names)}")
        if found:
            counts[quantity] = found[0]
    times = [place for place, name in enumerate(names) if _TIME.fullmatch(name)]
    if len(times) != 1:
        few = f"more than one: {_shown(names, times)}" if times else "none"
        _refuse(path, line, f"must have one column of times, such as 'step_s' or 'step_ms' ({few})")
    unit = _TIME.fullmatch(names[times[0]])
    if unit is None or unit.group(1) not in _UNITS:
        _refuse(path, line, f"'{names[times[0]]}' must end in a unit: _s, _ms, _us or _ns")
    return _Places(counts, times[0], _UNITS[unit.group(1)])


def _shown(names: Sequence[str], places: Sequence[int]) -> str:
    return ", ".join(repr(names[place]) for place in places)


def _step(places: _Places, line: int, cells: Sequence[str]) -> MeasuredStep | str:
    """One row, or what is wrong with it."""
    if max(*places.counts.values(), places.time) >= len(cells):
        return f"has {len(cells)} cells, fewer than the first line has names"
    counts = dict.fromkeys(NAMES, 0)
    for name, place in places.counts.items():
        number = _number(cells[place])
        if number is None or number < 0 or number != int(number):
            return f"'{name}' must be a whole number >= 0 (got {cells[place]!r})"
        counts[name] = int(number)
    time = _number(cells[places.time])
    if time is None or time <= 0:
        return f"the step's time must be a number > 0 (got {cells[places.time]!r})"
    return _sensible(MeasuredStep(line, **counts, step_s=time * places.unit_s))


def _sensible(step: MeasuredStep) -> MeasuredStep | str:
    if not step.decode_requests and not step.prefill_tokens:
        return "must have decode_requests or prefill_tokens: nothing ran"
    if not step.decode_requests and step.kv_tokens:
        return "'kv_tokens' are those of decoding requests: must be 0 without any"
    if step.kv_tokens < step.decode_requests:
        return "'kv_tokens' must be at least 1 for each of decode_requests"
    return step


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if abs(value) < 1e15 else None  # false for NaN too


def _repeated(path: Path, steps: Sequence[MeasuredStep]) -> Iterator[Problem]:
    """Two rows of the same work cannot both be met."""
    first: dict[tuple[int, int, int], int] = {}
    for step in steps:
        work = (step.decode_requests, step.kv_tokens, step.prefill_tokens)
        if work in first:
            message = f"is the same work as line {first[work]}; keep one of them, or their median"
            yield Problem(f"{path}:{step.line}", message)
        first.setdefault(work, step.line)


def _refuse(path: Path, line: int, message: str) -> NoReturn:
    raise InputError([Problem(f"{path}:{line}", message)])
