"""The folder of a sweep: one file per finished run, and a lock while somebody works in it.

A file is written beside its place and moved there, so that it is whole or not there.  The lock is
the operating system's: it goes when its process does, however that ended.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import wastesim
from wastesim.errors import OutputError
from wastesim.json_text import json_text
from wastesim.sweep.plan import Task
from wastesim.sweep.work import Outcome

RUNS, REPORTS, PLAN, LOCK = "runs", "reports", "plan.json", ".lock"
#: Files that only a sweep writes: a folder without them is somebody else's.
MARK = "run.json"
#: All that a folder can hold before it has that mark.
BEGUN = {RUNS, LOCK, f".{MARK}.partial"}


class Store:
    """`with Store(folder, resume=...) as store: ... store.keep(task, outcome)`.

    Raises OutputError on entry for a folder that cannot be written, is at work already, holds
    something else, or holds a sweep that nobody asked to resume.
    """

    def __init__(self, folder: Path, *, resume: bool) -> None:
        self.folder = folder
        self._resume = resume
        self._lock: IO[str] | None = None

    def __enter__(self) -> Store:
        try:
            self._refuse_others()
            (self.folder / RUNS).mkdir(parents=True, exist_ok=True)
            self._take_lock()
            if not (self.folder / MARK).exists():
                write_json(self.folder / MARK, {"wastesim": wastesim.__version__})
            for left in (self.folder / RUNS).glob(".*.partial"):
                left.unlink()
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot be written ({error.strerror})") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def keep(self, task: Task, outcome: Outcome) -> None:
        """Write what became of a run, its report first."""
        if outcome.files:
            self._keep_files(self.folder / REPORTS / task.digest, outcome.files)
        content = {
            "digest": task.digest,
            "status": outcome.status,
            "values": task.cell.values,
            "replication": task.replication,
            "seed": task.seed,
            "wastesim": wastesim.__version__,
            "wall_s": outcome.wall_s,
            "error": outcome.error,
            "summary": outcome.summary,
        }
        write_json(self.folder / RUNS / f"{task.digest}.json", content)

    def done(self, digest: str) -> dict[str, Any] | None:
        """The file of a run that came to its end; None when it has none."""
        found = read_json(self.folder / RUNS / f"{digest}.json")
        return found if found is not None and found.get("status") == "done" else None

    def outcome(self, digest: str) -> dict[str, Any] | None:
        """The file of a run, failed or not."""
        return read_json(self.folder / RUNS / f"{digest}.json")

    def has_report(self, digest: str) -> bool:
        """Whether a run has pages of its own."""
        return (self.folder / REPORTS / digest / "report.html").exists()

    def _keep_files(self, folder: Path, files: Mapping[str, bytes]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    def _refuse_others(self) -> None:
        if not self.folder.exists() or (self.folder.is_dir() and not any(self.folder.iterdir())):
            return
        if not self.folder.is_dir():
            raise OutputError(f"{self.folder}: is a file; name a folder for the results")
        names = {path.name for path in self.folder.iterdir()}
        if MARK not in names and names <= BEGUN:  # killed as it began
            return
        if MARK not in names or RUNS not in names:
            raise OutputError(
                f"{self.folder}: is not empty and holds no sweep; name another folder"
            )
        if not self._resume:
            raise OutputError(
                f"{self.folder}: holds a sweep; '--resume' goes on with it, or name another folder"
            )

    def _take_lock(self) -> None:
        self._lock = (self.folder / LOCK).open("w")
        if not locked(self._lock):
            self._lock.close()
            raise OutputError(f"{self.folder}: another process works in it; wait for its end")


def at_work(folder: Path) -> bool:
    """Whether a process works in the folder."""
    try:
        with (folder / LOCK).open("r+") as file:
            return not locked(file)
    except OSError:
        return False


def locked(file: IO[str]) -> bool:
    """Take the lock of an open file; False when another process has it."""
    try:
        import fcntl
    except ImportError:  # not a Unix: two sweeps in one folder are not noticed
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file that is whole, and on the disk, or not there."""
    write_text(path, json_text(content, default=str) + "\n")


def write_text(path: Path, text: str) -> None:
    """Likewise for text."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def read_json(path: Path) -> dict[str, Any] | None:
    """The mapping that a file holds; None when it has none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
