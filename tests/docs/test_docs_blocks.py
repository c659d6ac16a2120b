"""Every command and snippet of the README and of docs/ is run, and shown output is real."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wastesim import load_experiment
from wastesim.config import read_yaml

from .docs_blocks import PAGES, ROOT, Block, blocks_of
from .docs_runner import NOT_RUN, commands, furnish, run_line, run_python

RUN = ("sh", "python", "yaml")
#: Plain words, drawings and data: nothing to run.
SHOWN = ("", "text", "csv", "json")
#: What fragments of experiments are laid over.
BASE = {
    "model": "llama-3-8b",
    "gpu": "a100-sxm-40gb",
    "workload": {"lengths": "sharegpt", "num_requests": 5},
    "server": {"max_model_len": 2048},
}
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with what commands refer to."""
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_page_does_what_it_shows(name: str, here: Path) -> None:
    printed = ""
    for block in blocks_of(ROOT / name):
        if "file" in block.marks:
            (here / block.marks["file"]).write_text(block.text)
        if block.language == "text":
            compare(block, printed)
        elif block.language in RUN and "not_run" not in block.marks:
            printed = done(block)


def done(block: Block) -> str:
    """Run, or read, one block; returns what it printed."""
    if block.language == "sh":
        return "".join(run_line(line) for line in commands(block.text))
    if block.language == "python":
        return run_python(block.text, block.where)
    Path("block.yaml").write_text(block.text)
    load_experiment(BASE | read_yaml(Path("block.yaml"), block.where).tree)
    return ""


def compare(block: Block, printed: str) -> None:
    """Every shown line was printed, in this order; `...` stands for any number of lines."""
    left = iter([" ".join(line.split()) for line in printed.splitlines()])
    for shown in block.text.splitlines():
        wanted = " ".join(shown.split())
        if wanted not in ("", "..."):
            assert any(line == wanted for line in left), (
                f"{block.where}: is not printed (in this place): {shown!r}\n{printed}"
            )


@pytest.mark.parametrize("name", NAMES)
def test_every_block_says_what_it_is(name: str) -> None:
    for block in blocks_of(ROOT / name):
        assert block.language in (*RUN, *SHOWN), f"{block.where}: {block.language!r}"


@pytest.mark.parametrize("line", NOT_RUN)
def test_what_is_not_run_is_still_shown(line: str) -> None:
    shown = [row for name in NAMES for block in blocks_of(ROOT / name) for row in rows(block)]
    assert line in shown, f"not shown any more; take it out of NOT_RUN: {NOT_RUN[line]}"
    pytest.skip(NOT_RUN[line])


UNRUN = {b.where: b for page in PAGES for b in blocks_of(page) if "not_run" in b.marks}


@pytest.mark.parametrize("where", UNRUN)
def test_a_block_that_is_not_run_says_why(where: str) -> None:
    pytest.skip(UNRUN[where].marks["not_run"])


def rows(block: Block) -> list[str]:
    return block.text.splitlines() if block.language == "sh" else []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
