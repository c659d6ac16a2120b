"""A config in, a stream of requests out: lengths and arrivals, no clock.

Read `build` first; `sources` says what lengths can be drawn from, `traces` reads files.
"""

from __future__ import annotations

from wastesim.workload.build import build_workload
from wastesim.workload.check import check_workload
from wastesim.workload.describe import Description, describe_trace
from wastesim.workload.library import workload_names
from wastesim.workload.stream import Block, Workload
from wastesim.workload.traces import Trace, read_trace

__all__ = [
    "Block",
    "Description",
    "Trace",
    "Workload",
    "build_workload",
    "check_workload",
    "describe_trace",
    "read_trace",
    "workload_names",
]
