"""What this machine can do in NumPy with one thread: bytes read and float32 products per second."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from wastesim.decode.model import one_blas_thread

_ROUNDS = 15
_MATRIX = (576, 3072)  # a layer's of SmolLM2
_MATRICES = 48  # 340 MB together: no cache holds them
_SQUARE = 1024


def read_bandwidth() -> float:
    """Bytes per second of matrix-vector products over matrices that no cache holds."""
    one_blas_thread()
    matrices = np.ones((_MATRICES, *_MATRIX), np.float32)
    row = np.ones(_MATRIX[0], np.float32)
    best = _best(lambda: [row @ matrix for matrix in matrices])
    return matrices.nbytes / best


def peak_flop() -> float:
    """FLOP per second of a large matrix product."""
    one_blas_thread()
    square = np.ones((_SQUARE, _SQUARE), np.float32)
    return float(2 * _SQUARE**3 / _best(lambda: square @ square))


def _best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best
