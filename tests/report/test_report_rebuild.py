"""`python -m wastesim.report DIR`: the same report from a saved folder alone; and the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wastesim.report import print_summary
from wastesim.report.__main__ import main

from .report_build import PROVENANCE, RESOLVED, Built
from .report_runs import run


def save(built: Built, folder: Path) -> None:
    built.records.save(folder)
    (folder / "resolved.yaml").write_text(RESOLVED, encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(PROVENANCE), encoding="utf-8")


def test_another_process_rebuilds_the_same_bytes(example: Built, tmp_path: Path) -> None:
    save(example, tmp_path)
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    command = [sys.executable, "-m", "wastesim.report", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("report.html", "report.md", "figures/memory_map.svg", "figures/shares.png"):
        assert (tmp_path / name).read_bytes() == (example.folder / name).read_bytes()


def test_figures_can_be_left_out(example: Built, tmp_path: Path) -> None:
    save(example, tmp_path)
    assert main([str(tmp_path), "--no-figures", "--quiet"]) == 0
    assert not (tmp_path / "figures").exists()


def test_a_folder_without_records_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert "holds no facts.json; records are saved by runs with" in capsys.readouterr().err


def test_broken_records_are_refused(
    example: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(example, tmp_path)
    (tmp_path / "facts.json").write_text("{", encoding="utf-8")
    assert main([str(tmp_path)]) == 2
    assert "its records cannot be read" in capsys.readouterr().err


def test_records_alone_are_enough(tmp_path: Path) -> None:
    run().save(tmp_path)
    assert main([str(tmp_path), "--no-figures", "--quiet"]) == 0


def test_the_terminal_says_the_same_sentence_first(
    example: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    print_summary(example.summary, example.records, example.folder)
    lines = capsys.readouterr().out.splitlines()
    assert example.markdown.startswith(f"# {lines[0]}\n")
    assert lines[-1] == f"report: {example.folder / 'report.html'}"
    assert "\x1b" not in "".join(lines)


def test_the_terminal_says_first_that_a_run_was_cut_short(
    write: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from wastesim.metrics import summarize

    records = run(ticks=9)
    print_summary(summarize(records), records, tmp_path)
    out = capsys.readouterr().out
    assert out.startswith("This run was interrupted")
    assert out.rstrip().endswith(f"report: {tmp_path}")
