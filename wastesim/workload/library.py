"""Workloads by name: the files of `workloads/`, in a checkout or inside an installed wheel."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from wastesim.config.lengths import WorkloadFile
from wastesim.config.validation import validate
from wastesim.config.yaml_reader import read_yaml

_PACKAGE = Path(__file__).resolve().parents[1]
_ENDINGS = (".yaml", ".yml")


@cache
def library_folder() -> Path:
    """Where shipped workloads are."""
    installed = _PACKAGE / "_workloads"
    return installed if installed.is_dir() else _PACKAGE.parent / "workloads"


@cache
def _files() -> dict[str, Path]:
    """Shipped workloads by name; `sharegpt-family` is `families/sharegpt.yaml`."""
    folder = library_folder()
    named = {path.stem: path for path in folder.glob("*.yaml")}
    return named | {f"{path.stem}-family": path for path in folder.glob("families/*.yaml")}


def workload_names() -> tuple[str, ...]:
    """Names that `lengths:` may have, sorted."""
    return tuple(sorted(_files()))


def workload_file(text: str, base: Path) -> Path | None:
    """The workload file that `lengths: text` means; None when it means a trace."""
    if text in _files():
        return _files()[text]
    return base / text if text.lower().endswith(_ENDINGS) else None


def read_workload_file(path: Path) -> WorkloadFile:
    """Read a workload file; ConfigError with all its problems."""
    return validate(WorkloadFile, read_yaml(path))


def unknown(text: str) -> str:
    """What to say about a name that is neither a workload nor a file."""
    names = workload_names()
    near = get_close_matches(text, names, n=1)
    hint = f", did you mean '{near[0]}'?" if near else ""
    return f"must be a workload ({', '.join(names)}) or a file that exists{hint} (got {text!r})"
