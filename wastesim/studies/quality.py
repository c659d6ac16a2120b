"""`study: quality`: what each cheaper cache costs in perplexity, and what it saves in bytes.

The passage is read once per cache, every token given those before it, and the difference to full
precision is taken token by token: the same tokens, so their difficulty cancels.  Its interval
comes from a bootstrap over blocks of neighbouring tokens, because neighbours are alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.config.quality import CacheCell, Quality
from wastesim.decode.arrays import Doubles
from wastesim.decode.codecs import stored_bytes
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.models import decode_model
from wastesim.metrics import SCHEMA_VERSION
from wastesim.studies.laboratory_checks import LEAST_TOKENS, refuse
from wastesim.studies.passages import passage_read, passage_tokens
from wastesim.studies.quality_cells import BASELINE, Measured, measure_all

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 2000
CURVE_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 340, 512, 1024, 2048, 4096, 8192)


@dataclass(frozen=True)
class QualityResult:
    """What was measured of each cache, full precision first."""

    study: Quality
    model: DecodeModel
    tokens: int
    cells: dict[str, Measured]
    missing: tuple[str, ...] = field(default=())

    @property
    def interrupted(self) -> bool:
        """Whether a cache was not measured."""
        return bool(self.missing)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        return {
            "schema_version": SCHEMA_VERSION,
            "name": self.study.name,
            "study": "quality",
            "interrupted": self.interrupted,
            "missing": list(self.missing),
            "overflowed": [cell.label for cell in self._all() if self._overflowed(cell)],
            "model": self.model.name,
            "passage": passage_read(self.study, self.model),
            "tokens": self.tokens,
            "block_tokens": self.study.block_tokens,
            "cells": [self._row(cell) for cell in self._all() if self._told(cell)],
            "lengths": list(CURVE_LENGTHS),
            "sink_mass": self._sink_mass(),
        }

    def table(self) -> pd.DataFrame:
        """What `summary.csv` holds: a row per cache."""
        import pandas as pd

        left_out = ("nll", "bytes_by_length")
        rows = self.summary["cells"]
        return pd.DataFrame([{k: v for k, v in row.items() if k not in left_out} for row in rows])

    def _all(self) -> list[CacheCell]:
        return [BASELINE, *(cell for cell in self.study.cells if cell.label != BASELINE.label)]

    def _told(self, cell: CacheCell) -> bool:
        return cell.label in self.cells and not self._overflowed(cell)

    def _overflowed(self, cell: CacheCell) -> bool:
        """Whether keys or values were too large for the format: then nothing can be said of it."""
        found = self.cells.get(cell.label)
        return found is not None and not np.isfinite(found.nll).all()

    def _row(self, cell: CacheCell) -> dict[str, Any]:
        """One cache's numbers; ratios are to full precision on the same tokens."""
        base, own = self.cells[BASELINE.label], self.cells[cell.label]
        differences = own.nll.astype(np.float64) - base.nll
        low, high = _interval(differences, self.study.block_tokens, self.study.seed)
        held = self.tokens if cell.window is None else min(cell.window, self.tokens)
        return {
            "cache": cell.label,
            "dtype": cell.kv_cache_dtype.dtype,
            "window": cell.window,
            "sinks": cell.sinks if cell.window else None,
            "positions": cell.positions if cell.window else None,
            "perplexity": float(np.exp(own.nll.mean(dtype=np.float64))),
            "change": float(np.expm1(differences.mean())),
            "change_low": low,
            "change_high": high,
            "top_agreement": float(np.mean(own.top == base.top)),
            "bytes_per_token": cell_bytes(cell, self.model, self.tokens) / self.tokens,
            "bytes_per_element": _per_element(cell, self.model, self.tokens),
            "held_tokens": held,
            "freed_tokens": self.tokens - held,
            "bytes_by_length": [_per_element(cell, self.model, n) for n in CURVE_LENGTHS],
            "nll": _thinned(differences),
        }

    def _sink_mass(self) -> dict[str, Any]:
        mass = self.cells[BASELINE.label].sink_mass
        return {} if mass is None else {"layers": mass.tolist()}


def measure(study: Quality, progress: Any = None, workers: int | None = None) -> QualityResult:
    """Measure every cache; those found in the folder of earlier ones are not measured again."""
    refuse(study)
    model = decode_model(study.model)
    tokens = passage_tokens(model, study.passage, LEAST_TOKENS, study.seed)[: study.max_tokens]
    others = [cell for cell in study.cells if cell.label != BASELINE.label]
    wanted = {cell.label: cell for cell in (BASELINE, *others)}
    found = measure_all(model, tokens, wanted, workers or study.workers, progress)
    missing = tuple(label for label in wanted if label not in found)
    if BASELINE.label in missing:
        raise KeyboardInterrupt  # stopped before there was anything to compare with
    return QualityResult(study, model, len(tokens), _ordered(wanted, found), missing)


def cell_bytes(cell: CacheCell, model: DecodeModel, tokens: int) -> int:
    """Bytes that the cache holds after `tokens` tokens, scales and exact newest ones included."""
    held = tokens if cell.window is None else min(tokens, cell.window)
    one_head = stored_bytes(cell.kv_cache_dtype, model.head_dim, held, cell.halves)
    return model.layers * model.kv_heads * one_head


def _per_element(cell: CacheCell, model: DecodeModel, tokens: int) -> float:
    """Bytes per number of all tokens so far, freed ones included."""
    return cell_bytes(cell, model, tokens) / (model.rows_per_cell * model.head_dim * tokens)


def _interval(differences: Doubles, block: int, seed: int) -> tuple[float, float]:
    """The middle 95 % of the change in perplexity over resampled blocks of tokens."""
    if not differences.any():
        return 0.0, 0.0
    whole = len(differences) // block * block
    sums = differences[:whole].reshape(-1, block).mean(axis=1)  # [blocks]
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(sums), size=(RESAMPLES, len(sums)))
    low, high = np.quantile(np.expm1(sums[drawn].mean(axis=1)), [0.025, 0.975])
    return float(low), float(high)


def _thinned(differences: Doubles) -> list[float]:
    """Differences in nats, meaned over 16 tokens: what the picture by position shows."""
    whole = len(differences) // 16 * 16
    return [round(float(v), 5) for v in differences[:whole].reshape(-1, 16).mean(axis=1)]


def _ordered(wanted: Mapping[str, CacheCell], found: Mapping[str, Measured]) -> dict[str, Measured]:
    return {label: found[label] for label in wanted if label in found}
