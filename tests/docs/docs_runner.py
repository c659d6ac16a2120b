"""Runs what the documentation shows, in a folder that looks like the root of the repository."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

from .docs_blocks import ROOT

#: Lines that are shown and not run, with the reason.  Nothing else is skipped.
NOT_RUN = {
    "make run     # sets up .venv, then simulates experiments/default.yaml": "sets up .venv",
    "make test    # sets up .venv, then runs every test": "would run this test in itself",
    "python3 -m venv .venv": "sets up .venv",
    ".venv/bin/python -m pip install -c constraints.txt -e .": "sets up .venv",
}
#: What runs are given in addition, so that all of them take seconds: runs that decode get fewer
#: requests, and no run draws its figures (other tests do).
FEWER = ["--set", "workload.num_requests=5"]
NO_FIGURES = ["--set", "output.figures=false"]
#: Long although nothing is decoded.
LONG = {"workload.num_requests=20000": "workload.num_requests=500"}

TRACE = "arrival_time_s,prompt_tokens,output_tokens\n" + "".join(
    f"{t},{100 + 13 * (t % 17)},{20 + 7 * (t % 11)}\n" for t in range(60)
)
ODD = "when,question,answer\n" + "".join(f"{1000 * t},{50 + t},{20 + t}\n" for t in range(60))


def furnish(folder: Path) -> None:
    """Put into `folder` what commands refer to."""
    for name in ("experiments", "workloads"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "your_trace.csv").write_text(TRACE)
    (folder / "odd.csv").write_text(ODD)


def commands(text: str) -> list[str]:
    """The lines of a block that are to be run."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [line for line in lines if line not in NOT_RUN and not line.startswith("#")]


def run_line(line: str) -> str:
    """Run one command line in the current folder; returns what it printed."""
    line = line.replace(".venv/bin/python ", "python ")
    for long, short in LONG.items():
        line = line.replace(long, short)
    words = shlex.split(line, comments=True)
    if words[:2] == ["python", "-m"]:
        return _module(words[2], [*words[3:], *_added(words)])
    if words[0] == "wastesim":
        return _module("wastesim", [*words[1:], *_added(["python", "-m", *words])])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def _added(words: list[str]) -> list[str]:
    if "wastesim.run" not in words and words[2:4] != ["wastesim", "run"]:
        return []
    if any(word.endswith(("equivalence.yaml", "quality.yaml")) for word in words):
        return []  # no server, no requests
    account_only = any("decode.engine=none" in word or word == "study.yaml" for word in words)
    return [*([] if account_only else FEWER), *NO_FIGURES]


def _module(name: str, words: list[str]) -> str:
    """`python -m NAME WORDS` inside this process, which saves seconds of imports."""
    printed, before, code = io.StringIO(), sys.argv, 0
    sys.argv = [name, *words]
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*found in sys.modules.*")
            runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = before
    assert code == 0, f"python -m {name} {' '.join(words)}: exit code {code}"
    return printed.getvalue()


def run_python(text: str, where: str) -> str:
    """Run a block of Python in a namespace of its own; returns what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, where, "exec"), {"__name__": "__main__"})
    return printed.getvalue()
