"""A result folder that is either whole or not there.

Everything is written to a hidden folder beside the target, numbers before pictures, and moved
into place at the end.  Whether the target can be used is found out before anything is simulated.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import wastesim
from wastesim.errors import OutputError

if TYPE_CHECKING:
    from wastesim.config import Experiment
    from wastesim.config.quality import Laboratory
    from wastesim.result import Result
    from wastesim.studies import Comparison

LIBRARIES = ("numpy", "simpy", "scipy", "pandas", "matplotlib", "pydantic")
BASE_BYTES = 8 * 2**20  # figures and page of a run of any size; measured at 2-3 MB
BYTES_PER_REQUEST = 600  # its rows in three files; a streamed run wrote 580 as CSV


class ResultFolder:
    """`with ResultFolder(target) as folder: ... folder.write(result, ...)`.

    Raises OutputError on entry when the target cannot be created or written, is a file, holds
    something that is not an earlier result, or the disk has no room.
    """

    def __init__(self, target: Path, num_requests: int | None, runs: int = 1) -> None:
        self.target = target
        self._needed_bytes = runs * (BASE_BYTES + BYTES_PER_REQUEST * (num_requests or 0))
        self._real = target  # without links, from the root
        self.staging = target  # where results are written until they are whole
        self._made: list[Path] = []  # folders above the target that were not there before

    def __enter__(self) -> ResultFolder:
        try:
            self._real = self.target.resolve()
            self._refuse_foreign_folder()
            self._make_staging()
            free = shutil.disk_usage(self.staging).free
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
            self._discard()
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"{self.target}: cannot be written ({reason})") from None
        if free < self._needed_bytes:
            self._discard()
            raise OutputError(
                f"{self.target}: the disk has {free:,} bytes free, the results need about"
                f" {self._needed_bytes:,}; free some or choose another '--output'"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._discard()

    def write(self, result: Result | Comparison, source: str, command: Sequence[str]) -> list[str]:
        """Write numbers, then pictures, then put all in place; returns warnings."""
        from wastesim.studies.saving import save

        try:
            warnings = save(result, self.staging, source, _provenance(result, command))
            self._put_in_place()
        except OSError as error:
            raise OutputError(f"{self.target}: writing failed ({error.strerror})") from error
        return warnings

    def _put_in_place(self) -> None:
        old = self._real.with_name(f".{self._real.name}.old-{os.getpid()}")
        replaces = self._real.exists()
        if replaces:
            self._real.rename(old)
        try:
            self.staging.rename(self._real)
        except OSError:
            if replaces:
                old.rename(self._real)
            raise
        shutil.rmtree(old, ignore_errors=True)

    def _make_staging(self) -> None:
        """Make the hidden folder and write a page to it, as the results will be."""
        self.staging = self._real.with_name(f".{self._real.name}.partial-{os.getpid()}")
        self._made = [folder for folder in self._real.parents if not folder.exists()]
        self.staging.mkdir(parents=True)
        probe = self.staging / "probe"
        probe.write_bytes(b"\0" * 4096)
        probe.unlink()

    def _refuse_foreign_folder(self) -> None:
        here = Path.cwd()
        if self._real in (here, *here.parents):
            raise OutputError(f"{self.target}: is where you are, or above; name another folder")
        if not self._real.exists():
            return
        if not self._real.is_dir():
            raise OutputError(f"{self.target}: is a file; name a folder for the results")
        if _holds_sweep(self._real):
            raise OutputError(
                f"{self.target}: holds a sweep, whose runs would be lost; name another folder"
            )
        if any(self._real.iterdir()) and not _holds_results(self._real):
            raise OutputError(
                f"{self.target}: is not empty and holds no earlier results; name another folder"
            )

    def _discard(self) -> None:
        """Remove what was made on the way, but never the target."""
        if self.staging != self.target:
            shutil.rmtree(self.staging, ignore_errors=True)
        for folder in self._made:
            with suppress(OSError):  # not empty: the results are in it
                folder.rmdir()


def _holds_results(folder: Path) -> bool:
    """Whether wastesim wrote what is in `folder`, so that it may be replaced."""
    try:
        content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "wastesim" in content


def _holds_sweep(folder: Path) -> bool:
    """Whether a sweep or a search keeps its runs there: hours of work, not to be replaced."""
    return (folder / "plan.json").exists() or (folder / "runs").is_dir()


def _provenance(result: Result | Comparison, command: Sequence[str]) -> dict[str, Any]:
    return provenance(result.experiment, command, interrupted=result.interrupted)


def provenance(
    experiment: Experiment | Laboratory, command: Sequence[str], *, interrupted: bool
) -> dict[str, Any]:
    """What `run.json` holds: where, when and from what the results were made."""
    return {
        "wastesim": wastesim.__version__,
        "command": " ".join(command),
        "seed": experiment.seed,
        "digest": experiment.digest,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": _git_commit(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "interrupted": interrupted,
    }


def _git_commit() -> str | None:
    """The commit of the source tree wastesim runs from, `+` when it was changed since."""
    here = Path(wastesim.__file__).parents[1]
    if not (here / ".git").exists():
        return None
    try:
        head = _git(here, "rev-parse", "HEAD")
        return head + ("+" if _git(here, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()
