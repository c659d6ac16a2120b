"""One report of the example run, written once for all tests that only read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .report_build import Built, build
from .report_runs import run


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The example run with its figures."""
    return build(run(), tmp_path_factory.mktemp("example"), figures=True)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """`write(records, figures=..., ...)` into a fresh folder."""
    return lambda records, **changes: build(records, tmp_path, **changes)
