"""Traces: files with one request per row, whatever their format and names."""

from __future__ import annotations

from wastesim.workload.traces.trace import Trace, read_trace

__all__ = ["Trace", "read_trace"]
