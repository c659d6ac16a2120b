"""GPUs by name: memory, bandwidth and arithmetic from `data/gpus.csv`.

Memory is what the driver reports (nvidia-smi, rocm-smi), in exact bytes.  A program inside
the driver sees somewhat less; a server that measures its own total should be given that.
"""

from __future__ import annotations

from functools import cache

from wastesim.catalog.names import lookup, unknown
from wastesim.catalog.tables import read_table, sources
from wastesim.config.hardware import Gpu
from wastesim.errors import ConfigError

_FILE = "gpus.csv"


def gpu_names() -> tuple[str, ...]:
    """All names of the catalog, in the order of the file."""
    return tuple(row.name for row in read_table(_FILE))


def is_gpu(name: str) -> bool:
    """Whether `find_gpu` would find it."""
    return lookup(name, read_table(_FILE)) is not None


def find_gpu(name: str) -> Gpu:
    """The GPU called `name`, in any accepted spelling; ConfigError with the nearest names."""
    row = lookup(name, read_table(_FILE))
    if row is None:
        raise ConfigError(f"'gpu' {unknown(name, 'GPU', gpu_names())} (got '{name}')")
    return _gpu(row.name)


def resolve_gpu(value: str | Gpu) -> Gpu:
    """A GPU as it is, or the one a name stands for."""
    return find_gpu(value) if isinstance(value, str) else value


@cache
def _gpu(name: str) -> Gpu:
    row = next(row for row in read_table(_FILE) if row.name == name)
    cells = dict(row.cells)
    cells["source"] = sources(cells, "memory")
    return Gpu.model_validate(cells)
