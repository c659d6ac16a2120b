"""Every report has an explorer filled with its own run beside it, and links it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from wastesim.report.__main__ import main as rebuild
from wastesim.run import main

ONE = """
model: llama-3-8b
gpu: l4-24gb
workload: {lengths: sharegpt, num_requests: 8, request_rate: 4}
server: {policy: contiguous, max_model_len: 2048}
decode: {engine: none}
"""
TWO = f"study: comparison\ncompare: [contiguous, paged]\n{ONE}"


def written(folder: Path, text: str, *words: str) -> Path:
    (folder / "e.yaml").write_text(text, encoding="utf-8")
    out = folder / "out"
    assert main([str(folder / "e.yaml"), "--output", str(out), "--quiet", *words]) == 0
    return out


def links(folder: Path) -> bool:
    page = (folder / "report.html").read_text(encoding="utf-8")
    return re.search(r'<a href="explorer.html">Explore', page) is not None


def filled_with(folder: Path) -> list[str]:
    page = (folder / "explorer.html").read_text(encoding="utf-8")
    found = re.search(r'id="data">(.*?)</script>', page, re.S)
    assert found
    return [run["policy"] for run in json.loads(found[1])["recorded"]["runs"]]


def test_a_run_has_one_and_a_timeline_and_a_rebuilt_report_still_links_it(tmp_path: Path) -> None:
    out = written(tmp_path, ONE)
    assert links(out)
    assert filled_with(out) == ["contiguous"]
    assert json.loads((out / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert rebuild([str(out), "--no-figures", "--quiet"]) == 0
    assert links(out)


def test_a_comparison_has_one_with_all_its_variants_and_each_variant_its_own(
    tmp_path: Path,
) -> None:
    out = written(tmp_path, TWO)
    assert links(out)
    assert filled_with(out) == ["contiguous", "paged"]
    for name in ("contiguous", "paged"):
        assert links(out / "variants" / name)
        assert filled_with(out / "variants" / name) == [name]


def test_without_figures_there_is_none_and_no_link(tmp_path: Path) -> None:
    out = written(tmp_path, ONE, "--set", "output.figures=false")
    assert not (out / "explorer.html").exists()
    assert not (out / "trace.json").exists()
    assert not links(out)


def test_an_explorer_that_cannot_be_made_costs_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no such column")

    monkeypatch.setattr("wastesim.explorer.write_explorer", broken)
    out = written(tmp_path, ONE)
    assert "warning: the explorer could not be made: ValueError: no such column" in (
        capsys.readouterr().err
    )
    assert (out / "summary.json").exists()
    assert not links(out)
