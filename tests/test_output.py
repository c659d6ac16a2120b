"""A result folder is whole or not there, and is known to be usable before anything runs."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from wastesim import Result, output, run
from wastesim.errors import OutputError
from wastesim.output import ResultFolder

EXPERIMENT = """\
model: {layers: 1, hidden: 8, q_heads: 1, kv_heads: 1, head_dim: 1, params: 1000}
gpu: {memory: 4 GiB, bandwidth: 1 GB/s, flops: 1 GFLOP/s}
workload: {lengths: {prompt: 3, output: 4}, num_requests: 5}
server: {max_model_len: 16, kv_cache_memory_bytes: 400}
decode: {engine: none}
clock: {kind: fixed, step_s: 1}
output: {figures: false}
"""
WRITTEN = {
    "experiment.yaml", "resolved.yaml", "run.json", "summary.json", "summary.csv", "requests.csv",
    "ticks.npz", "report.html", "report.md",
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one experiment in it."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work" / "e.yaml").write_text(EXPERIMENT)
    return tmp_path / "work"


@pytest.fixture
def no_simulation(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Counts simulations, and lets none happen."""
    calls: list[object] = []
    monkeypatch.setattr("wastesim.result.run_one", lambda *given: calls.append(given))
    yield calls
    assert calls == [], "simulated before the output folder was known to be usable"


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


class Unusable(NamedTuple):
    """A target, what is in the way of it, and what is said."""

    target: str
    said: str
    file: str | None = None


UNUSABLE = [
    Unusable("taken", "taken: is a file; name a folder for the results", "taken"),
    Unusable("taken/x", "taken/x: cannot be written (Not a directory)", "taken"),
    Unusable("taken/x/y", "taken/x/y: cannot be written (Not a directory)", "taken"),
    Unusable("/proc/x", "/proc/x: cannot be written (No such file or directory)"),
    Unusable("/dev/full/x", "/dev/full/x: cannot be written (Not a directory)"),
    Unusable("/dev/null", "/dev/null: is a file; name a folder for the results"),
    Unusable("n" * 300, f"{'n' * 300}: cannot be written (File name too long)"),
    Unusable("notes", "notes: is not empty and holds no earlier results; name another folder",
             "notes/todo.txt"),
    Unusable("project", "project: is not empty and holds no earlier results; name another folder",
             "project/run.json"),
    Unusable("", ".: is where you are, or above; name another folder"),
    Unusable(".", ".: is where you are, or above; name another folder"),
    Unusable("..", "..: is where you are, or above; name another folder"),
    Unusable("/", "/: is where you are, or above; name another folder"),
]  # fmt: skip


@pytest.mark.parametrize("case", UNUSABLE, ids=lambda case: case.target[:20])
def test_a_folder_that_cannot_be_used_is_an_error_before_simulating(
    case: Unusable, here: Path, no_simulation: object, capsys: pytest.CaptureFixture[str]
) -> None:
    if case.file:
        (here / case.file).parent.mkdir(exist_ok=True)
        (here / case.file).write_text('{"scripts": "mine"}')
    before = tree(here.parent)
    assert run.main(["e.yaml", "--output", case.target]) == 2
    assert capsys.readouterr().err.splitlines() == [f"error: {case.said}"]
    assert tree(here.parent) == before


def test_links_in_a_circle_are_no_folder(
    here: Path, no_simulation: object, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "loop").symlink_to("loop")
    assert run.main(["e.yaml", "--output", "loop"]) == 2
    assert capsys.readouterr().err.startswith("error: loop: cannot be written (")


@pytest.mark.parametrize("target", ["out", "new/parents/out"])
def test_a_disk_without_room_is_an_error_before_simulating(
    target: str,
    here: Path,
    no_simulation: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    usage = shutil.disk_usage(here)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=1000))
    assert run.main(["e.yaml", "--output", target]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    needed = output.BASE_BYTES + 5 * output.BYTES_PER_REQUEST
    assert line == (
        f"error: {target}: the disk has 1,000 bytes free, the results need about {needed:,};"
        " free some or choose another '--output'"
    )
    assert tree(here) == {"e.yaml"}


def test_a_disk_that_is_full_is_an_error_before_simulating(
    here: Path,
    no_simulation: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert run.main(["e.yaml", "--output", "a/b/out"]) == 2
    line = "error: a/b/out: cannot be written (No space left on device)\n"
    assert capsys.readouterr().err == line
    assert tree(here) == {"e.yaml"}


def test_everything_is_written_and_nothing_else(here: Path) -> None:
    assert run.main(["e.yaml", "--output", "new/out", "--quiet"]) == 0
    assert tree(here / "new/out") >= WRITTEN
    assert {path.name for path in here.iterdir()} == {"e.yaml", "new"}
    assert {path.name for path in (here / "new").iterdir()} == {"out"}
    assert (here / "new/out/experiment.yaml").read_text() == EXPERIMENT


def test_earlier_results_are_replaced_as_a_whole(here: Path) -> None:
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 0
    (here / "out" / "stale.txt").write_text("of the run before")
    assert run.main(["e.yaml", "--output", "out", "--seed", "5", "--quiet"]) == 0
    assert json.loads((here / "out/run.json").read_text())["seed"] == 5
    assert not (here / "out/stale.txt").exists()
    assert {path.name for path in here.iterdir()} == {"e.yaml", "out"}


def test_an_empty_folder_is_used(here: Path) -> None:
    (here / "out").mkdir()
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 0
    assert tree(here / "out") >= WRITTEN


def test_a_link_to_a_folder_is_followed(here: Path) -> None:
    (here / "disk").mkdir()
    (here / "out").symlink_to("disk")
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 0
    assert (here / "out").is_symlink()
    assert tree(here / "disk") >= WRITTEN
    assert {path.name for path in here.iterdir()} == {"e.yaml", "out", "disk"}


def test_nothing_is_left_when_the_run_fails(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("wastesim.result.run_one", fails)
    with pytest.raises(RuntimeError, match="a bug"):
        run.main(["e.yaml", "--output", "new/out"])
    assert tree(here) == {"e.yaml"}


def test_earlier_results_stay_when_writing_fails(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 0
    before = {name: (here / "out" / name).read_bytes() for name in WRITTEN}

    def full(*_: object, **__: object) -> list[str]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("wastesim.report.write_report", full)
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 2
    assert capsys.readouterr().err == "error: out: writing failed (No space left on device)\n"
    assert {name: (here / "out" / name).read_bytes() for name in WRITTEN} == before
    assert {path.name for path in here.iterdir()} == {"e.yaml", "out"}


def test_earlier_results_are_put_back_when_the_new_ones_cannot_take_their_place(
    toy: Callable[..., Result], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = toy([(0, 3, 4)], cells=16, max_model_len=16, output={"figures": False})
    with ResultFolder(here / "out", 1) as folder:
        folder.write(result, "first", ["x"])
    rename = Path.rename

    def only_away(self: Path, target: Path) -> Path:
        if "partial" in self.name:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", only_away)
    with pytest.raises(OutputError, match="writing failed"), ResultFolder(here / "out", 1) as again:
        again.write(result, "second", ["x"])
    assert (here / "out/experiment.yaml").read_text() == "first"
    assert {path.name for path in here.iterdir()} == {"e.yaml", "out"}


def test_where_a_run_came_from_is_saved_beside_it(here: Path) -> None:
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 0
    provenance = json.loads((here / "out/run.json").read_text())
    assert provenance["command"] == "wastesim run e.yaml --output out --quiet"
    assert provenance["interrupted"] is False
    assert provenance["libraries"].keys() >= {"numpy", "simpy", "pydantic"}
