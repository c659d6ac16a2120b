"""What several tests of workloads share."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from wastesim.config.arrivals import WorkloadSpec
from wastesim.request import Request
from wastesim.rng import Streams
from wastesim.workload import Workload, build_workload
from wastesim.workload.pairs import Ints

TRACES = Path(__file__).resolve().parents[3] / "shared" / "data" / "traces"


def trace_file(name: str) -> Path:
    """A public trace of the shared data; the test is skipped where it is absent."""
    path = TRACES / name
    if not path.is_file():
        pytest.skip(f"needs the public trace {name}, which the project does not ship")
    return path


def workload(seed: int = 0, **spec: object) -> Workload:
    return build_workload(WorkloadSpec.model_validate(spec), Streams(seed))


def lengths(requests: Iterable[Request]) -> tuple[Ints, Ints]:
    pairs = [(request.prompt_tokens, request.output_tokens) for request in requests]
    return np.array(pairs).T[0], np.array(pairs).T[1]


def arrivals(requests: Iterable[Request]) -> np.ndarray:
    return np.array([request.arrival_s for request in requests])
