"""The caches of a quality study, measured in processes of their own and kept for next time.

What was measured is kept under a name that says all it depends on, the code of the decode
included, so a study that was stopped goes on where it was and a changed one measures anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from wastesim.catalog import gguf_header
from wastesim.config.quality import CacheCell
from wastesim.decode import whole_pass
from wastesim.decode.arrays import Floats, Ints
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.models import weights_of
from wastesim.decode.stock import cache_folder
from wastesim.decode.whole_pass import CacheRule, likelihoods

BASELINE = CacheCell()
POLL_S = 0.1
SINKS_WATCHED = 4
#: Code in the decode room that decides what is measured.
_DEPENDS_ON = ("whole_pass.py", "banded.py", "model.py", "*weights.py", "gguf_file.py",
               "codecs/*.py")  # fmt: skip
_FROM = 64  # attention on the first tokens is watched from here on


class Measured(NamedTuple):
    """One cache on one passage."""

    nll: Floats  # [T - 1], nats
    top: Ints  # [T - 1]
    sink_mass: Floats | None  # [L, 4]: share of attention on each of the first tokens


class Watching(Protocol):
    """Whoever shows progress and may ask to stop."""

    def told(self, name: str, done: int) -> None:
        """So many are done, the latest of that name."""

    def should_stop(self) -> bool:
        """Whether to stop after what runs now."""


def measure_all(
    model: DecodeModel,
    tokens: Sequence[int],
    cells: Mapping[str, CacheCell],
    workers: int | None,
    progress: Watching | None,
) -> dict[str, Measured]:
    """Every cache by label; fewer when asked to stop."""
    found = {label: kept for label, cell in cells.items() if (kept := _kept(model, tokens, cell))}
    left = {label: cell for label, cell in cells.items() if label not in found}
    processes = max(1, min(workers or os.cpu_count() or 1, len(left)))
    if progress is not None and found:
        progress.told(next(reversed(found)), len(found))
    if processes == 1:
        _one_by_one(model, tokens, left, found, progress)
    else:
        _in_processes(model, tokens, left, found, processes, progress)
    return found


def measure_cell(model: DecodeModel, tokens: Sequence[int], cell: CacheCell) -> Measured:
    """One cache; what is found is kept."""
    rule = CacheRule(
        cell.kv_cache_dtype,
        cell.halves,
        cell.window,
        cell.sinks,
        cell.positions == "renumbered",
    )
    watch = SinkMass(model, len(tokens)) if cell == BASELINE else None
    found = likelihoods(weights_of(model), tokens, rule, watch)
    measured = Measured(found.nll, found.top, watch.mass if watch else None)
    _keep(_path(model, tokens, cell), measured)
    return measured


class SinkMass:
    """Told every block of attention weights, it adds up what falls on the first tokens."""

    def __init__(self, model: DecodeModel, tokens: int) -> None:
        self._sums = np.zeros((model.layers, SINKS_WATCHED))
        self._queries = max(1, tokens - _FROM) * model.q_heads

    def __call__(self, layer: int, first: int, weights: Floats) -> None:
        """Weights ``[H, Q, T]`` of queries from `first` on."""
        late = weights[:, max(0, _FROM - first) :, :SINKS_WATCHED]
        self._sums[layer] += late.sum(axis=(0, 1), dtype=np.float64)

    @property
    def mass(self) -> Floats:
        """Share of attention on each of the first tokens, mean over heads and later queries."""
        return (self._sums / self._queries).astype(np.float32)  # [L, 4]


def _one_by_one(
    model: DecodeModel,
    tokens: Sequence[int],
    left: Mapping[str, CacheCell],
    found: dict[str, Measured],
    progress: Watching | None,
) -> None:
    for label, cell in left.items():
        if progress is not None and progress.should_stop():
            return
        found[label] = measure_cell(model, tokens, cell)
        if progress is not None:
            progress.told(label, len(found))


def _in_processes(
    model: DecodeModel,
    tokens: Sequence[int],
    left: Mapping[str, CacheCell],
    found: dict[str, Measured],
    processes: int,
    progress: Watching | None,
) -> None:
    context = get_context("spawn")  # a fork would copy the progress bar's thread
    with ProcessPoolExecutor(processes, context, _begin) as pool:
        waiting: dict[Future[Measured], str] = {
            pool.submit(measure_cell, model, list(tokens), cell): label
            for label, cell in left.items()
        }
        while waiting:
            done, _ = wait(waiting, POLL_S, FIRST_COMPLETED)
            for future in done:
                label = waiting.pop(future)
                if not future.cancelled():
                    found[label] = future.result()
                    if progress is not None:
                        progress.told(label, len(found))
            if progress is not None and progress.should_stop():
                for future in waiting:
                    future.cancel()


def _begin() -> None:
    """In a worker: Ctrl-C is the main process's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _path(model: DecodeModel, tokens: Sequence[int], cell: CacheCell) -> Path:
    source = Path(model.source).stat() if model.source else None
    told = {
        "model": repr(model),
        "file": [source.st_size, source.st_mtime_ns] if source else None,
        "tokens": list(tokens),
        "cell": cell.to_tree(),
        "code": _code(),
    }
    text = json.dumps(told, sort_keys=True)
    return cache_folder() / "cells" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"


@cache
def _code() -> str:
    """Changes with any line that the numbers depend on, and with NumPy's version."""
    folder = Path(whole_pass.__file__).parent
    made = hashlib.sha256(np.__version__.encode())
    decoding = sorted(path for pattern in _DEPENDS_ON for path in folder.glob(pattern))
    for path in (*decoding, Path(gguf_header.__file__)):
        made.update(path.read_bytes())
    return made.hexdigest()


def _kept(model: DecodeModel, tokens: Sequence[int], cell: CacheCell) -> Measured | None:
    try:
        with np.load(_path(model, tokens, cell)) as kept:
            mass = kept["sink_mass"]
            return Measured(kept["nll"], kept["top"], mass if mass.size else None)
    except (OSError, ValueError, KeyError):
        return None


def _keep(path: Path, measured: Measured) -> None:
    """Whole or not at all; a folder that cannot be written only means measuring again."""
    own = path.with_suffix(f".{os.getpid()}.npz")
    mass = np.empty(0, np.float32) if measured.sink_mass is None else measured.sink_mass
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(own, nll=measured.nll, top=measured.top, sink_mass=mass)
        own.replace(path)
