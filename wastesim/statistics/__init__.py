"""How sure numbers are: intervals, warm-up, whether a run was long enough and kept up.

From records alone, with numpy and scipy.  Defined with symbols in docs/statistics.md.

=========== =====================================================================
`intervals` Student's t: of a mean, a paired difference, a ratio of sums
`bounds`    what a number can be, and no interval goes beyond
`batches`   batch means of one correlated series
`warmup`    MSER-5
`rare`      whether waiting hangs on a few moments
`series`    a run's levels, events and requests, cut into batches
`steadiness` the part of a run that is steady, whether it is, and whether it kept up
`ofrun`     the `statistics` of `summary.json`
`wanted`    the same, as an experiment asks for it
=========== =====================================================================
"""

from __future__ import annotations

from wastesim.statistics.batches import of_series
from wastesim.statistics.bounds import within
from wastesim.statistics.intervals import Interval, of_mean, of_paired, of_ratio
from wastesim.statistics.ofrun import GROWING, Objectives, good_share, of_run
from wastesim.statistics.wanted import of_wanted
from wastesim.statistics.warmup import Truncation, mser5

__all__ = [
    "GROWING",
    "Interval",
    "Objectives",
    "Truncation",
    "good_share",
    "mser5",
    "of_mean",
    "of_paired",
    "of_ratio",
    "of_run",
    "of_series",
    "of_wanted",
    "within",
]
