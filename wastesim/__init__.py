"""wastesim: what a KV-cache allocation policy reserves, and what is ever written.

Importing the package is cheap; numpy and the rest are loaded when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wastesim.config import Experiment
    from wastesim.result import Result, load_experiment
    from wastesim.studies import simulate

__version__ = "0.1.0"
__all__ = ["Experiment", "Result", "__version__", "load_experiment", "simulate"]

_HOMES = {
    "Experiment": "wastesim.config",
    "load_experiment": "wastesim.result",
    "Result": "wastesim.result",
    "simulate": "wastesim.studies",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'wastesim' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
