"""A verb whose reader has gone ends without a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wastesim.config import dump_yaml
from wastesim.pipe import CLOSED

from .sweep.sweep_runs import TOY, varied


def ended(*words: str, cwd: Path) -> tuple[int, str]:
    """Exit code and errors of a verb whose output nobody reads."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "wastesim", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as errors:
        told = errors.read()
    return process.wait(60), told


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_verbs_end_quietly_when_nobody_reads_on(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(dump_yaml(TOY))
    many = varied(sweep={"grid": {"server.max_num_seqs": [1, 2]}, "cell_reports": "none"})
    (tmp_path / "many.yaml").write_text(dump_yaml(many))
    for words in (
        ("run", "one.yaml", "--output", "a"),
        ("run", "many.yaml", "--output", "s", "--executor", "serial"),
        ("sweep", "status", "s"),
        ("compare", "a", "a"),
        ("run", "--help"),
        ("capacity", "--model", "llama-3-8b", "--gpu", "l4-24gb"),
        ("--help",),
    ):
        code, errors = ended(*words, cwd=tmp_path)
        assert errors == "", words
        assert code in (0, CLOSED), words
    assert (tmp_path / "a/report.html").exists()
    assert (tmp_path / "s/report.html").exists()
